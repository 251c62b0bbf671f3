"""Receiving request bodies before a request takes a slot, and buffering responses for clients that read slowly."""

import contextlib
import io
import tempfile
from collections.abc import Iterable, Iterator
from threading import Lock, get_ident
from typing import Any, BinaryIO, cast

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
                    begun = kept.getvalue()
                    kept = stack.enter_context(tempfile.TemporaryFile())
                    kept.write(begun)
                kept.write(piece)
            if isinstance(kept, io.BytesIO):
                return [kept.getvalue()]
            kept.seek(0)
            stack.pop_all()
            return SpooledResponse(kept, self._long)


# The server can't interrupt a read that waits (docs/operations.md#slow-callers), so a slow body keeps its thread until
# the client or the proxy closes the connection. These limits keep such threads few, and Django's slots free.

_LOCK = Lock()


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

        A body without a length (chunked) counts as empty, as in Django.
        """
        length = self._announced_length(environ)
        if not length:
            return io.BytesIO()
        with _place(self._under_way, self._most):
            if length <= IN_MEMORY_BYTES:
                return _read(environ["wsgi.input"], length, io.BytesIO())
            with _place(self._large, self._most_large):
                return _read(environ["wsgi.input"], length, cast(BinaryIO, tempfile.TemporaryFile()))

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
    received = 0
    while received < length and (piece := source.read(min(PIECE_BYTES, length - received))):
        kept.write(piece)
        received += len(piece)
    if received < length:
        kept.close()
        raise HTTPError(400)
    kept.seek(0)
    return kept
