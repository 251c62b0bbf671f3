"""Taking an answer out of the application, so that nobody who reads it slowly holds anything of it."""

import contextlib
import io
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from devportal.lib.server.refusals import Refusal

PIECE_BYTES = 64 * 1024
# What the server keeps of one answer in memory until its reader has it.
IN_MEMORY_BYTES = 256 * 1024


class Kept:
    """A long answer in a temporary file: the server asks for the next piece when its reader has had the last."""

    def __init__(self, file: BinaryIO, among: "set[Kept]") -> None:
        self._file = file
        self._among = among
        among.add(self)

    def __iter__(self) -> Iterator[bytes]:
        while piece := self._file.read(PIECE_BYTES):
            yield piece

    def close(self) -> None:
        self._among.discard(self)
        self._file.close()


class Answers:
    """The answers that are being sent; of the long ones, each of which has a thread, there are at most `most_long`."""

    def __init__(self, most_long: int) -> None:
        self._long: set[Kept] = set()
        self._most_long = most_long

    def take(self, response: Any) -> Iterable[bytes]:
        """Return all that the application answers, and close its response. Raises Refusal."""
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
                        raise Refusal(503, ends=False)
                    begun = kept.getvalue()
                    kept = stack.enter_context(tempfile.TemporaryFile())
                    kept.write(begun)
                kept.write(piece)
            if isinstance(kept, io.BytesIO):
                return [kept.getvalue()]
            kept.seek(0)
            stack.pop_all()
            return Kept(kept, self._long)
