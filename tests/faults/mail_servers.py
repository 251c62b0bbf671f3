"""Mail servers on one port, one after the other: working ones, and ones that fail in different ways."""

import asyncio
import contextlib
import email
import email.policy
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from aiosmtpd.controller import Controller

from tests.services import keeper
from tests.services.service import CODE

# "refuses" comes first. Later, it would permanently reject mails of the other faults, which are tried again meanwhile.
FAULTS = ("refuses", "down", "closes", "silent", "hangs after DATA", "drips")


def text_of(message: Any) -> str:
    """Return an email's plain text."""
    return str(message.get_body(("plain",)).get_content())


@dataclass
class MailServer:
    """A port on the loopback address, and the emails that were accepted there."""

    port: int = field(default_factory=keeper.free_port)
    taken: list[tuple[str, Any]] = field(default_factory=list)  # recipient and message
    asked: int = 0  # attempts to send

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.port}"

    @contextlib.contextmanager
    def behaving(self, how: str) -> Iterator[None]:
        """Run the server within a block; `how` is one of FAULTS, or "well"."""
        if how == "down":  # nobody listens
            yield
        elif how in ("closes", "silent", "drips"):
            with self._raw(how):
                yield
        else:
            controller = Controller(_Handler(self, how), hostname="127.0.0.1", port=self.port)
            controller.start()
            try:
                yield
            finally:
                controller.stop(no_assert=True)

    def to(self, address: str) -> list[Any]:
        """Return the messages to an email address."""
        return [message for recipient, message in self.taken if recipient == address]

    def wait_for(self, address: str, seconds: float) -> str:
        """Wait for the code that is mailed to an email address, and return it."""
        deadline = time.monotonic() + seconds
        while not self.to(address):
            assert time.monotonic() < deadline, f"nothing was mailed to {address}"
            time.sleep(0.1)
        (code,) = CODE.findall(text_of(self.to(address)[-1]).replace("\r", ""))
        return str(code)

    @contextlib.contextmanager
    def _raw(self, how: str) -> Iterator[None]:
        over = threading.Event()
        connections: list[socket.socket] = []

        def talk(connection: socket.socket) -> None:
            with contextlib.suppress(OSError), connection:
                if how == "closes":
                    connection.sendall(b"421 come back later\r\n")
                elif how == "drips":
                    connection.sendall(b"220-")
                    while not over.wait(0.2):
                        connection.sendall(b"x")
                else:
                    over.wait()

        def accept() -> None:
            while not over.is_set():
                with contextlib.suppress(OSError):
                    connection, _ = listening.accept()
                    self.asked += 1
                    connections.append(connection)
                    threading.Thread(target=talk, args=(connection,), daemon=True).start()

        with socket.create_server(("127.0.0.1", self.port)) as listening:
            listening.settimeout(0.1)
            accepting = threading.Thread(target=accept, daemon=True)
            accepting.start()
            try:
                yield
            finally:
                over.set()
                accepting.join()
                for connection in connections:
                    with contextlib.suppress(OSError):
                        connection.shutdown(socket.SHUT_RDWR)


class _Handler:
    """The functions that aiosmtpd calls at each step."""

    def __init__(self, server: MailServer, how: str) -> None:
        self._server = server
        self._how = how

    async def handle_RCPT(  # noqa: N802  # aiosmtpd's name
        self, server: Any, session: Any, envelope: Any, address: str, options: list[str]
    ) -> str:
        self._server.asked += 1
        # Reject only the recipient of this fault: mails to others are tried again meanwhile, and would be given up.
        if self._how == "refuses" and address.startswith("refuses@"):
            return "550 5.1.1 no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802  # the same
        if self._how == "hangs after DATA":
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:  # the server ends; a 500 would be a permanent error
                server.transport.abort()
                raise
        message = email.message_from_bytes(envelope.content, policy=email.policy.default)
        self._server.taken += [(address, message) for address in envelope.rcpt_tos]
        return "250 taken"
