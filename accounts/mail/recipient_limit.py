"""The daily limit of mails to one mailbox that strangers can trigger: codes, answers to sign-ups, invitations.

What is beyond is not sent, and the page says so, in the same words whether the address has an account or not. A browser
that signed in to the account before has a budget of its own, so that strangers can't keep its owner from a code.
"""

from django.conf import settings
from django.http import HttpRequest

from accounts import known_browsers
from devportal.lib.ratelimit import Rate, RateLimited, hit, keys

DAY = 24 * 3600


class RecipientLimitReached(Exception):
    """The mailbox's limit is reached; `wait` is the number of seconds until mail is sent there again."""

    def __init__(self, wait: int) -> None:
        super().__init__("We have sent several mails to this email address today. Please try again tomorrow.")
        self.wait = wait


def count_mail(recipient: str, known: str = "") -> None:
    """Count a mail to `recipient`; `known` is the id of a known browser that triggered it.

    Raises RecipientLimitReached.
    """
    rate = Rate("mail, known" if known else "mail", settings.MAILS_PER_RECIPIENT_PER_DAY, DAY)
    try:
        hit(rate, keys.mailbox_key(recipient), known)
    except RateLimited as limited:
        raise RecipientLimitReached(limited.wait) from limited


def count_mail_once(request: HttpRequest, recipient: str) -> None:
    """Count a request's mail to `recipient` once, however often this is called for it. Raises RecipientLimitReached."""
    counted: set[str] = request.__dict__.setdefault("mails_counted", set())
    if recipient not in counted:
        counted.add(recipient)
        count_mail(recipient, known_browsers.find_known_browser_by_login(request, recipient))
