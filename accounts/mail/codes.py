"""Mails of the sign-in pages: codes, what is mailed instead of a code, and notices.

A code and what is mailed instead ("you have an account already") are stored alike, and expire alike: neither time nor
the outbox tells known addresses from unknown ones.
"""

import logging
import re
import time
from datetime import timedelta
from typing import Any

from allauth.account.internal.flows.email_verification_by_code import EMAIL_VERIFICATION_CODE_SESSION_KEY
from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from accounts.activity.browsers import known_browser_name, user_agent
from accounts.mail import outbox
from accounts.mail.rendering import Mail
from accounts.signals import naming_app
from devportal.lib import clock

log = logging.getLogger(__name__)

_WAITING_MAIL = "mail_with_code"  # in the session: the key of the mail with its newest code
# Mail programs make links of these, and people call them.
_ADDRESS = re.compile(r"\S[.:/@\\]\S|(?:\d\D?){7}")
_LONGEST_NAME = 40  # characters that are shown of an unverified app's name


def origin_context(request: HttpRequest) -> dict[str, Any]:
    """Return what a mail says of where it was asked for: `app`, `browser`, and how long a code `lasts`.

    Strangers cause these mails, so none of their own words are in it: a browser is named if it is known, and of an
    unverified app no name that is long, or an address.
    """
    apps: list[Any] = []  # none for somebody signed in: they came for something else, whatever waits in the session
    if not request.user.is_authenticated:
        apps = [app for _, app in naming_app.send(sender=None, request=request) if app]
    return {
        "app": _as_mailed(apps[0]) if apps else None,
        "browser": known_browser_name(user_agent(request)),
        "lasts": _in_minutes(_seconds_left(request)),
    }


def _as_mailed(app: dict[str, Any]) -> dict[str, Any]:
    name = str(app["name"])
    if not app["verified"]:
        name = "" if _ADDRESS.search(name) else name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
    return {"name": name, "verified": app["verified"]}


def _in_minutes(seconds: float) -> str:
    """Return a duration in whole minutes, never more than it is; a second that the mail itself took is not counted."""
    minutes = int(seconds + 1) // 60
    return f"{minutes} minute{'' if minutes == 1 else 's'}" if minutes > 0 else "less than a minute"


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


def _seconds_left(request: HttpRequest) -> float:
    """Return how long a code that is mailed now is valid (seconds); a new code has no more time than its first one."""
    began = time.time()
    if request.POST.get("action") == "resend":
        began = request.session.get(EMAIL_VERIFICATION_CODE_SESSION_KEY, {}).get("at", began)
    return float(settings.ACCOUNT_EMAIL_VERIFICATION_BY_CODE_TIMEOUT) - (time.time() - began)
