"""Codes by email: the emails of the sign-in pages, and codes that prove a mailbox for one purpose."""

import hmac
import logging
import re
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from accounts.allauth_internals import EMAIL_VERIFICATION_CODE_SESSION_KEY
from accounts.mail import outbox, recipient_limit
from accounts.mail.rendering import Mail, render_mail
from accounts.signals import naming_app
from core import clock
from core.http.places import known_browser_name, user_agent
from core.limits import Rate, hit, usage
from core.typed_codes import as_typed, format_code, letters_of

log = logging.getLogger(__name__)

_WAITING_MAIL = "mail_with_code"  # session key: the primary key of the email with the newest code
# Mail programs turn these into links or phone numbers.
_ADDRESS = re.compile(r"\S[.:/@\\]\S|(?:\d\D?){7}")
_LONGEST_NAME = 40  # characters of the name of an app that is not reviewed, in an email


def origin_context(request: HttpRequest) -> dict[str, Any]:
    """Return the email's context about its request: `app`, `browser`, and how long a code `lasts`.

    Strangers can trigger these emails, so they contain no text of theirs: the browser is only named if it is known, and
    the name of an app that is not reviewed is left out if it is long or contains a URL.
    """
    apps: list[Any] = []  # none if the person is signed in: an app in the session is not what they are here for
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
    """Return a duration in whole minutes, rounded down, but ignoring a second that the email itself took."""
    minutes = int(seconds + 1) // 60
    return f"{minutes} minute{'' if minutes == 1 else 's'}" if minutes > 0 else "less than a minute"


def queue_answer(request: HttpRequest, to: str, mail: Mail) -> None:
    """Queue an email with a code, or the email that replaces it; it is sent only while the code is valid.

    An unsent mail with an earlier code for the same browser is withdrawn.
    """
    replaced = request.session.pop(_WAITING_MAIL, None)
    if replaced is not None:
        outbox.withdraw_mail(replaced)
    expires_at = clock.now() + timedelta(seconds=_seconds_left(request))
    try:
        row = outbox.store_mail(to, mail, expires_at=expires_at)
    except ValidationError:  # the page must show the same as for any other email address
        log.info("A code was not mailed: mail can't be sent to this email address.")
    else:
        request.session[_WAITING_MAIL] = row.pk


def _seconds_left(request: HttpRequest) -> float:
    """Return how long a code that is mailed now is valid (seconds); a new code expires with the first one."""
    began = time.time()
    if request.POST.get("action") == "resend":
        began = request.session.get(EMAIL_VERIFICATION_CODE_SESSION_KEY, {}).get("at", began)
    return float(settings.ACCOUNT_EMAIL_VERIFICATION_BY_CODE_TIMEOUT) - (time.time() - began)


# A code is a MAC over the purpose, the email address and the period of time. Nothing is stored, and the code is the
# same in every browser. People who have mails sent to someone else's mailbox only send its owner the code.

DAY = 24 * 3600


def code_for(purpose: str, email: str, lasts: int, ago: int = 0, secret: str | None = None) -> str:
    """Return the code of an email address for a purpose; `lasts` is the length of a period (seconds)."""
    signed = f"{purpose} {email} {clock.timestamp() // lasts - ago}"
    return format_code(letters_of(salted_hmac("accounts.mailbox_codes", signed, secret, algorithm="sha256").digest()))


WRONG_CODE = "This is not the code of the newest email. Type it exactly as it is there."


def code_mails() -> Rate:
    """Return the limit of emails with a code to one mailbox for one purpose; no other email counts under it.

    Otherwise someone who may ask for another code could keep the owner from this one.
    """
    return Rate("mail, mailbox code", settings.MAILS_PER_RECIPIENT_PER_DAY, DAY)


@dataclass(frozen=True)
class MailboxCode:
    """The code that proves one mailbox for one purpose; its mail has a template, and it is valid for `lasts` seconds.

    With `key`, all email addresses with this key have the same code.
    """

    template: str
    purpose: str
    email: str
    lasts: int
    key: str = ""

    @property
    def text(self) -> str:
        """The code as it is mailed."""
        return code_for(self.purpose, self.key or self.email, self.lasts)

    def is_right(self, typed: str) -> bool:
        """Return whether it is the code of this period or the one before, so that it is valid for at least `lasts`."""
        keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
        named = (self.purpose, self.key or self.email, self.lasts)
        rights = [code_for(*named, ago, secret) for ago in (0, 1) for secret in keys]
        return any(hmac.compare_digest(as_typed(right), as_typed(typed)) for right in rights)

    def was_sent(self, request: HttpRequest) -> bool:
        """Return whether the last code that this browser asked for is this one."""
        return recipient_limit.was_sent(request, self.email, self.purpose)

    def send(self, request: HttpRequest) -> None:
        """Mail the code, unless it was just sent for this browser. Raises RateLimited (`code_mails`)."""
        if self.was_sent(request) and recipient_limit.seconds_to_wait(request, self.email):
            return
        hit(code_mails(), usage.mailbox_key(self.email), self.purpose)
        recipient_limit.note_code_sent(request, self.email, purpose=self.purpose)
        queue_answer(request, self.email, render_mail(self.template, {"email": self.email, "code": self.text}))
