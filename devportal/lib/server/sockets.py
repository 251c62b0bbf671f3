"""The TCP connections of this process, from the operating system (Linux).

WSGI says of a request which address it came from, but not by which connection, and the server has no way to end a
request whose body does not arrive. The system tells of each connection when something was last received on it and
last sent; and where the reading half of one is shut down, the server takes the body for finished.
"""

import contextlib
import os
import socket
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_OPEN_FILES = next((folder for folder in (Path("/proc/self/fd"), Path("/dev/fd")) if folder.exists()), Path("/dev/fd"))
# The kernel's `struct tcp_info` (Linux): milliseconds since data was last sent, and last received.
_TCP_INFO = getattr(socket, "TCP_INFO", None) if os.uname().sysname == "Linux" else None
_TCP_INFO_BYTES = 60
_LAST_SENT, _LAST_RECEIVED = 44, 52


@dataclass(frozen=True)
class Connection:
    """A connection, by its file descriptor; both ages are in seconds."""

    file: int
    peer: tuple[str, int]
    sent_ago: float
    received_ago: float


def connections(port: int, addresses: set[str]) -> tuple[bool, list[Connection]]:
    """Return whether this process listens on `port`, and its connections there from these IP addresses."""
    listens = False
    found = []
    for file, borrowed in _all_at(port):
        if _listens(borrowed):
            listens = True
        elif (peer := _peer(borrowed)) and peer[0] in addresses:
            found.append(Connection(file, peer, *_ages(borrowed)))
    return listens, found


def end_reading(connection: Connection) -> None:
    """Shut down the reading half: what waits for the rest of a body gets no more, and can still answer."""
    with _borrowed(connection.file) as borrowed:
        # By now the number may stand for another connection.
        if borrowed is not None and _peer(borrowed) == connection.peer:
            with contextlib.suppress(OSError):
                borrowed.shutdown(socket.SHUT_RD)


def end_when_unread(port: int, seconds: float) -> bool:
    """Set TCP_USER_TIMEOUT on the listening socket of `port`; return False if there is none yet.

    Accepted connections inherit it from the socket that listens.
    """
    for _, borrowed in _all_at(port):
        if _listens(borrowed):
            if hasattr(socket, "TCP_USER_TIMEOUT"):
                borrowed.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(seconds * 1000))
            return True
    return False


def _all_at(port: int) -> Iterator[tuple[int, socket.socket]]:
    for entry in list(_OPEN_FILES.iterdir()):
        with _borrowed(int(entry.name)) as borrowed:
            if borrowed is not None and _is_at(borrowed, port):
                yield int(entry.name), borrowed


@contextlib.contextmanager
def _borrowed(file: int) -> Iterator[socket.socket | None]:
    """Yield another socket object for an open file, None if that is no socket; the server's own stays as it is."""
    try:
        if not stat.S_ISSOCK(os.fstat(file).st_mode):
            yield None
            return
        copy = os.dup(file)
    except OSError:  # closed meanwhile
        yield None
        return
    with socket.socket(fileno=copy) as borrowed:
        yield borrowed


def _is_at(borrowed: socket.socket, port: int) -> bool:
    if borrowed.family not in (socket.AF_INET, socket.AF_INET6):
        return False
    try:
        return bool(borrowed.getsockname()[1] == port)
    except OSError:
        return False


def _listens(borrowed: socket.socket) -> bool:
    return bool(borrowed.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))


def _peer(borrowed: socket.socket) -> tuple[str, int] | None:
    try:
        address, port = borrowed.getpeername()[:2]
    except OSError:  # it listens, or is closed
        return None
    return address, port


def _ages(borrowed: socket.socket) -> tuple[float, float]:
    if _TCP_INFO is None:
        return 0.0, 0.0
    try:
        info = borrowed.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, _TCP_INFO_BYTES)
    except OSError:
        return 0.0, 0.0
    return struct.unpack_from("I", info, _LAST_SENT)[0] / 1000, struct.unpack_from("I", info, _LAST_RECEIVED)[0] / 1000
