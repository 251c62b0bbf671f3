"""Brute-force limits: wrong passwords and codes, and the mailbox proof after too many of them (docs/limits.md)."""

import contextlib
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Self
from urllib.parse import urlencode

from allauth.core.exceptions import ImmediateHttpResponse
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import DatabaseError, transaction
from django.db.models import F
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse

from accounts.activity import wrong_guesses
from accounts.activity.audit_lines import notes_refusals
from accounts.activity.recording import record
from accounts.mail import codes
from accounts.models import Account, WrongCodes
from accounts.sessions import known_browsers
from core import clock, passwords
from core.email_addresses import address_to_find
from core.limits import Rate, RateLimited, hit, may_be_taken_back, note_failure, seconds_left, undo_hit, usage

MINUTE, HOUR, DAY = 60, 3600, 24 * 3600
# How long (seconds) a proof of the mailbox is valid in a browser: as long as the window of the guesses.
PROOF_SECONDS = HOUR
ASKED, PROVED = "mailbox_to_prove", "mailboxes_proved"  # session keys
PURPOSE = "mailbox proof"  # of its codes (accounts/mail/codes.py)
PROVED_BY = "mailbox"  # name in limits for all browsers that have proved the same mailbox


def ask(request: HttpRequest, email: str) -> HttpResponseRedirect:
    """Redirect to the page that asks for the code, and from there back to the page of this form."""
    query = {"login_hint": email} if request.path == reverse("account_login") else {}
    if (query or request.user.is_authenticated) and (following := request.POST.get("next")):
        query["next"] = following
    then = f"{request.path}?{urlencode(query)}" if query else request.path
    request.session[ASKED] = {"email": email.strip(), "then": then, "signed_in": request.user.is_authenticated}
    return HttpResponseRedirect(reverse("account_mailbox_proof"))


def code_of(email: str) -> codes.MailboxCode:
    """Return the code that proves the mailbox of an email address."""
    return codes.MailboxCode("mailbox_proof", PURPOSE, email, DAY, key=usage.mailbox_key(email))


def asked_of(request: HttpRequest) -> dict[str, str] | None:
    """Return the mailbox that this browser has to prove ("email") and the URL after that ("then"), or None.

    A request from before the last sign-in or sign-out does not count.
    """
    asked: dict[str, str] | None = request.session.get(ASKED)
    if asked is None or asked.get("signed_in", False) != request.user.is_authenticated:
        return None
    return asked


def note_proved(request: HttpRequest, email: str) -> None:
    """Store in the session that this browser has proved the mailbox."""
    mailbox_proved = request.session.get(PROVED, {})
    request.session[PROVED] = mailbox_proved | {usage.mailbox_key(email): clock.timestamp()}


def mailbox_proved(request: HttpRequest, email: str) -> str:
    """Return the name that guesses count under in browsers that have proved the mailbox, "" if this one has not."""
    at = request.session.get(PROVED, {}).get(usage.mailbox_key(email), 0)
    return PROVED_BY if 0 <= clock.timestamp() - at <= PROOF_SECONDS else ""


# Guesses are counted by IP address; by IP address and account together; and, with a high limit, by account over all
# IP addresses, so that guessing from many of them is slow. Above the last limit nothing is refused: an unknown
# browser has to prove the account's mailbox first. Strangers can't use up the limits of a browser that signed in to the
# account before or that has proved its mailbox, nor the one that all sessions of an account share.
#
# Wrong codes of the second factor are also counted in the database until the next right one (NIST SP 800-63B, 3.2.2).
# Beyond WRONG_CODES_PER_ACCOUNT every browser proves the mailbox first, known browsers and sessions included. Only
# people who know the password or hold a session can type codes, so strangers can't bring this about.

# Seconds for which wrong guesses at one account from one IP address count.
SOME_MINUTES = 5 * MINUTE
TURN_SECONDS = 0.25  # between tries to count a guess: about as long as a hash takes
# Names in limits for browsers of an account that share one limit: signing out elsewhere renews a session's key.
SIGNED_IN, OF_THE_MAILBOX = "signed in", PROVED_BY
PASSWORD, SECOND_FACTOR = "password", "second factor"  # parts of the names of limits


Limit = tuple[Rate, tuple[object, ...]]


