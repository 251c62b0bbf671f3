"""Rules for the URLs that clients register: redirect URIs (RFC 9700 §2.1) and pages."""

import re
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from oauthlib.uri_validate import is_absolute_uri

from core.http import hosts, split_hosts
from oidc.values.reasons import Facts, Reason

# A condition that makes a URL invalid, and the message for the developer.
Rule = tuple[Callable[[str], object], str]

LOOPBACK_HOSTS = ("localhost", "127.0.0.1")
DEFAULT_PORTS = {"http": 80, "https": 443}


def apply_rules(rules: Iterable[Rule], uri: str) -> None:
    """Raise ValidationError with the message of the first rule whose condition holds for `uri`."""
    for is_wrong, message in rules:
        if is_wrong(uri):
            raise ValidationError(message)


def split_web_address(uri: str) -> SplitResult | None:
    """Return the parts of an absolute URL that has a host, None for anything else."""
    try:
        parts = urlsplit(uri)
        return parts if parts.hostname and parts.port != 0 and is_absolute_uri(uri) else None
    except ValueError:  # a port above 65535, or an unbalanced bracket
        return None


def is_own_address(uri: str) -> bool:
    """Return whether a URL leads to this service, in any spelling of the service's hosts."""
    return _place(uri) in {_place(address) for address in split_hosts.current().addresses.values()}


def _place(uri: str) -> tuple[str, int | None]:
    return hosts.host_and_port(uri, DEFAULT_PORTS.get(urlsplit(uri).scheme))


def _of_authority(is_wrong: Callable[[str], object]) -> Callable[[str], object]:
    return lambda uri: is_wrong(hosts.authority_of(uri))


def too_long(max_length: int) -> Rule:
    """Return the rule against URLs of more than `max_length` characters."""
    return lambda uri: len(uri) > max_length, f"A URL may have at most {max_length} characters."


def own_address(exception: Callable[[], str] | None = None) -> Rule:
    """Return the rule against URLs of this service. `exception` returns the only one that is allowed."""
    return (
        lambda uri: is_own_address(uri) and (exception is None or uri != exception()),
        "This URL belongs to the service itself. Enter a URL of your app.",
    )


NOT_ASCII: Rule = (
    lambda uri: any(character <= " " or character > "~" for character in uri),
    "A URL may only contain ASCII characters and no spaces. Percent-encode all others.",
)
HAS_FRAGMENT: Rule = (lambda uri: "#" in uri, "Remove the part after #.")
HAS_USERINFO: Rule = (
    lambda uri: "@" in uri.partition("://")[2].partition("/")[0],
    "Remove the user name before @.",
)
HOST_RULES: tuple[Rule, ...] = tuple((_of_authority(is_wrong), message) for is_wrong, message in hosts.HOST_RULES)


MAX_LENGTH = 2000  # characters
MAX_REDIRECT_URIS = 50
MAX_POST_LOGOUT_REDIRECT_URIS = 20
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")  # with the slash, because `localhost:3000` has no scheme


# --- One URL ---


def playground_redirect_uri() -> str:
    """Return the playground's redirect URI, the only URL of this service that a client may register.

    The playground accepts a response only in the session that started the run (docs/security.md#the-playground).
    """
    return f"{settings.AUTH_URL}{settings.PLAYGROUND_PATH}"


def _has_custom_scheme(uri: str) -> bool:
    return _SCHEME.match(uri) is not None and not uri.startswith(("http:/", "https:/"))


def _is_plain_http_elsewhere(uri: str) -> bool:
    parts = urlsplit(uri)
    return parts.scheme == "http" and parts.hostname not in LOOPBACK_HOSTS


# The developer sees the message of the first rule that is broken.
RULES: tuple[Rule, ...] = (
    too_long(MAX_LENGTH),
    NOT_ASCII,
    (lambda uri: "*" in uri, "Wildcards are not supported. Add each URL separately."),
    HAS_FRAGMENT,
    (
        lambda uri: uri.lower().startswith(("http:", "https:")) and not uri.startswith(("http:", "https:")),
        "Write the scheme in lowercase: URLs are compared character by character.",
    ),
    (_has_custom_scheme, "Custom schemes are not accepted. Use an https link that your app claims."),
    HAS_USERINFO,
    (
        lambda uri: not uri.startswith(("http://", "https://")) or split_web_address(uri) is None,
        "This is not a valid URL. Enter one like https://app.example.com/callback.",
    ),
    (_is_plain_http_elsewhere, "http is allowed only for localhost and 127.0.0.1."),
    *HOST_RULES,
    own_address(exception=playground_redirect_uri),
)


def validate_redirect_uri(uri: str) -> None:
    """Raise ValidationError, with the exact reason, unless a client may register `uri`."""
    apply_rules(RULES, uri)


def origin_of(uri: str | None) -> str:
    """Return scheme, host and port of a redirect URL that is already validated."""
    parts = urlsplit(uri or "")
    return f"{parts.scheme}://{parts.netloc}"


