"""Receiving request bodies, before the request takes a slot."""

import io
import tempfile
import time
from dataclasses import dataclass
from threading import get_ident
from typing import Any, BinaryIO, cast

from devportal.lib.server.errors import HTTPError

# What is read in one go, and the most of an announced body that is kept in memory.
PIECE_BYTES = 64 * 1024
IN_MEMORY_BYTES = 256 * 1024
# An upload earns time with what has arrived; slower than this over the whole of it, it is late.
LEAST_BYTES_PER_SECOND = 16 * 1024
# When more than half of the bodies that may be received at once are under way, each has this share of its time.
SHARE_WHEN_CROWDED = 0.2


@dataclass(eq=False, slots=True)
class PendingBody:
    """A body being received. `attempts` counts the tries to find and end its connection."""

    address: str
    began: float
    received: int = 0
    attempts: int = 0

    def is_late(self, now: float, seconds: float) -> bool:
        return now - self.began > seconds + self.received / LEAST_BYTES_PER_SECOND


class BodyReceiver:
    """Receives request bodies, with limits on their number, size and time."""

    def __init__(self, *, seconds: float, most: int, most_large: int, most_bytes: int) -> None:
        self._seconds = seconds
        self._most = most
        self._most_large = most_large
        self._most_bytes = most_bytes
        self._large: set[int] = set()
        self._under_way: dict[int, PendingBody] = {}  # by the thread that waits for it

    def receive(self, environ: dict[str, Any]) -> BinaryIO:
        """Return the body of a request, all of it. Raises HTTPError.

        One without a length (chunked) is taken for empty, as Django does.
        """
        announced = environ.get("CONTENT_LENGTH") or "0"
        if not announced.isascii() or not announced.isdigit():
            raise HTTPError(400)
        if len(announced) > 18 or (length := int(announced)) > self._most_bytes:
            raise HTTPError(413)
        if not length:
            return io.BytesIO()
        if len(self._under_way) >= self._most:
            raise HTTPError(503)
        thread = get_ident()
        receipt = self._under_way[thread] = PendingBody(environ["REMOTE_ADDR"], time.monotonic())
        try:
            body = self._read(environ["wsgi.input"], length, receipt)
        finally:
            del self._under_way[thread]
        if receipt.received < length:
            body.close()
            raise HTTPError(408)
        return body

    def _read(self, source: BinaryIO, length: int, receipt: PendingBody) -> BinaryIO:
        if length <= PIECE_BYTES:
            data = source.read(length)
            receipt.received = len(data)
            return io.BytesIO(data)
        if length <= IN_MEMORY_BYTES:
            return self._copy(source, length, receipt, io.BytesIO())
        if len(self._large) >= self._most_large:
            raise HTTPError(503)
        self._large.add(get_ident())
        try:
            return self._copy(source, length, receipt, cast(BinaryIO, tempfile.TemporaryFile()))
        finally:
            self._large.discard(get_ident())

    @staticmethod
    def _copy(source: BinaryIO, length: int, receipt: PendingBody, kept: BinaryIO) -> BinaryIO:
        while receipt.received < length and (piece := source.read(min(PIECE_BYTES, length - receipt.received))):
            kept.write(piece)
            receipt.received += len(piece)
        kept.seek(0)
        return kept

    def under_way(self) -> list[PendingBody]:
        """Return the bodies being received now."""
        return list(self._under_way.values())

    def late(self, now: float) -> list[PendingBody]:
        """Return the bodies whose time is over."""
        receipts = self.under_way()
        crowded = 2 * len(receipts) > self._most
        seconds = self._seconds * (SHARE_WHEN_CROWDED if crowded else 1)
        return [receipt for receipt in receipts if receipt.is_late(now, seconds)]