class Guess:
    """A guess, counted before it is checked, so that parallel guesses can't pass the limit.

    It is checked in a `with` block. If the block ends with a ValidationError or calls `is_wrong`, the guess was wrong.
    Otherwise it no longer counts: it was right, or a fault prevented the check.
    """

    account: Account | None = None  # whose WrongCodes count the guess

    def __init__(self, *limits: Limit, checks: Limit | None = None) -> None:
        """Count under each limit; `checks` counts right guesses too.

        Raises RateLimited, and then counts under none of them.
        """
        self.when_wrong: list[Callable[[], None]] = []  # note a wrong guess: for operators, in the audit log
        self._was_wrong = False
        self._checks = checks
        self._hits: list[tuple[Limit, int]] = []  # with their windows
        try:
            for limit in (*limits, *filter(None, [checks])):
                self.add(limit)
        except RateLimited:
            self._take_back(self._hits)
            raise

    def add(self, limit: Limit) -> None:
        """Count under one more limit. Raises RateLimited, and then does not count under it."""
        rate, key = limit
        try:
            self._hits.append((limit, hit(rate, *key)))
        except RateLimited as limited:
            self._take_back([(limit, limited.window)])
            raise

    def is_wrong(self) -> None:
        """Keep counting the guess."""
        self._was_wrong = True
        for note in self.when_wrong:
            note()
        for (rate, key), _ in self._hits:
            note_failure(rate, *key)

    def drop(self) -> None:
        """Stop counting the guess, which was not checked."""
        self._take_back(self._hits)
        if self.account is not None:
            uncount_wrong_code(self.account)

    def _take_back(self, hits: Iterable[tuple[Limit, int]]) -> None:
        for (rate, key), window in hits:
            undo_hit(rate, *key, window=window)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ValidationError):
            self.is_wrong()
        if self._was_wrong:
            return
        if error is not None:
            self.drop()
        else:
            self._take_back([each for each in self._hits if each[0] is not self._checks])


@notes_refusals("password")
def count_password(request: HttpRequest, login: str) -> Guess:
    """Count an attempt with a password for the account with this email address.

    Raises RateLimited, and ImmediateHttpResponse if the mailbox has to be proved first.
    """
    account = address_to_find(login)
    checked_for: tuple[object, ...]
    if request.user.is_authenticated and request.user.email == account:
        known, account = SIGNED_IN, str(request.user.pk)
        checked_for = (SIGNED_IN, account)
    else:
        known = known_browsers.find_known_browser_by_login(request, login) or mailbox_proved(request, login)
        checked_for = ("account", account) if known else (usage.address(request), account)
    # Each check of one account's password counts, right or wrong: hashing takes processor time. A limit of the IP
    # address would hold up a class that signs in together; of its checks, only some wait for a hash at once.
    checks: Limit = (Rate("sign-ins", settings.SIGN_INS_PER_MINUTE, MINUTE), checked_for)
    limits = limits_of(PASSWORD, account, known, usage.address(request))
    guess = _count(request, limits, "" if known else login, checks)
    guess.when_wrong.append(partial(wrong_guesses.note, request, wrong_guesses.PASSWORD, login))
    return guess


@notes_refusals("code")
def count_code(request: HttpRequest, account: Account) -> Guess:
    """Count a code for two-step verification, at sign-in or reauthentication. Raises as `count_password` does."""
    proved = mailbox_proved(request, account.email)
    wrong = WrongCodes.objects.filter(account=account).values_list("count", flat=True).first() or 0
    is_open = wrong < settings.WRONG_CODES_PER_ACCOUNT
    if not is_open:
        notify_about_wrong_codes(request, account)  # the previous guess may have failed before it was checked
    if not is_open and not proved:
        raise ImmediateHttpResponse(ask(request, account.email))
    if not is_open:
        known = OF_THE_MAILBOX
    elif request.user.is_authenticated and request.user.pk == account.pk:
        known = SIGNED_IN
    else:
        known = known_browsers.find_known_browser(request, account) or proved
    limits = limits_of(SECOND_FACTOR, str(account.pk), known, usage.address(request))
    guess = _count(request, limits, "" if known else account.email)
    guess.when_wrong.append(partial(wrong_guesses.note, request, wrong_guesses.CODE, account.email))
    try:
        if count_wrong_code(account):
            guess.account = account
        elif not proved:  # others guessed at the same moment
            raise ImmediateHttpResponse(ask(request, account.email))
    except (DatabaseError, ImmediateHttpResponse):
        guess.drop()
        raise
    return guess


