"""Reading settings from the environment, and the secrets that the embedded environment creates for itself.

A value that can't be read is collected for the checks, and the default is used. A wrong value then stops the start with
a sentence that names its variable (docs/settings.md#checks-at-the-start) instead of a traceback.
"""

import builtins
import contextlib
import math
import os
import secrets
import stat
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured
from psycopg import ProgrammingError
from psycopg.conninfo import make_conninfo

from core.storage.object_store import storage_options

TRUE = frozenset({"true", "1", "yes", "on", "y", "ok"})
FALSE = frozenset({"false", "0", "no", "off", "n", ""})
# An empty value must not select the embedded environment, whose admin requires no second factor.
EVEN_EMPTY = frozenset({"ENVIRONMENT"})
_BACKENDS = "django.db.backends"
# Options of a database that are not libpq's.
_OPTIONS_OF_DJANGO = frozenset({"assume_role", "isolation_level", "prepare_threshold", "server_side_binding"})
# With smtps://, the library would use STARTTLS on a port that begins with TLS, so that no mail could be sent.
_MAIL_SCHEMES = ("smtp://", "smtp+tls://", "smtp+ssl://")
Bounds = tuple[float, float]  # the lowest and the highest allowed value


class Env(environ.FileAwareEnv):  # type: ignore[misc]
    """Reads `NAME`, or the file that `NAME_FILE` names, without the newline that editors add at its end.

    `numbers` holds each number that was read, and `bounds` the lowest and highest allowed value, by variable;
    `problems` says which values could not be read.
    """

    def __init__(self, **scheme: Any) -> None:
        super().__init__(**scheme)
        self.numbers: dict[str, builtins.float] = {}
        self.bounds: dict[str, Bounds] = {}
        self.problems: list[str] = []

    def int(self, var: str, default: builtins.int, between: Bounds | None = None) -> builtins.int:
        """Return a whole number. The checks require it to be within `between`, or not negative without it."""
        return int(self._number(var, int, default, between))

    def float(self, var: str, default: builtins.float, between: Bounds | None = None) -> builtins.float:
        """Return a number, which is checked like those of `int`."""
        return self._number(var, float, default, between)

    def get_value(self, var: str, cast: Any = None, default: Any = environ.Env.NOTSET, **kwargs: Any) -> Any:
        """Return a value as it is. The library would replace one that begins with "$" by another variable's value."""
        if cast is bool:
            return self._boolean(var, default)
        text = self._text(var)
        value = default if text is None else self.parse_value(text, cast)
        if isinstance(value, list):
            return [entry for entry in map(str.strip, value) if entry]
        return value.strip() if isinstance(value, str) else value

    def database(self, var: str, url: str) -> dict[str, Any]:
        """Return the entry of DATABASES for the value of `var`; {} if it can't be read. No problem quotes the URL."""
        config = self._config(self.db_url_config, url)
        options = config.get("OPTIONS", {})
        engine, is_named = config.get("ENGINE"), config.get("NAME") or options.get("service")
        if engine == f"{_BACKENDS}.postgresql" and is_named:
            if not _are_options_of_psycopg(options):
                self.problems.append(f"The query of {var} may only have connection options of psycopg.")
            return config
        if engine == f"{_BACKENDS}.sqlite3":
            return config
        return self._unreadable_url(var, "postgresql://user:password@host:5432/name")

    def mail_server(self, var: str, url: str) -> dict[str, Any]:
        """Return the settings of the mail server in the value of `var`; {} if it can't be read."""
        config = self._config(self.email_url_config, url)
        if url.startswith(_MAIL_SCHEMES) and config.get("EMAIL_HOST"):
            return config
        return self._unreadable_url(var, "smtp+tls://user:password@host:587 or smtp+ssl://user:password@host:465")

    def object_store(self, url: str) -> dict[str, Any]:
        """Return the options of the object store in MEDIA_STORAGE_URL; {} if it can't be read."""
        try:
            return storage_options(url)
        except ValueError as error:
            self.problems.append(str(error))
            return {}

    def _unreadable_url(self, var: str, form: str) -> dict[str, Any]:
        self.problems.append(
            f"{var} must have the form {form}, with characters such as / # ? @ : in the password percent-encoded."
        )
        return {}

    @staticmethod
    def _config(parse: Any, url: str) -> dict[str, Any]:
        try:
            with warnings.catch_warnings(action="ignore"):  # like the exceptions, they may quote the password
                config: dict[str, Any] = parse(url)
        except (ValueError, ImproperlyConfigured):
            return {}
        return config

    def choice(self, var: str, default: str, choices: Sequence[str]) -> str:
        """Return a value that is one of `choices`."""
        text: str = self.str(var, default)
        if text in choices:
            return text
        self.problems.append(f"{var} must be one of {', '.join(choices)}.")
        return default

    def secrets(self, var: str) -> list[str]:
        """Return a list of secrets, separated by commas, or one per line if there are several lines."""
        text = self.str(var, "")
        parts = text.splitlines() if "\n" in text else text.split(",")
        return [part for part in map(str.strip, parts) if part]

    def _text(self, var: str) -> str | None:
        """Return what the variable or its file contains; None if it is not set or empty, or if the file can't be read.

        As an empty value, DATA_DIR would be the current folder, and METRICS_ADDRESS every network interface.
        """
        try:
            value: str | None = self.ENVIRON.get(var)
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            self.problems.append(f"The file that {var}_FILE names can't be read: {reason}.")
            return None
        is_set = value is not None and (value.strip() or var in EVEN_EMPTY)
        return value if is_set else None

    def _number(self, var: str, cast: Any, default: builtins.float, between: Bounds | None) -> builtins.float:
        text = (self._text(var) or "").strip()
        number = default
        if text:
            try:
                number = cast(text)
            except ValueError:
                self.problems.append(f"{var} must be a {'whole number' if cast is int else 'number'}.")
            if not abs(number) < math.inf:  # also works for whole numbers that are too large for a float
                self.problems.append(f"{var} must be a number.")
                number = default
        self.numbers[var] = number
        if between is not None:
            self.bounds[var] = between
        return number

    def _boolean(self, var: str, default: bool) -> bool:
        text = (self._text(var) or "").strip().lower()
        if text not in TRUE | FALSE:
            self.problems.append(f"{var} must be true or false.")
        return text in TRUE if text and text in TRUE | FALSE else default


