"""Buffering of responses, so that a client that reads slowly holds no slot."""

import contextlib
import io
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from devportal.lib.server.errors import HTTPError

PIECE_BYTES = 64 * 1024
# What granian may hold of one response in memory; the rest of a longer one stays in a temporary file.
IN_MEMORY_BYTES = 256 * 1024


class SpooledResponse:
    """An iterator over a long response in a temporary file, which granian reads as the client does."""

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
    """Buffers responses. Long ones occupy a thread each, so that there are at most `most_long` at a time."""

    def __init__(self, most_long: int) -> None:
        self._long: set[SpooledResponse] = set()
        self._most_long = most_long

    def take(self, response: Any) -> Iterable[bytes]:
        """Read the whole response of the application and close it; return the buffered body. Raises HTTPError."""
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