@notes_refusals("key")
def count_key(request: HttpRequest, account: Account) -> Guess:
    """Count the response of a passkey or security key at reauthentication. Raises RateLimited.

    It shares the limit of codes that are entered in sessions. Signatures can't be guessed, so WRONG_CODES_PER_ACCOUNT
    does not count them: a key always remains a way to sign in.
    """
    limits = limits_of(SECOND_FACTOR, str(account.pk), SIGNED_IN)
    return _count(request, limits, "")


def count_wrong_code(account: Account) -> bool:
    """Count a code as wrong before it is checked; above WRONG_CODES_PER_ACCOUNT, count nothing and return False."""
    below_limit = WrongCodes.objects.filter(account=account, count__lt=settings.WRONG_CODES_PER_ACCOUNT)
    if below_limit.update(count=F("count") + 1):
        return True
    _, is_first = WrongCodes.objects.get_or_create(account=account, defaults={"count": 1})
    return is_first or bool(below_limit.update(count=F("count") + 1))  # another process may have created the row


def uncount_wrong_code(account: Account) -> None:
    """Stop counting a code that could not be checked, if the database allows it."""
    with contextlib.suppress(DatabaseError):
        WrongCodes.objects.filter(account=account, count__gt=0).update(count=F("count") - 1)


def notify_about_wrong_codes(request: HttpRequest, account: Account) -> None:
    """Notify the owner once that WRONG_CODES_PER_ACCOUNT is reached; call this after a wrong code.

    A count above the limit means that the owner was notified.
    """
    limit = settings.WRONG_CODES_PER_ACCOUNT
    with transaction.atomic():
        if WrongCodes.objects.filter(account=account, count=limit).update(count=limit + 1):
            record(account, "wrong_codes", request, number=limit)


def forget_wrong_codes(account: Account) -> None:
    """Reset the count of wrong codes, after a right one or after a recovery has removed the factors."""
    WrongCodes.objects.filter(account=account, count__gt=0).update(count=0)


def limits_of(what: str, account: str, known: str, address: str = "") -> list[Limit]:
    """Return the limits of a guess at an account by the browser `known` to it; "" for an unknown one at `address`."""
    if known:
        return [(Rate(f"{what}, known", settings.GUESSES_PER_KNOWN_BROWSER, SOME_MINUTES), (known, account))]
    return [
        (Rate(f"{what}, address", settings.GUESSES_PER_ADDRESS_PER_MINUTE, MINUTE), (address,)),
        (Rate(f"{what}, both", settings.GUESSES_PER_ACCOUNT_AND_ADDRESS, SOME_MINUTES), (address, account)),
        (Rate(f"{what}, account", settings.GUESSES_PER_ACCOUNT_PER_HOUR, HOUR), (account,)),
    ]


def _count(request: HttpRequest, limits: list[Limit], to_prove: str, checks: Limit | None = None) -> Guess:
    """Count a guess; above the last limit of an unknown browser, require a proof of the mailbox `to_prove` first.

    A refused guess counts nowhere, so one IP address can't use up the account's limit. The question about the mailbox
    is stored in a session, so such a guess counts as a wrong one of the IP address.
    """
    guess = _count_in_turn(limits[:2], checks)
    for limit in limits[2:]:
        try:
            guess.add(limit)
        except RateLimited as limited:
            guess.is_wrong()
            raise ImmediateHttpResponse(ask(request, to_prove)) from limited
    return guess


def _count_in_turn(limits: list[Limit], checks: Limit | None) -> Guess:
    """Count a guess. While only guesses that may turn out right use up a limit, wait for them.

    The first limit says which requests wait together: those of an IP address, or of an account's known browser. Raises
    RateLimited with the wait until none of the limits refuses any more.
    """
    counted = [*limits, *filter(None, [checks])]
    until = time.monotonic() + settings.PASSWORD_WAIT_SECONDS
    while True:
        try:
            return Guess(*limits, checks=checks)
        except RateLimited as limited:
            waits = {limit: seconds_left(limit[0], *limit[1]) for limit in counted}
            is_open = limited.window and all(
                limit is not checks and may_be_taken_back(limit[0], *limit[1]) for limit in counted if waits[limit]
            )
            if not is_open or time.monotonic() > until or not passwords.pause(TURN_SECONDS, limits[0]):
                raise RateLimited(1 if is_open else max(limited.wait, *waits.values())) from limited
