"""Mail of the embedded environment: printed, and kept as files for whoever tries the service out."""

import sys
from collections.abc import Sequence

from django.conf import settings
from django.core.mail.backends.base import BaseEmailBackend
from django.core.mail.message import EmailMessage

from devportal.lib import clock
from devportal.lib.credentials import random_text


class DemoBackend(BaseEmailBackend):
    """Prints each mail to standard error and keeps it in `MAIL_DIR`, one file a mail, in order of time."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        settings.MAIL_DIR.mkdir(parents=True, exist_ok=True)
        for message in email_messages:
            text = message.message().as_string()
            name = f"{clock.now():%Y%m%d-%H%M%S-%f}-{random_text(4)}.eml"
            (settings.MAIL_DIR / name).write_text(text)
            sys.stderr.write(f"--- mail kept as {name}\n{text}\n---\n")
            sys.stderr.flush()
        return len(email_messages)
