"""DATA_DIR of the embedded environment, its file modes and generated secrets; used by the settings."""

import contextlib
import os
import secrets
import stat
from pathlib import Path

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
    return [] if is_writable(data_dir) else ["DATA_DIR is not writable."]


def is_writable(folder: Path) -> bool:
    """Return whether files can be created in a folder; this asks the file system, which may be read-only."""
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)


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

    If two processes start at once, the one that creates the file first wins, and the other reads it. If the folder
    can't be used, which the checks reject, the secret is only valid for this process.
    """
    path = data_dir / name
    if not path.exists() and not is_writable(data_dir):
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
