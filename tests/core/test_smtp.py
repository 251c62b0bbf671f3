"""A delivery has an end, however the mail server draws it out."""

import threading
import time
from typing import Any

import pytest
from django.core.mail import EmailMessage, get_connection

from tests.faults.mail_servers import MailServer

SECONDS = 0.6


@pytest.fixture
def server(settings: Any) -> MailServer:
    settings.MAIL_DELIVERY_SECONDS = SECONDS
    settings.EMAIL_TIMEOUT = 10
    return MailServer()


def send(server: MailServer, **options: Any) -> int:
    backend = get_connection("core.mail.BoundedEmailBackend", host="127.0.0.1", port=server.port, **options)
    backend.open()
    try:
        return int(backend.send_messages([EmailMessage("Subject", "Text", to=["refuses@example.com"])]))
    finally:
        backend.close()


def test_a_mail_is_taken(server: MailServer) -> None:
    with server.behaving("well"):
        assert send(server) == 1
    (message,) = server.to("refuses@example.com")
    assert message["Subject"] == "Subject"


@pytest.mark.parametrize(
    ("how", "options"),
    [
        ("drips", {}),
        ("silent", {}),
        ("hangs after DATA", {}),
        ("drips", {"use_tls": True}),
        ("silent", {"use_ssl": True}),
    ],
)
def test_a_server_that_draws_it_out_is_left(server: MailServer, how: str, options: dict[str, bool]) -> None:
    began = time.monotonic()
    with server.behaving(how), pytest.raises(TimeoutError, match=r"longer than 0\.6 s"):
        send(server, **options)
    assert time.monotonic() - began < 4 * SECONDS
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):  # the one that has just ended the connection
            thread.join(SECONDS)
            assert not thread.is_alive()


@pytest.mark.parametrize("how", ["down", "closes", "refuses"])
def test_a_server_that_says_no_is_believed_at_once(server: MailServer, how: str) -> None:
    began = time.monotonic()
    with server.behaving(how), pytest.raises(OSError, match=r".") as refused:
        send(server)
    assert not isinstance(refused.value, TimeoutError)
    assert time.monotonic() - began < SECONDS
