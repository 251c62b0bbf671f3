"""Static files whose names contain a hash of their content, without `collectstatic`.

For the embedded environment (docs/operations.md#static-and-uploaded-files): `{% static %}` names a file by its current
content, and the middleware finds the file for such a name. Production collects the files once, with WhiteNoise's own
storage.
"""

import hashlib
import re
from pathlib import Path
from posixpath import splitext
from typing import NamedTuple, cast

from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import StaticFilesStorage
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile

_HASH_LENGTH = 12
# css/base.0123456789ab.css, and fonts/inter-0123456789ab.woff2: a file whose own name contains its hash, so that a
# stylesheet can refer to it.
_HASHED = re.compile(rf"(?P<root>.+)[.-](?P<hash>[0-9a-f]{{{_HASH_LENGTH}}})(?P<suffix>\.[^./]+)")


class _CachedHash(NamedTuple):
    modified: int  # nanoseconds
    size: int
    hash: str


_hashes: dict[str, _CachedHash] = {}


def _content_hash(path: str) -> str:
    """Return the hash of a file; it is read again when its time or size has changed."""
    stat = Path(path).stat()
    cached = _hashes.get(path)
    if cached is None or (cached.modified, cached.size) != (stat.st_mtime_ns, stat.st_size):
        digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()[:_HASH_LENGTH]
        cached = _hashes[path] = _CachedHash(stat.st_mtime_ns, stat.st_size, digest)
    return cached.hash


def _says_its_content(name: str, path: str) -> bool:
    parts = _HASHED.fullmatch(name)
    return parts is not None and parts["hash"] == _content_hash(path)


def _found(name: str) -> str | None:
    path = finders.find(name)
    return path if isinstance(path, str) and Path(path).is_file() else None


class HashedNamesStorage(StaticFilesStorage):
    """Names each file as ManifestStaticFilesStorage would: css/base.css becomes css/base.0123456789ab.css."""

    def url(self, name: str | None) -> str:
        """Return a file's URL; files that no finder finds, or that have their hash in their name, keep their name."""
        path = _found(name) if name else None
        if name is None or path is None or _says_its_content(name, path):
            return super().url(name)
        root, suffix = splitext(name)
        return super().url(f"{root}.{_content_hash(path)}{suffix}")


class StaticFilesMiddleware(WhiteNoiseMiddleware):  # type: ignore[misc]
    """WhiteNoise, which also serves files by the names of HashedNamesStorage if files are not collected.

    Browsers may cache a name with the hash of the current content forever. A name with another hash, on a page from
    before the file changed, returns the current file, without such caching.
    """

    def add_files_from_finders(self) -> None:
        """List no files when the process starts: they are found on request, with their current content."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Serve the file, or pass the request on."""
        if self.use_finders and request.path_info.startswith(self.static_prefix):
            static_file = self._current(request.path_info)
            if static_file is not None:
                return cast("HttpResponseBase", self.serve(static_file, request))
            return cast("HttpResponseBase", self.get_response(request))
        return cast("HttpResponseBase", super().__call__(request))

    def _current(self, url: str) -> StaticFile | None:
        if url.endswith("/") or not self.url_is_canonical(url):
            return None
        name = url.removeprefix(self.static_prefix)
        path = _found(name)
        if path is None and (parts := _HASHED.fullmatch(name)):
            path = _found(parts["root"] + parts["suffix"])
        return None if path is None else self.get_static_file(path, url)

    def immutable_file_test(self, path: str, url: str) -> bool:
        """Return whether the content behind this URL will never change."""
        if not self.use_finders:
            return bool(super().immutable_file_test(path, url))
        return _says_its_content(url.removeprefix(self.static_prefix), path)
