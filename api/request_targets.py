"""The path of a call that a proxy asks about, read in every way in which the server behind the proxy may read it.

Servers differ in how they treat `//`, `..`, percent-encoding and Unicode. If a rule were compared with one reading and
the API used another, a caller could choose a path that avoids the rule. So each reading is compared, and what
reasonable clients don't send is refused (docs/sign-in.md#forward-authentication).
"""

import re
import unicodedata
from urllib.parse import unquote_plus, unquote_to_bytes

MOST_CHARACTERS = 8192
# Some servers cut paths at ";", and take "..;" for "..".
# Bytes without control characters, space, "#", ";" and "\".
_RAW = re.compile(r"/[\x21\x22\x24-\x3a\x3c-\x5b\x5d-\x7e\x80-\xff]*")
_ENCODED = re.compile(r"%([0-9A-Fa-f]{2})?")
_NEVER_ENCODED = frozenset(b"/\\.%;?#\x7f") | frozenset(range(0x20))
_NEVER = re.compile(r"[\x00-\x1f\x7f\\%;?#]")
_SLASHES = re.compile(r"/{2,}")
# Parameters with which some frameworks replace the method of a POST: Symfony, Laravel, Spring, Express and ASP.NET MVC.
_METHOD_PARAMETERS = frozenset({"_method", "x-http-method-override", "x-http-method", "x-method-override"})
_SEPARATORS = re.compile("[&;]")


class AmbiguousPath(Exception):
    """A path that servers may read in different ways."""


def decode_path(target: str) -> str:
    """Return the decoded path of a request target as it was sent, without its query. Raises AmbiguousPath.

    A character of the target is a byte, as in WSGI (PEP 3333).
    """
    path = target.partition("?")[0]
    if len(path) > MOST_CHARACTERS or _RAW.fullmatch(path) is None:
        raise AmbiguousPath
    for encoded in _ENCODED.finditer(path):
        if encoded[1] is None or int(encoded[1], 16) in _NEVER_ENCODED:
            raise AmbiguousPath
    try:
        return unquote_to_bytes(path.encode("latin-1")).decode()
    except UnicodeDecodeError as error:
        raise AmbiguousPath from error


def readings(path: str) -> frozenset[str]:
    """Return the paths that servers may take a decoded path for. Raises AmbiguousPath."""
    # Some libraries read what follows "//" as a host.
    if len(path) > MOST_CHARACTERS or not path.startswith("/"):
        raise AmbiguousPath
    # The composed path may have other slashes, dots and spaces.
    found = {path, unicodedata.normalize("NFKC", path)}
    for one in found:
        if one.startswith("//") or _NEVER.search(one) or any(map(_is_trimmed_by_some, one.split("/"))):
            raise AmbiguousPath
    found |= {_SLASHES.sub("/", one) for one in found}
    found |= {_without_dots(one) for one in found}
    # Some servers resolve dots before they merge slashes, which gives another path.
    return frozenset(found | {_SLASHES.sub("/", one) for one in found})


def _is_trimmed_by_some(segment: str) -> bool:
    """Return whether a server on Windows may take a segment for another: it ignores spaces and dots at the end."""
    return segment != segment.strip() or (segment.endswith(".") and segment not in (".", ".."))


def _without_dots(path: str) -> str:
    """Resolve `.` and `..` as RFC 3986 §5.2.4 does."""
    if "/." not in path:
        return path
    kept: list[str] = []
    segments = path.split("/")[1:]
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept)


def methods_in(query: str) -> set[str]:
    """Return the methods with which the query of a call may replace its own one, in any spelling of the parameters."""
    pairs = (part.partition("=") for part in _SEPARATORS.split(query))
    return {unquote_plus(value) for name, _, value in pairs if _as_read(name) in _METHOD_PARAMETERS}


def _as_read(name: str) -> str:
    """Return the name of a parameter as PHP reads it: it cuts names at a NUL, and takes dots and spaces for `_`."""
    decoded = unquote_plus(name).partition("\x00")[0].lstrip(" ")
    return re.sub("[ .]", "_", decoded).casefold()
