"""Limits of time and size for requests that leave the service."""

import time

SECONDS = 5.0  # of a whole request: resolving, connecting, redirects and reading
MAX_BYTES = 65_536  # of the body
MAX_REPLY_BYTES = 1024  # of the body of a response to a POST
REPLY_SECONDS = 1.0  # for that, after the status was received
MAX_REDIRECTS = 3  # on the same host
MAX_HEADER_BYTES = 32_768  # of a response, including interim ones (1xx)
MAX_WIRE_BYTES = 262_144  # of a response as it is sent: headers, body, and chunk framing
MAX_URL = 2048  # characters
MAX_DIALLED = 4  # IP addresses of a name that are tried, one after the other
MAX_TXT_RECORDS = 100
MAX_TXT_CHARACTERS = 1024  # of one record; a longer one is not a proof, and ignored


class Deadline:
    """The time at which everything that belongs to one request has to be finished, SECONDS from now.

    It uses the machine's monotonic clock and not `core.clock`, because sockets wait by that clock.
    """

    def __init__(self) -> None:
        self._end = time.monotonic() + SECONDS

    def shorten(self, seconds: float) -> None:
        """Let it end at most this many seconds from now."""
        self._end = min(self._end, time.monotonic() + seconds)

    def left(self) -> float:
        """Return the seconds that are left; 0 after the deadline."""
        return max(0.0, self._end - time.monotonic())
