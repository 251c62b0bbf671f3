"""Deadlines: ends the connections of request bodies that do not arrive in time."""

import logging
import time
from collections import defaultdict

from devportal.lib.server import sockets
from devportal.lib.server.bodies import BodyReceiver, PendingBody
from devportal.lib.server.sockets import Connection

log = logging.getLogger(__name__)

CHECK_SECONDS = 1.0
LISTEN_CHECK_SECONDS = 0.05
# A connection on which nothing that was sent is taken for so long is ended by the operating system.
UNREAD_SECONDS = 30.0
# The clocks of the kernel and of the thread that receives are read at slightly different moments.
TOLERANCE_SECONDS = 0.1
# A body that drips is first looked at when it has dripped for a while.
ALIKE_SECONDS = 3.0


class DeadlineWatcher:
    """Checks once a second for late request bodies.

    Of an address's connections, the one of a late body is found by when its request came: that long ago it began to
    wait for an answer, and none was sent since. Should that be the wrong one (somebody hides it, or two requests of one
    address are alike), the next look takes twice as many, so that each body ends soon after its time.
    """

    def __init__(self, port: int, bodies: BodyReceiver) -> None:
        self._port = port
        self._bodies = bodies
        self._unanswered: dict[tuple[str, int], float] = {}  # connections, and when their request came
        self._ended: set[tuple[str, int]] = set()

    def run(self) -> None:
        """Check once a second, for ever; runs in a thread of its own."""
        while not sockets.end_when_unread(self._port, UNREAD_SECONDS):
            time.sleep(LISTEN_CHECK_SECONDS)
        while True:
            time.sleep(CHECK_SECONDS)
            try:
                self.check(time.monotonic())
            except Exception:
                log.exception("Late bodies could not be ended; that is tried again.")

    def check(self, now: float) -> None:
        """End the connections of late bodies."""
        waiting = [receipt for receipt in self._bodies.under_way() if now - receipt.began > CHECK_SECONDS / 2]
        if not waiting:
            self._unanswered.clear()
            self._ended.clear()
            return
        listens, found = sockets.connections(self._port, {receipt.address for receipt in waiting})
        self._note(now, found)
        # A worker that no longer listens is about to stop, and waits for nobody.
        late = self._bodies.late(now) if listens else waiting
        by_address: dict[str, list[PendingBody]] = defaultdict(list)
        for receipt in late:
            by_address[receipt.address].append(receipt)
        for address, receipts in by_address.items():
            self._end(now, receipts, [one for one in found if one.peer[0] == address])

    def _note(self, now: float, found: list[Connection]) -> None:
        unanswered = [one for one in found if one.received_ago <= one.sent_ago]
        self._unanswered = {one.peer: self._unanswered.get(one.peer, now - one.received_ago) for one in unanswered}
        self._ended &= {one.peer for one in found}

    def _end(self, now: float, receipts: list[PendingBody], found: list[Connection]) -> None:
        most = sum(2**receipt.attempts for receipt in receipts)
        began = [receipt.began for receipt in receipts]

        def unlikely(one: Connection) -> tuple[int, float]:
            came = self._unanswered.get(one.peer)
            apart = 0.0 if came is None else min(abs(came - moment) for moment in began)
            if came is not None and apart < ALIKE_SECONDS:
                return 0, apart
            is_quiet = one.sent_ago > now - max(began) - TOLERANCE_SECONDS
            # One that looks idle may hide a body behind an answer; one that is being worked on goes last of these.
            return (1 if is_quiet and came is None else 2 if is_quiet else 3), apart

        left = sorted((one for one in found if one.peer not in self._ended), key=unlikely)
        for one in left[:most]:
            self._ended.add(one.peer)
            sockets.end_reading(one)
        for receipt in receipts:
            receipt.attempts += 1
        log.info("Connections were ended whose announced bodies had not arrived: %d", len(receipts))
