"""Mails of the sign-in pages: codes, what is mailed instead of a code, and notices.

A code and what is mailed instead ("you have an account already") are stored alike, and expire alike: neither time nor
the outbox tells known addresses from unknown ones.
"""

import logging
import time
from datetime import timedelta

from allauth.account.internal.flows.email_verification_by_code import EMAIL_VERIFICATION_CODE_SESSION_KEY
from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from accounts.mail import outbox
from accounts.mail.rendering import Mail
from devportal.lib import clock

log = logging.getLogger(__name__)

_WAITING_MAIL = "mail_with_code"  # in the session: the key of the mail with its newest code


def queue_answer(request: HttpRequest, to: str, mail: Mail) -> None:
    """Queue a mail with a code, or one instead; it is sent as long as the code is valid.

    The mail with the code before it, of the same browser, is not sent any more.
    """
    replaced = request.session.pop(_WAITING_MAIL, None)
    if replaced is not None:
        outbox.withdraw_mail(replaced)
    expires_at = clock.now() + timedelta(seconds=_seconds_left(request))
    try:
        row = outbox.store_mail(to, mail, expires_at=expires_at)
    except ValidationError:  # the page says the same as for any other
        log.info("A code can't be mailed: no mail server takes the address.")
    else:
        request.session[_WAITING_MAIL] = row.pk


def queue_notice(to: str, mail: Mail) -> None:
    """Queue a mail that tells somebody what was done to their account."""
    try:
        outbox.store_mail(to, mail)
    except ValidationError:
        log.info("A notice can't be mailed: no mail server takes the address.")


def _seconds_left(request: HttpRequest) -> float:
    """Return how long a code that is mailed now is valid (seconds); a new code has no more time than its first one."""
    began = time.time()
    if request.POST.get("action") == "resend":
        began = request.session.get(EMAIL_VERIFICATION_CODE_SESSION_KEY, {}).get("at", began)
    return float(settings.ACCOUNT_EMAIL_VERIFICATION_BY_CODE_TIMEOUT) - (time.time() - began)
