"""Codes that prove that somebody reads a mailbox of an account, for one purpose and for some time.

A code is a MAC over the purpose, the email address and the period of time, so nothing is stored, and the code is the
same in every browser. People who have mails sent to somebody else's mailbox only hand its owner the code.
"""

import hmac

from django.conf import settings
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from accounts.mail import codes, resending
from accounts.mail.rendering import render_mail
from devportal.lib import clock
from devportal.lib.ratelimit import Rate, hit, keys
from devportal.lib.typed_codes import as_typed, format_code, letters_of

DAY = 24 * 3600


def code_for(purpose: str, email: str, lasts: int, ago: int = 0, secret: str | None = None) -> str:
    """Return the code of an email address for a purpose; `lasts` is the length of a period (seconds)."""
    signed = f"{purpose} {email} {clock.timestamp() // lasts - ago}"
    return format_code(letters_of(salted_hmac("accounts.mailbox_codes", signed, secret, algorithm="sha256").digest()))


def is_right(purpose: str, email: str, lasts: int, typed: str) -> bool:
    """Return whether it is the code of this period or of the one before: a code works for `lasts` seconds at least."""
    secrets = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    rights = [code_for(purpose, email, lasts, ago, secret) for ago in (0, 1) for secret in secrets]
    return any(hmac.compare_digest(as_typed(right), as_typed(typed)) for right in rights)


def send_code(request: HttpRequest, template: str, purpose: str, email: str, lasts: int) -> None:
    """Mail the code, unless this browser had one sent a moment ago.

    Raises RateLimited beyond the mailbox's number of these mails a day, which is apart from that of all other mails.
    """
    if resending.seconds_to_wait(request, email):
        return
    hit(Rate("mail, mailbox code", settings.MAILS_PER_RECIPIENT_PER_DAY, DAY), keys.mailbox_key(email))
    resending.note_code_sent(request, email)
    mail = render_mail(template, {"email": email, "code": code_for(purpose, email, lasts)})
    codes.queue_answer(request, email, mail)
