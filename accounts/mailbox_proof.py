"""Proof of an account's mailbox, asked for where too many guesses were made at it (docs/sign-in.md#limits).

The code is a MAC over the mailbox and the day, so it is the same in every mail of a day and in every browser: whoever
has mails sent there, or wants to use up their number, only hands the owner the code. It signs nobody in; with it, a
browser may type passwords and codes within a limit of its own. What is looked up, sent and shown is the same for
addresses without an account.
"""

import hmac
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils.crypto import salted_hmac

from accounts.mail import codes, resending
from accounts.mail.rendering import render_mail
from devportal.lib import clock
from devportal.lib.ratelimit import Rate, hit, keys
from devportal.lib.typed_codes import as_typed, format_code, letters_of

HOUR, DAY = 3600, 24 * 3600
# Seconds for which a browser counts as one of the mailbox: as long as the window of the guesses that made us ask.
PROOF_SECONDS = HOUR
ASKED, PROVED = "mailbox_to_prove", "mailboxes_proved"  # keys in the session


def ask(request: HttpRequest, email: str) -> HttpResponseRedirect:
    """Lead to the page that asks for the code, and from there back to where this form was sent."""
    path, query = request.path, {"login_hint": email}
    if following := request.POST.get("next"):
        query["next"] = following
    then = f"{path}?{urlencode(query)}" if path == reverse("account_login") else path
    request.session[ASKED] = {"email": email.strip(), "then": then}
    return HttpResponseRedirect(reverse("account_mailbox_proof"))


def code_for(email: str, days_ago: int = 0, secret: str | None = None) -> str:
    """Return the code of an address's mailbox, as it is mailed; 60 bits of a MAC."""
    signed = f"{keys.mailbox_key(email)} {clock.timestamp() // DAY - days_ago}"
    return format_code(letters_of(salted_hmac("accounts.mailbox_proof", signed, secret, algorithm="sha256").digest()))


def is_right(email: str, typed: str) -> bool:
    """Return whether it is the code of today's mails or yesterday's: one that came works for a day at least."""
    secrets = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    rights = [code_for(email, days_ago, secret) for days_ago in (0, 1) for secret in secrets]
    return any(hmac.compare_digest(as_typed(right), as_typed(typed)) for right in rights)


def send_code(request: HttpRequest, email: str) -> None:
    """Mail the code. Raises RateLimited beyond the mailbox's number a day, which is for these mails alone."""
    # No other mail counts here: what strangers cause otherwise can't keep the owner from this code.
    hit(Rate("mail, proof", settings.MAILS_PER_RECIPIENT_PER_DAY, DAY), keys.mailbox_key(email))
    resending.note_code_sent(request, email)
    mail = render_mail("mailbox_proof", {"email": email, "code": code_for(email)})
    codes.queue_answer(request, email, mail)


def note_proved(request: HttpRequest, email: str) -> None:
    """Note in the session that this browser has the mailbox."""
    proved = request.session.get(PROVED, {})
    request.session[PROVED] = proved | {keys.mailbox_key(email): clock.timestamp()}


def proved(request: HttpRequest, email: str) -> str:
    """Return by what guesses count in browsers that have proved the mailbox lately, "" if this one has not."""
    at = request.session.get(PROVED, {}).get(keys.mailbox_key(email), 0)
    return "mailbox" if 0 <= clock.timestamp() - at <= PROOF_SECONDS else ""
