"""Receiving request bodies before a request takes a slot, and buffering responses for clients that read slowly."""

import contextlib
import io
import tempfile
from collections.abc import Callable, Iterable, Iterator
from threading import Lock, get_ident
from typing import Any, BinaryIO, TypeVar, cast

from core.serving.errors import HTTPError

PIECE_BYTES = 64 * 1024
# The part of a response that granian may hold in memory; longer responses go to a temporary file.
IN_MEMORY_BYTES = 256 * 1024


class SpooledResponse:
    """An iterator over a long response in a temporary file, which granian reads as fast as the client does."""

    def __init__(self, file: BinaryIO, among: "set[SpooledResponse]") -> None:
        self._file = file
        self._among = among
        among.add(self)

    def __iter__(self) -> Iterator[bytes]:
        while piece := self._file.read(PIECE_BYTES):
            yield piece

    def close(self) -> None:
        self._among.discard(self)
        self._file.close()


class ResponseBuffer:
    """Buffers responses. Long ones occupy a thread each, so there are at most `most_long` at a time."""

    def __init__(self, most_long: int) -> None:
        self._long: set[SpooledResponse] = set()
        self._most_long = most_long

    def take(self, response: Any) -> Iterable[bytes]:
        """Read the whole response, close it, and return the buffered body. Raises HTTPError."""
        with contextlib.closing(response):
            if not getattr(response, "streaming", True):
                return [response.content]
            return self._collect(response)

    def _collect(self, pieces: Iterable[bytes]) -> Iterable[bytes]:
        with contextlib.ExitStack() as stack:
            kept: Any = io.BytesIO()
            length = 0
            for piece in pieces:
                length += len(piece)
                if length > IN_MEMORY_BYTES and isinstance(kept, io.BytesIO):
                    if len(self._long) >= self._most_long:
                        raise HTTPError(503, ends=False)
                    started = kept.getvalue()
                    kept = stack.enter_context(tempfile.TemporaryFile())
                    kept.write(started)
                kept.write(piece)
            if isinstance(kept, io.BytesIO):
                return [kept.getvalue()]
            kept.seek(0)
            stack.pop_all()
            return SpooledResponse(kept, self._long)


# The server can't interrupt a read that waits (docs/operations.md#slow-callers), so a slow body keeps its thread until
# the client or the proxy closes the connection. These limits keep such threads few, and Django's slots free.

_LOCK = Lock()

View = TypeVar("View", bound=Callable[..., Any])
# RFC 9110 §9.3: the content of these requests has no meaning, and no view reads it.
_METHODS_WITHOUT_BODY = ("GET", "HEAD", "OPTIONS")
_PATHS_WITHOUT_BODY: list[str] = []


def reads_no_body(*prefixes: str) -> Callable[[View], View]:
    """Declare that a view reads no body at these paths, so that its requests are answered without waiting for one."""

    def declare(view: View) -> View:
        _PATHS_WITHOUT_BODY.extend(prefixes)
        return view

    return declare


def needs_body(environ: dict[str, Any]) -> bool:
    """Return whether a view may read the body of this request."""
    if environ["REQUEST_METHOD"] in _METHODS_WITHOUT_BODY:
        return False
    return not environ["PATH_INFO"].startswith(tuple(_PATHS_WITHOUT_BODY))


def leave_out_body(environ: dict[str, Any], start_response: Callable[..., Any]) -> Callable[..., Any]:
    """Make a request one without a body, and return a `start_response` that closes the connection if it has one."""
    environ["wsgi.input"] = io.BytesIO()
    if environ.pop("CONTENT_LENGTH", "") == "0":
        return start_response
    return lambda status, headers, *rest: start_response(status, [*headers, ("Connection", "close")], *rest)


class BodyReceiver:
    """Receives request bodies, with limits on their number and size."""

    def __init__(self, *, most: int, most_large: int, most_bytes: int) -> None:
        self._most = most
        self._most_large = most_large
        self._most_bytes = most_bytes
        self._under_way: set[int] = set()  # the threads that wait for a body
        self._large: set[int] = set()

    def receive(self, environ: dict[str, Any]) -> BinaryIO:
        """Return the whole body of a request. Raises HTTPError.

        Django reads as many bytes as CONTENT_LENGTH says, so a chunked body (RFC 9112 §7.1) gets its length here.
        """
        if "HTTP_TRANSFER_ENCODING" in environ:
            if environ["HTTP_TRANSFER_ENCODING"].strip().lower() != "chunked":
                raise HTTPError(400)
            with _place(self._under_way, self._most):
                length, body = self._receive_chunked(environ["wsgi.input"])
            environ["CONTENT_LENGTH"] = str(length)
            return body
        length = self._announced_length(environ)
        if not length:
            return io.BytesIO()
        with _place(self._under_way, self._most):
            if length <= IN_MEMORY_BYTES:
                return _read(environ["wsgi.input"], length, io.BytesIO())
            with _place(self._large, self._most_large):
                return _read(environ["wsgi.input"], length, cast(BinaryIO, tempfile.TemporaryFile()))

    def _receive_chunked(self, source: BinaryIO) -> tuple[int, BinaryIO]:
        """Return the length and content of a body whose length was not announced. Raises HTTPError.

        Granian decodes the chunks. A body that breaks off, or whose next chunk is malformed, looks like one that ends.
        """
        with contextlib.ExitStack() as stack:
            kept: BinaryIO = io.BytesIO()
            length = _copy(source, kept, IN_MEMORY_BYTES + 1)
            if length > IN_MEMORY_BYTES:
                stack.enter_context(_place(self._large, self._most_large))
                kept = _in_file(kept)
                length += _copy(source, kept, self._most_bytes + 1 - length)
            if length > self._most_bytes:
                kept.close()
                raise HTTPError(413)
            kept.seek(0)
            return length, kept

    def under_way(self) -> int:
        """Return the number of bodies that are being received now."""
        return len(self._under_way)

    def _announced_length(self, environ: dict[str, Any]) -> int:
        announced = environ.get("CONTENT_LENGTH") or "0"
        if not announced.isascii() or not announced.isdigit():
            raise HTTPError(400)
        if len(announced) > 18 or int(announced) > self._most_bytes:
            raise HTTPError(413)
        return int(announced)


@contextlib.contextmanager
def _place(taken: set[int], most: int) -> Iterator[None]:
    with _LOCK:
        if len(taken) >= most:
            raise HTTPError(503)
        taken.add(get_ident())
    try:
        yield
    finally:
        taken.discard(get_ident())


def _read(source: BinaryIO, length: int, kept: BinaryIO) -> BinaryIO:
    """Copy `length` bytes to a file and return it. Raises HTTPError if the client disconnects before."""
    if _copy(source, kept, length) < length:
        kept.close()
        raise HTTPError(400)
    kept.seek(0)
    return kept


def _in_file(started: BinaryIO) -> BinaryIO:
    """Return a temporary file that begins with the content of another one."""
    file = cast(BinaryIO, tempfile.TemporaryFile())  # noqa: SIM115  (Django closes it with the request)
    started.seek(0)
    file.write(started.read())
    return file


def _copy(source: BinaryIO, kept: BinaryIO, most: int) -> int:
    """Copy at most this many bytes to a file, and return how many there were."""
    received = 0
    while received < most and (piece := source.read(min(PIECE_BYTES, most - received))):
        kept.write(piece)
        received += len(piece)
    return received
