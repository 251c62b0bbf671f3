"""Documents that are the same for everyone (`document`): Django builds them once, as bytes.

Every app requests discovery and keys, which only change with a setting or a key. A copy of Django's response to a plain
GET is sent as long as the object that the document is made of is the same; Django handles all unusual requests.
"""

import re
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from django.conf import settings
from django.urls import get_resolver, resolve

from core.http import request_id
from core.telemetry import metrics

Environ = Mapping[str, Any]
View = TypeVar("View", bound=Callable[..., Any])
# The function that returns what each document is made of, by path.
_SOURCES: dict[str, Callable[[], object] | None] = {}
_GZIP = re.compile(r"\bgzip\b")  # the same check as in Django's middleware
# The most copies: one for each combination of document, Host, and compression.
MOST_COPIES = 64


def document(*paths: str, made_of: Callable[[], object] | None = None) -> Callable[[View], View]:
    """Declare that a view returns the same document on these paths for everyone, without using the database.

    `made_of` returns the object that the document is made of, or None if it is not available now. Without `made_of`,
    the document depends only on the settings.
    """

    def declare(view: View) -> View:
        _SOURCES.update(dict.fromkeys(paths, made_of))
        return view

    return declare


def document_paths() -> frozenset[str]:
    """Return the paths of all documents."""
    _ = get_resolver().url_patterns  # imports the views, which declare their paths
    return frozenset(_SOURCES)


class Copy(NamedTuple):
    """A response of Django without its request id."""

    made_of: object
    status: str
    headers: list[tuple[str, str]]
    body: list[bytes]
    route: str


class DocumentCache:
    """Copies of documents, by everything that a response may depend on."""

    def __init__(self) -> None:
        self.paths = document_paths()
        self._copies: OrderedDict[tuple[object, ...], Copy] = OrderedDict()

    def answer(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes] | None:
        """Return the response from a copy; None if Django has to handle the request."""
        kind = self._kind(environ)
        if kind is None:
            return None
        copy = self._copies.get(kind)
        if copy is None or copy.made_of is not self._made_of(environ["PATH_INFO"]):
            return None
        began = time.perf_counter()
        own = (request_id.HEADER, request_id.choose(environ))
        start_response(copy.status, [*copy.headers, own])
        metrics.request_answered(copy.route, "GET", 200, time.perf_counter() - began)
        return copy.body

    def watch(self, environ: Environ, start_response: Callable[..., Any]) -> "Watch | None":
        """Return a `start_response` that records Django's response for `Watch.keep`; None if it must not be kept."""
        kind = self._kind(environ)
        return None if kind is None else Watch(self, kind, environ["PATH_INFO"], start_response)

    def _kind(self, environ: Environ) -> tuple[object, ...] | None:
        """Return what the response to this request depends on; None if it depends on anything else."""
        path = environ["PATH_INFO"]
        if path not in self.paths or environ["REQUEST_METHOD"] != "GET" or environ.get("QUERY_STRING"):
            return None
        if "HTTP_IF_NONE_MATCH" in environ or "HTTP_IF_MODIFIED_SINCE" in environ or "CONTENT_LENGTH" in environ:
            return None
        encodings = environ.get("HTTP_ACCEPT_ENCODING", "")
        forwarded = environ.get("HTTP_X_FORWARDED_PROTO"), environ.get("REMOTE_ADDR")
        return (
            path,
            environ.get("HTTP_HOST"),
            environ["wsgi.url_scheme"],
            _GZIP.search(encodings) is not None,
            forwarded if settings.TRUSTED_PROXIES else None,
        )

    def _made_of(self, path: str) -> object:
        source = _SOURCES[path]
        return self if source is None else source()

    def keep(self, kind: tuple[object, ...], copy: Copy) -> None:
        """Keep a copy; above MOST_COPIES, delete the oldest."""
        self._copies[kind] = copy
        while len(self._copies) > MOST_COPIES:
            self._copies.popitem(last=False)


class Watch:
    """A `start_response` that records status and headers."""

    def __init__(
        self, cache: DocumentCache, kind: tuple[object, ...], path: str, start_response: Callable[..., Any]
    ) -> None:
        self._cache, self._kind, self._path, self._start_response = cache, kind, path, start_response
        # Read before the response is built: a key ring that changes meanwhile must not be taken for its source.
        self._made_of = cache._made_of(path)
        self._head: tuple[str, list[tuple[str, str]]] | None = None

    def __call__(self, status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
        self._head = status, headers
        return self._start_response(status, headers, *rest)

    def keep(self, body: Iterable[bytes]) -> Iterable[bytes]:
        """Keep the response if it is a document; return its body."""
        if self._head is not None and self._made_of is not None and isinstance(body, list):
            status, headers = self._head
            if status.startswith("200 "):
                common = [(name, value) for name, value in headers if name != request_id.HEADER]
                route = resolve(self._path).view_name
                self._cache.keep(self._kind, Copy(self._made_of, status, common, body, route))
        return body