def _are_options_of_psycopg(options: dict[str, Any]) -> bool:
    """Return whether a connection can have these options; psycopg itself rejects others whenever it connects."""
    try:
        make_conninfo(**{name: str(value) for name, value in options.items() if name not in _OPTIONS_OF_DJANGO})
    except (ProgrammingError, TypeError):
        return False
    return True


def host_of(url: str) -> str:
    """Return the host of a public URL as in a Host header; "localhost" if it has none, which the checks reject."""
    try:
        host = urlsplit(url).hostname or "localhost"
    except ValueError:
        return "localhost"
    return f"[{host}]" if ":" in host else host


def web_url_parts(url: str) -> SplitResult | None:
    """Return the parts of an http(s) URL; None if it has another scheme, no host, or an invalid host or port."""
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if is_valid else None


# The files of secrets that the embedded environment creates in DATA_DIR.
EMBEDDED_SECRETS = ("secret_key", "key_encryption_key")
FOLDER_MODE, FILE_MODE = 0o700, 0o600
OF_OTHERS = 0o077


def create_private_folder(data_dir: Path) -> list[str]:
    """Create `data_dir` with mode 700, and set the umask so that all files created later are private too.

    Libraries create the database, its write-ahead log, mails and pictures, and only a umask applies to all of these.
    Return the problems with the folder, as sentences for the checks.
    """
    os.umask(OF_OTHERS)
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return [f"DATA_DIR can't be created: {error.strerror}."]
    _close(data_dir)
    if not is_writable(data_dir):
        return ["DATA_DIR is not writable."]
    closed = [name for name in EMBEDDED_SECRETS if not _is_readable(data_dir / name)]
    return [f"The file {name} in DATA_DIR can't be read. It may belong to another user." for name in closed]


def is_writable(folder: Path) -> bool:
    """Return whether files can be created in a folder; this asks the file system, which may be read-only."""
    # First `access`: `is_dir` raises PermissionError for a folder within one that this user may not enter.
    return os.access(folder, os.W_OK | os.X_OK) and folder.is_dir()


def _is_readable(path: Path) -> bool:
    """Return whether a file can be read, or does not exist yet."""
    return os.access(path, os.R_OK) or not os.path.lexists(path)


def restrict_permissions(data_dir: Path) -> None:
    """Remove the permissions of group and others from existing files in `data_dir`."""
    for folder, _, names in os.walk(data_dir):
        for path in (Path(folder), *(Path(folder, name) for name in names)):
            _close(path)


def _close(path: Path) -> None:
    # The file may be deleted at this moment, or belong to another user, who alone can change its mode.
    with contextlib.suppress(FileNotFoundError, PermissionError):
        mode = path.lstat().st_mode
        # Skip folders that everyone may write to, such as /tmp, and targets of links: they are not the service's.
        if mode & OF_OTHERS and not mode & stat.S_ISVTX and not stat.S_ISLNK(mode):
            path.chmod(stat.S_IMODE(mode) & ~OF_OTHERS)


def embedded_secret(data_dir: Path, name: str) -> str:
    """Return the secret in `data_dir/name`, and create it (mode 600) on the first call.

    If two processes start at once, the one that creates the file first wins, and the other reads it. If the folder or
    the file can't be used, which the checks reject, the secret is only valid for this process.
    """
    path = data_dir / name
    if not is_writable(data_dir) or not _is_readable(path):
        return secrets.token_urlsafe(48)
    if not path.exists():
        fresh = path.with_name(f"{name}.{os.getpid()}")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(48))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(fresh, path)
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    return path.read_text().strip()
