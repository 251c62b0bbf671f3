"""Receiving request bodies, before the request takes a slot.

The server cannot end a read that waits (docs/operations.md#slow-callers), so a slow body keeps its thread until the
caller or the proxy hangs up. The limits here keep such threads few, and Django's slots free.
"""

import contextlib
import io
import tempfile
from collections.abc import Iterator
from threading import Lock, get_ident
from typing import Any, BinaryIO, cast

from devportal.lib.server.errors import HTTPError

# What is read in one go, and the most of an announced body that is kept in memory.
PIECE_BYTES = 64 * 1024
IN_MEMORY_BYTES = 256 * 1024
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
        """Return how many bodies are being received now."""
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
    """Copy `length` bytes to a file and return it. Raises HTTPError if the caller hangs up before."""
    received = 0
    while received < length and (piece := source.read(min(PIECE_BYTES, length - received))):
        kept.write(piece)
        received += len(piece)
    if received < length:
        kept.close()
        raise HTTPError(400)
    kept.seek(0)
    return kept
