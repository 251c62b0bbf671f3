"""A mail server on a loopback port that stores the emails that it gets."""

import contextlib
from collections.abc import Iterator
from email.message import Message
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Message as MessageHandler

from tests.services import keeper


class Mailbox(MessageHandler):
    """Stores the emails that arrive."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self.port = port
        self.mails: list[Message] = []

    def handle_message(self, message: Any) -> None:
        self.mails.append(message)

    def holds(self, address: str) -> bool:
        """Return whether an email to this email address has arrived."""
        return any(address in str(mail["To"]) for mail in self.mails)


@contextlib.contextmanager
def listening() -> Iterator[Mailbox]:
    """Yield a running mail server."""
    mailbox = Mailbox(keeper.free_port())
    controller = Controller(mailbox, hostname="127.0.0.1", port=mailbox.port)
    controller.start()
    try:
        yield mailbox
    finally:
        controller.stop()
