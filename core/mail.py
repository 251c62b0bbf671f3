import contextlib
import smtplib
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import Any

from django.conf import settings
from django.core.mail.backends.base import BaseEmailBackend
from django.core.mail.backends.smtp import EmailBackend
from django.core.mail.message import EmailMessage

from core import clock
from core.credentials import random_text


class DemoBackend(BaseEmailBackend):
    """Prints each email to standard error and stores it in `MAIL_DIR`, one file per mail, in order of time."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        settings.MAIL_DIR.mkdir(parents=True, exist_ok=True)
        for message in email_messages:
            text = message.message().as_string()
            name = f"{clock.now():%Y%m%d-%H%M%S-%f}-{random_text(4)}.eml"
            (settings.MAIL_DIR / name).write_text(text)
            words = f"To: {', '.join(message.to)}\nSubject: {message.subject}\n\n{message.body}"
            sys.stderr.write(f"--- mail stored as {name}\n{words}\n---\n")
            sys.stderr.flush()
        return len(email_messages)


class Deadline:
    """Closes the connections of a block that takes too long, whatever it waits for."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._watched: list[socket.socket] = []
        self._lock = threading.Lock()
        self._is_over = False

    def watch(self, connection: socket.socket) -> None:
        """Close this connection when the time is over. Raises TimeoutError if it already is."""
        with self._lock:
            if self._is_over:
                raise self.error()
            # A duplicate: TLS takes over the socket, while the connection stays the same.
            self._watched.append(socket.socket(fileno=socket.dup(connection.fileno())))

    def error(self) -> TimeoutError:
        return TimeoutError(f"the mail server took longer than {self._seconds:g} s in total")

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Limit the time of a block. Raises TimeoutError if the block fails after the time is over."""
        timer = threading.Timer(self._seconds, self._end)
        timer.daemon = True
        timer.start()
        try:
            yield
        except OSError as error:
            if self._is_over:
                raise self.error() from error
            raise
        finally:
            timer.cancel()
            with self._lock:
                self._is_over = True
                for connection in self._watched:
                    connection.close()
                self._watched.clear()

    def _end(self) -> None:
        with self._lock:
            self._is_over = True
            for connection in self._watched:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


_deadline: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


class _Watched(smtplib.SMTP):
    """A connection that the current deadline watches from before the server's first response."""

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        connection: socket.socket = super()._get_socket(host, port, timeout)  # type: ignore[misc]
        deadline = _deadline.get()
        if deadline is not None:
            deadline.watch(connection)
        return connection


class _WatchedTLS(smtplib.SMTP_SSL, _Watched):
    """The same for `smtp+ssl`: the plain connection is watched before TLS begins."""


class BoundedEmailBackend(EmailBackend):
    """Limits opening a connection and sending an email to MAIL_DELIVERY_SECONDS each, and closing to EMAIL_TIMEOUT."""

    @property
    def connection_class(self) -> type[smtplib.SMTP]:
        return _WatchedTLS if self.use_ssl else _Watched

    def open(self) -> bool | None:
        with self._bounded(settings.MAIL_DELIVERY_SECONDS):
            return super().open()

    def send_messages(self, email_messages: Any) -> int:
        with self._bounded(settings.MAIL_DELIVERY_SECONDS):
            return super().send_messages(email_messages)

    def close(self) -> None:
        with self._bounded(settings.EMAIL_TIMEOUT):
            super().close()

    @contextlib.contextmanager
    def _bounded(self, seconds: float) -> Iterator[None]:
        if _deadline.get() is not None:  # send_messages opens and closes the connection itself
            yield
            return
        deadline = Deadline(seconds)
        before = _deadline.set(deadline)
        try:
            with deadline.running():
                open_one = getattr(self.connection, "sock", None)
                if open_one is not None:
                    deadline.watch(open_one)
                yield
        finally:
            _deadline.reset(before)
