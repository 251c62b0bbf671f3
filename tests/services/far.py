"""A proxy to a test server with a delay that a test chooses, in a separate process.

Run as a script, it forwards connections to another port of this machine, and delays every response. It reads the delay
in seconds from its standard input, one number per line.
"""

import contextlib
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass
class FarRoad:
    """The proxy: its port, and a method to set its delay."""

    port: int
    _process: "subprocess.Popen[str]"

    def keep_back(self, seconds: float) -> None:
        """Delay every response by this long from now on."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{seconds}\n")
        self._process.stdin.flush()


@contextlib.contextmanager
def road_to(port: int) -> Iterator[FarRoad]:
    """Yield a proxy to a port of this machine; it ends with the block, or with this process."""
    command = [sys.executable, __file__, str(port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield FarRoad(int(process.stdout.readline()), process)
        process.kill()


class _Road:
    def __init__(self, target: int) -> None:
        self.seconds = 0.0
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]

    def accept(self) -> None:
        while True:
            near, _ = self._listener.accept()
            try:
                far = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                near.close()
                continue
            for end in (near, far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._carry, args=(near, far, False), daemon=True).start()
            threading.Thread(target=self._carry, args=(far, near, True), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket, is_answer: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if is_answer and self.seconds:
                    time.sleep(self.seconds)
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def _main(target: int) -> None:
    road = _Road(target)
    threading.Thread(target=road.accept, daemon=True).start()
    sys.stdout.write(f"{road.port}\n")
    sys.stdout.flush()
    for line in sys.stdin:
        road.seconds = float(line)


if __name__ == "__main__":
    _main(int(sys.argv[1]))
