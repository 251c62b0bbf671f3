"""Brute-force limits: wrong passwords and wrong codes of the second factor (docs/limits.md).

By address; by address and account together; and, high, by account over all addresses, so that a guess from many
addresses is slow. Beyond the last one nothing is refused: a browser that nobody knows proves the account's mailbox
first (accounts/mailbox_proof.py). None of these can be met by strangers for a browser that signed in to the account
before, that has proved its mailbox, or that is signed in: it has a limit of its own.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from allauth.core.exceptions import ImmediateHttpResponse
from django.conf import settings
from django.http import HttpRequest

from accounts import known_browsers, mailbox_proof
from accounts.models import Account
from devportal.lib.ratelimit import Rate, RateLimited, hit, keys, seconds_left, undo_hit

MINUTE, HOUR = 60, 3600
# Seconds for which wrong guesses at one account from one address count.
SOME_MINUTES = 5 * MINUTE


Limit = tuple[Rate, tuple[object, ...]]


@dataclass(frozen=True)
class Guess:
    """A guess, counted before it is checked, so that parallel guesses can't pass the limit."""

    counted: tuple[Limit, ...]

    def take_back(self) -> None:
        """Take the guess back from the counters: it was right, or could not be checked."""
        for rate, key in self.counted:
            undo_hit(rate, *key)


def count_password(request: HttpRequest, login: str) -> Guess:
    """Count a password that was typed for `login_key`.

    Raises RateLimited, and ImmediateHttpResponse where the mailbox has to be proved first.
    """
    account = keys.login_key(login)
    if request.user.is_authenticated and keys.login_key(request.user.email) == account:
        known = f"session {request.session.session_key}"
    else:
        known = known_browsers.find_known_browser_by_login(request, login) or mailbox_proof.proved(request, login)
    # Each password check counts, right or wrong: hashing takes processor time.
    checks = Rate("sign-ins", settings.SIGN_INS_PER_MINUTE, MINUTE)
    check: Limit = (checks, ("account", account) if known else ("address", keys.address(request)))
    limits = _limits(request, "password", account, known)
    _hit_all([check], limits[:2])
    return _count(request, limits, "" if known else login)


def count_code(request: HttpRequest, account: Account) -> Guess:
    """Count a code of the second factor, at sign-in or reauthentication. Raises as `count_password` does."""
    if request.user.is_authenticated and request.user.pk == account.pk:
        known = f"session {request.session.session_key}"
    else:
        known = known_browsers.find_known_browser(request, account) or mailbox_proof.proved(request, account.email)
    limits = _limits(request, "second step", str(account.pk), known)
    return _count(request, limits, "" if known else account.email)


def _limits(request: HttpRequest, what: str, account: str, known: str) -> list[Limit]:
    """Return the limits of a guess at an account by the browser that is `known` to it; "" is a stranger."""
    if known:
        return [(Rate(f"{what}, known", settings.GUESSES_PER_KNOWN_BROWSER, SOME_MINUTES), (known, account))]
    address = keys.address(request)
    return [
        (Rate(f"{what}, address", settings.GUESSES_PER_ADDRESS_PER_MINUTE, MINUTE), (address,)),
        (Rate(f"{what}, both", settings.GUESSES_PER_ACCOUNT_AND_ADDRESS, SOME_MINUTES), (address, account)),
        (Rate(f"{what}, account", settings.GUESSES_PER_ACCOUNT_PER_HOUR, HOUR), (account,)),
    ]


def _count(request: HttpRequest, limits: list[Limit], to_prove: str) -> Guess:
    """Count a guess; beyond the last limit of a stranger, have the mailbox `to_prove` proved first."""
    # A refused guess counts no further down: whoever guesses from one address can't use up the account's limit.
    _hit_all(limits[:2], limits[:2])
    for rate, key in limits[2:]:
        try:
            hit(rate, *key)
        except RateLimited as limited:
            raise ImmediateHttpResponse(mailbox_proof.ask(request, to_prove)) from limited
    return Guess(tuple(limits))


def _hit_all(limits: Iterable[Limit], all_that_refuse: list[Limit]) -> None:
    """Count under each limit. Raises RateLimited, whose wait is the one until none of them refuses any more."""
    try:
        for rate, key in limits:
            hit(rate, *key)
    except RateLimited as limited:
        raise RateLimited(max(limited.wait, *(seconds_left(rate, *key) for rate, key in all_that_refuse))) from limited
