"""A mail server that fails as a test tells it to."""

import pytest

from accounts.mail import delivery
from tests.accounts.mail.test_outbox import MailServer


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> type[MailServer]:
    class Server(MailServer):
        pass

    monkeypatch.setattr(delivery, "get_connection", Server)
    return Server


@pytest.fixture
def down(server: type[MailServer]) -> type[MailServer]:
    server.error = ConnectionRefusedError("nobody there")
    return server
