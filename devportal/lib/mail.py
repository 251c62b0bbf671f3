"""Validation of email addresses, and the mail backend of the embedded environment."""

import sys
from collections.abc import Sequence

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail.backends.base import BaseEmailBackend
from django.core.mail.message import EmailMessage
from django.core.validators import validate_email

from devportal.lib import clock
from devportal.lib.credentials import random_text

MAX_ADDRESS_LENGTH = 254  # RFC 5321 4.5.3.1.3, without the angle brackets


def validate_mail_address(address: str) -> None:
    """Raise ValidationError unless a mail can be sent to `address`.

    Django's own check lets pass what no mail server takes: a domain with signs that have no place in one (RFC 5891
    5.4), signs in one that nobody sees, and the few letters beyond ASCII that fold into one.
    """
    validate_email(address)
    if len(address) > MAX_ADDRESS_LENGTH:
        raise ValidationError(f"An address has at most {MAX_ADDRESS_LENGTH} characters.")
    local, _, domain = address.rpartition("@")
    try:
        # A domain that is normalized to another one would get the mail there, and could never be verified.
        if domain.encode("idna").decode("idna").lower() != domain.lower():
            domain = ""
    except UnicodeError:
        domain = ""
    if not domain or not local.isascii():
        raise ValidationError("Enter a valid email address.")


class DemoBackend(BaseEmailBackend):
    """Prints each mail's text to standard error and keeps it in `MAIL_DIR`, one file a mail, in order of time."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        settings.MAIL_DIR.mkdir(parents=True, exist_ok=True)
        for message in email_messages:
            text = message.message().as_string()
            name = f"{clock.now():%Y%m%d-%H%M%S-%f}-{random_text(4)}.eml"
            (settings.MAIL_DIR / name).write_text(text)
            words = f"To: {', '.join(message.to)}\nSubject: {message.subject}\n\n{message.body}"
            sys.stderr.write(f"--- mail kept as {name}\n{words}\n---\n")
            sys.stderr.flush()
        return len(email_messages)
