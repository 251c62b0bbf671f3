"""Run a server for as long as the process that requested it lives.

The server is the child of a small keeper process, which reads from a pipe that nobody writes to. When the tests end,
even if they are killed, the system closes the pipe. The keeper then stops the server and removes its folder. Run as a
script, this file is that keeper. It only uses the standard library.
"""

import contextlib
import os
import pwd
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

READY_SECONDS = 30
STOP_SECONDS = 10


class NotStartedError(Exception):
    """The server ended, or was not ready in time; the message is the end of its log."""


# These are below the ports that systems use for outgoing connections, which could take a port before the server does.
PORTS = range(10_000, 32_000)


def free_port() -> int:
    """Return a random loopback port that nobody listens on now."""
    while True:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", secrets.choice(PORTS)))
            return int(probe.getsockname()[1])


@contextlib.contextmanager
def folder(user: str | None = None) -> Iterator[Path]:
    """Yield a temporary folder, owned by `user` if one is given, and remove it at the end."""
    path = Path(tempfile.mkdtemp(prefix="devportal-"))
    try:
        if user is not None:
            shutil.chown(path, user)
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def running(command: list[str], home: Path, is_ready: Callable[[], bool], user: str | None = None) -> Iterator[None]:
    """Run `command` in the folder `home`, as `user` if one is given. The block begins when the server is ready.

    The server is stopped at the end of the block. Raises NotStartedError if it ends early or is not ready within
    READY_SECONDS.
    """
    keeper = subprocess.Popen(
        [sys.executable, __file__, str(home), user or "", *command],
        stdin=subprocess.PIPE,
        # Ctrl-C in the terminal must not reach the server: the tests need it until they have cleaned up.
        start_new_session=True,
    )
    try:
        _wait(keeper, is_ready, home)
        yield
    finally:
        if keeper.stdin is not None:
            keeper.stdin.close()
        keeper.wait()


def _wait(keeper: subprocess.Popen[bytes], is_ready: Callable[[], bool], home: Path) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while not is_ready():
        if keeper.poll() is not None or time.monotonic() > deadline:
            log = home / "log"
            raise NotStartedError(log.read_text(errors="replace")[-2000:] if log.exists() else "no log")
        time.sleep(0.05)


def _keep(home: Path, user: str | None, command: list[str]) -> int:
    with (home / "log").open("wb") as log:
        server = subprocess.Popen(
            command,
            cwd=home,
            user=user,
            group=group_of(user),
            extra_groups=None if user is None else [],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    while server.poll() is None:
        if select.select([sys.stdin], [], [], 0.2)[0]:
            break
    if server.poll() is not None:
        return 1  # It ended by itself. The folder stays, so that the log can be read and the server started again.
    server.send_signal(signal.SIGINT)  # PostgreSQL's "fast" shutdown, and a normal end for the other servers.
    try:
        server.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
    shutil.rmtree(home, ignore_errors=True)
    return 0


def group_of(user: str | None) -> int | None:
    """Return the id of the user's own group; without a user None, which keeps the present group."""
    return None if user is None else pwd.getpwnam(user).pw_gid


if __name__ == "__main__":
    os.umask(0o077)
    sys.exit(_keep(Path(sys.argv[1]), sys.argv[2] or None, sys.argv[3:]))
