"""Limits of emails: the daily number to one mailbox, and the pause before a code can be sent again."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest

from accounts.mail import delivery
from accounts.sessions import known_browsers
from core import clock
from core.limits import Rate, RateLimited, hit, usage

DAY = 24 * 3600


class RecipientLimitReached(Exception):
    """The mailbox's limit is reached; `wait` is the number of seconds until mail is sent there again."""

    def __init__(self, wait: int) -> None:
        super().__init__("We have sent several emails to this email address today. Please try again tomorrow.")
        self.wait = wait


def mails(known: str = "") -> Rate:
    """Return the limit of emails to a mailbox that one known browser triggers, or that all others do."""
    return Rate("mail, known" if known else "mail", settings.MAILS_PER_RECIPIENT_PER_DAY, DAY)


def count_mail(recipient: str, known: str = "") -> None:
    """Count an email to `recipient`; `known` is the id of a known browser that triggered it.

    Raises RecipientLimitReached.
    """
    try:
        hit(mails(known), usage.mailbox_key(recipient), known)
    except RateLimited as limited:
        raise RecipientLimitReached(limited.wait) from limited


def count_mail_once(request: HttpRequest, recipient: str) -> None:
    """Count a request's mail to `recipient` once, however often this is called. Raises RecipientLimitReached."""
    counted: set[str] = request.__dict__.setdefault("mails_counted", set())
    if recipient not in counted:
        counted.add(recipient)
        count_mail(recipient, known_browsers.find_known_browser_by_login(request, recipient))


# Seconds between two codes that one browser has sent to an email address: about as long as an email takes.
PAUSE = 60
SENT = "code_sent"  # session key: the recipient, time and purpose of the last code


def note_code_sent(request: HttpRequest, email: str, *, signing_up: bool | None = None, purpose: str = "") -> None:
    """Store that a code (or the email that replaces it) was sent; `signing_up=None` keeps its previous value.

    `purpose` is that of `was_sent`, "" for the codes of sign-ups, resets and new email addresses.
    """
    before: dict[str, Any] = request.session.get(SENT, {})
    if signing_up is None:
        signing_up = before.get("to") == email and before.get("signing_up", False)
    request.session[SENT] = {"to": email, "at": clock.timestamp(), "signing_up": signing_up, "purpose": purpose}


def interrupted_sign_up(request: HttpRequest) -> str:
    """Return the email address of a sign-up that this browser began and has not finished, "" if there is none."""
    sent: dict[str, Any] = request.session.get(SENT, {})
    return sent["to"] if sent.get("signing_up") and not request.user.is_authenticated else ""


def was_sent(request: HttpRequest, email: str, purpose: str) -> bool:
    """Return whether the last code of this browser was one for this purpose, to this email address."""
    sent: dict[str, Any] = request.session.get(SENT, {})
    return (sent.get("to"), sent.get("purpose")) == (email, purpose)


def seconds_to_wait(request: HttpRequest, email: str) -> int:
    """Return how long (seconds) this browser has to wait before another code can be sent to the email address."""
    sent: dict[str, Any] = request.session.get(SENT, {})
    if sent.get("to") != email:
        return 0
    # If the clock was set back, or another machine's clock differs, nobody waits longer.
    left: int = sent["at"] + PAUSE - clock.timestamp()
    return min(max(0, left), PAUSE)


def resending(request: HttpRequest) -> dict[str, Any]:
    """Context processor: `code_wait`, the seconds until another code can be sent, `codes_delayed` and `interrupted`."""

    def code_wait() -> dict[str, Any]:
        sent = request.session.get(SENT)
        seconds = seconds_to_wait(request, sent["to"]) if sent else 0
        return {"seconds": seconds, "words": clock.in_words(seconds)}

    return {
        "code_wait": code_wait,
        "codes_delayed": delivery.codes_are_delayed,
        "interrupted": lambda: interrupted_sign_up(request),
    }
