"""How much time and how many bytes a request that leaves the service may take."""

import time

SECONDS = 5.0  # of a whole request: resolving, connecting, redirects and reading
MAX_BYTES = 65_536  # of the body
MAX_REDIRECTS = 3  # on the same host
MAX_HEADER_BYTES = 32_768  # of an answer, interim ones (1xx) included
MAX_WIRE_BYTES = 262_144  # of an answer as it is sent: headers, body, and what encloses each chunk
MAX_URL = 2048  # characters
MAX_DIALLED = 4  # addresses of a name that are tried, one after the other
MAX_TXT_RECORDS = 100
MAX_TXT_CHARACTERS = 1024  # of one record; a longer one is no proof, and left out


class Deadline:
    """The moment at which everything that belongs to one request has to be over, SECONDS from now.

    It is counted by the machine's monotonic clock, not by `core.clock`: sockets wait by that one.
    """

    def __init__(self) -> None:
        self._end = time.monotonic() + SECONDS

    def left(self) -> float:
        """Return the seconds that are left; 0 when it is over."""
        return max(0.0, self._end - time.monotonic())