def notes_for(uri: str, others: Set[str]) -> list[str]:
    """Return hints for the developer about a valid URL. `others` are the other URLs of its list."""
    notes = []
    if f"{uri}/" in others or (uri.endswith("/") and uri[:-1] in others):
        notes.append("This URL differs from another one only by a trailing slash. Both are kept.")
    parts = urlsplit(uri)
    if parts.hostname in LOOPBACK_HOSTS and parts.port is None:
        notes.append("The port has to match exactly. Add a URL for each port that your app may use.")
    if uri == playground_redirect_uri():
        notes.append("The console's playground uses this URL to try out this app.")
    return notes


# --- A URL that matches no registered one ---


# Developers read about the first part that differs, so the host comes first: it says who would get the code.
_PARTS = (
    Reason.REDIRECT_URI_HOST,
    Reason.REDIRECT_URI_SCHEME,
    Reason.REDIRECT_URI_PORT,
    Reason.REDIRECT_URI_PATH,
    Reason.REDIRECT_URI_QUERY,
    Reason.REDIRECT_URI_FRAGMENT,
)
_LONGEST_PART = 200  # characters of a part that a reason names


def explain_mismatch(sent: str, registered: Sequence[str]) -> tuple[Reason, Facts]:
    """Return why `sent` matches no registered URL, and the parameters of that reason.

    URLs are compared as whole strings. The parameters name the most similar registered URL, and the first part that
    differs.
    """
    nearest = nearest_registered(sent, registered)
    if nearest is None:
        return Reason.NO_REDIRECT_URI_REGISTERED, {}
    if sent.rstrip("/") == nearest.rstrip("/"):
        return Reason.REDIRECT_URI_SLASH, {"registered": nearest}
    for reason, got, expected in zip(_PARTS, _cut(sent), _cut(nearest), strict=True):
        if got != expected:
            shown: Facts = {"received": got[:_LONGEST_PART], "expected": expected[:_LONGEST_PART]}
            return reason, shown | {"registered": nearest}
    return Reason.REDIRECT_URI_SPELLING, {"registered": nearest, "position": shared_start(sent, nearest) + 1}


def nearest_registered(sent: str, registered: Sequence[str]) -> str | None:
    """Return the registered URL most like `sent`: first by its host, then by the beginning. None if there is none."""
    host = _cut(sent)[0]
    return max(registered, key=lambda uri: (_cut(uri)[0] == host, shared_start(uri, sent)), default=None)


def shared_start(one: str, other: str) -> int:
    """Return how many characters two texts share at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


def _cut(uri: str) -> tuple[str, ...]:
    """Split a URL into the parts of `_PARTS` without normalizing them."""
    scheme, _, rest = uri.partition("://")
    rest, _, fragment = rest.partition("#")
    rest, _, query = rest.partition("?")
    authority, slash, path = rest.partition("/")
    # The part before an @ is not split: it may contain a password.
    host, colon, port = ("", "", "") if "@" in authority else authority.rpartition(":")
    return host if colon else authority, scheme, port if colon else "", slash + path, query, fragment


# --- Lists of URLs ---


@dataclass(frozen=True)
class RedirectURIEntry:
    """One URL of a list, its error ("" if it is valid), and notes for the developer."""

    address: str
    error: str = ""
    notes: list[str] = field(default_factory=list)
    is_repeat: bool = False


def check_each(texts: Iterable[str]) -> list[RedirectURIEntry]:
    """Return an entry for each text, in order. White space around a text is stripped. An empty text is not an error."""
    addresses = [text.strip() for text in texts]
    errors = [_fault(address) for address in addresses]
    good = {address for address, error in zip(addresses, errors, strict=True) if address and not error}
    entries, seen = [], set[str]()
    for address, error in zip(addresses, errors, strict=True):
        is_repeat = bool(address) and address in seen
        seen.add(address)
        if not address or error:
            notes = []
        elif is_repeat:
            notes = ["This URL was entered twice. It is kept once."]
        else:
            notes = notes_for(address, good)
        entries.append(RedirectURIEntry(address, error, notes, is_repeat))
    return entries


def clean_redirect_uris(texts: Sequence[str], most: int, *, required: bool = False) -> list[str]:
    """Return the URLs without duplicates and empty ones.

    Raises ValidationError with a message for the developer. It names each invalid URL, so that it is easy to find in a
    long list.
    """
    entries = [entry for entry in check_each(texts) if entry.address]
    faulty = [entry for entry in entries if entry.error]
    if faulty:
        raise ValidationError([f"{entry.address[:100]}: {entry.error}" for entry in faulty])
    kept = [entry.address for entry in entries if not entry.is_repeat]
    if len(kept) > most:
        raise ValidationError(f"An app can have at most {most} of these URLs, but {len(kept)} were entered.")
    if required and not kept:
        raise ValidationError("Add at least one URL. Without it, nobody can sign in.")
    return kept


def _fault(address: str) -> str:
    """Return the error of a URL, "" if it may be registered."""
    if not address:
        return ""
    try:
        validate_redirect_uri(address)
    except ValidationError as error:
        return str(error.messages[0])
    return ""
