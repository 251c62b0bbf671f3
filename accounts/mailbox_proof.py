"""Proof of an account's mailbox, asked for where too many guesses were made at it (docs/sign-in.md#limits).

The code is a MAC over the mailbox and the day, so it is the same in every mail of a day and in every browser. If
somebody else has mails sent there, or wants to use up their number, they only hand the owner the code. It signs nobody
in. With it, a browser may type passwords and codes within a separate limit. Email addresses without an account get the
same pages and mails.
"""

from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse

from accounts.mail import codes, mailbox_codes, resending
from accounts.mail.rendering import render_mail
from devportal.lib import clock
from devportal.lib.ratelimit import Rate, hit, keys

HOUR, DAY = 3600, 24 * 3600
# Seconds for which a browser counts as one of the mailbox: as long as the window of the guesses that made us ask.
PROOF_SECONDS = HOUR
ASKED, PROVED = "mailbox_to_prove", "mailboxes_proved"  # keys in the session
PURPOSE = "mailbox proof"  # of its codes (accounts/mail/mailbox_codes.py)
PROVED_BY = "mailbox"  # how limits name all browsers that have proved the same mailbox


def ask(request: HttpRequest, email: str) -> HttpResponseRedirect:
    """Lead to the page that asks for the code, and from there back to where this form was sent."""
    query = {"login_hint": email} if request.path == reverse("account_login") else {}
    if (query or request.user.is_authenticated) and (following := request.POST.get("next")):
        query["next"] = following
    then = f"{request.path}?{urlencode(query)}" if query else request.path
    request.session[ASKED] = {"email": email.strip(), "then": then, "signed_in": request.user.is_authenticated}
    return HttpResponseRedirect(reverse("account_mailbox_proof"))


def code_for(email: str) -> str:
    """Return the code of an email address's mailbox, as it is mailed."""
    return mailbox_codes.code_for(PURPOSE, keys.mailbox_key(email), DAY)


def is_right(email: str, typed: str) -> bool:
    """Return whether it is the code of today's mails or of yesterday's: a code works for a day at least."""
    return mailbox_codes.is_right(PURPOSE, keys.mailbox_key(email), DAY, typed)


def send_code(request: HttpRequest, email: str) -> None:
    """Mail the code. Raises RateLimited beyond the mailbox's number a day, which is for these mails alone."""
    # No other mail counts here: what strangers cause otherwise can't keep the owner from this code.
    hit(Rate("mail, proof", settings.MAILS_PER_RECIPIENT_PER_DAY, DAY), keys.mailbox_key(email))
    resending.note_code_sent(request, email)
    mail = render_mail("mailbox_proof", {"email": email, "code": code_for(email)})
    codes.queue_answer(request, email, mail)


def asked_of(request: HttpRequest) -> dict[str, str] | None:
    """Return whose mailbox this browser was asked for ("email") and where it goes on ("then"), None if it was not.

    A question from before a sign-in or a sign-out since does not count.
    """
    asked: dict[str, str] | None = request.session.get(ASKED)
    if asked is None or asked.get("signed_in", False) != request.user.is_authenticated:
        return None
    return asked


def note_proved(request: HttpRequest, email: str) -> None:
    """Note in the session that this browser has the mailbox."""
    proved = request.session.get(PROVED, {})
    request.session[PROVED] = proved | {keys.mailbox_key(email): clock.timestamp()}


def proved(request: HttpRequest, email: str) -> str:
    """Return by what guesses count in browsers that have proved the mailbox lately, "" if this one has not."""
    at = request.session.get(PROVED, {}).get(keys.mailbox_key(email), 0)
    return PROVED_BY if 0 <= clock.timestamp() - at <= PROOF_SECONDS else ""
