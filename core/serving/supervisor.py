"""The parent of the worker processes: it keeps their socket, and replaces workers that are frozen."""

import contextlib
import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from functools import partial
from typing import Any

from granian._granian import SocketHolder
from granian.server import MPServer

from core.serving.worker import BEAT_SECONDS, load_bounded_application

log = logging.getLogger(__name__)

# So many beats may be missing before a worker is replaced. A new one first has to load the application.
MOST_MISSED = 10
MOST_MISSED_AT_START = 60
BACKLOG = 1024
FIRST_FD = 3  # sd_listen_fds(3)


def passed_listener() -> socket.socket | None:
    """Return the socket that systemd passes to this process (sd_listen_fds(3)), None if there is none."""
    if os.environ.get("LISTEN_PID") != str(os.getpid()) or os.environ.get("LISTEN_FDS") != "1":
        return None
    os.set_inheritable(FIRST_FD, False)
    return socket.socket(fileno=FIRST_FD)


def listen(address: str, port: int) -> socket.socket:
    """Return a new socket that listens on this IP address and port. Raises OSError if that is not possible."""
    is_ipv6 = ":" in address
    family = socket.AF_INET6 if is_ipv6 else socket.AF_INET
    return socket.create_server((address, port), family=family, backlog=BACKLOG, dualstack_ipv6=is_ipv6)


def notify(state: str) -> bool:
    """Report a state to systemd (sd_notify(3)), if it asks for that; return whether it has been reported."""
    path = os.environ.get("NOTIFY_SOCKET", "")
    if path.startswith("@"):
        path = path.replace("@", "\0", 1)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as there:
        try:
            return not path or there.sendto(state.encode(), socket.MSG_DONTWAIT, path) > 0
        except OSError:
            return False


class Supervisor(MPServer):
    """Granian with one listening socket for all workers, and for other servers that have it from systemd.

    With granian's own sockets, one for each worker, the connections that wait for a worker break when it ends, and wait
    for a frozen one.
    """

    def __init__(self, target: str, listener: socket.socket, **options: Any) -> None:
        address, port = listener.getsockname()[:2]
        super().__init__(target, address=address, port=port, backlog=BACKLOG, **options)
        self._listener = listener
        self._beats, self._beat = multiprocessing.Pipe(duplex=False)
        os.set_blocking(self._beat.fileno(), False)

    def run(self) -> None:
        """Serve until this process gets SIGTERM or SIGINT."""
        self.on_startup(threading.Thread(target=self._watch, daemon=True, name="workers").start)
        self.serve(target_loader=partial(load_bounded_application, beat=self._beat))

    def _init_shared_socket(self) -> None:
        self._listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if sys.platform == "linux":
            # A worker that stops closes connections from which it has read nothing. So accept them with their request.
            self._listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 1)
        fd = self._listener.fileno()
        holder: Any = SocketHolder  # has annotations for none of its arguments
        shared = holder(fd, False, *([self.backlog] if sys.platform == "linux" else ()))
        self.__dict__.update(_ssp=None, _shd=shared, _sso=self._listener, _sfd=fd)

    def _watch(self) -> None:
        """Kill workers that don't beat, which granian then replaces, and report to systemd, without end.

        Beats are counted, because the clock also goes on while the whole machine is paused.
        """
        missed: dict[int, int] = {}
        is_ready = False
        while True:
            time.sleep(BEAT_SECONDS)
            beating = set()
            while self._beats.poll():
                beating.add(int.from_bytes(self._beats.recv_bytes()))
            running = {worker.inner.pid for worker in list(self.wrks)}
            missed = {
                pid: 0 if pid in beating else missed.get(pid, MOST_MISSED - MOST_MISSED_AT_START) + 1 for pid in running
            }
            for pid in [pid for pid, count in missed.items() if count > MOST_MISSED]:
                log.error("The worker process %d does not respond. It is replaced.", pid)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if not is_ready and len(running) == self.workers and running <= beating:
                is_ready = notify("READY=1")
            notify("WATCHDOG=1")
