"""Brute-force limits: wrong passwords and wrong codes of the second factor (docs/limits.md).

By address; by address and account together; and, high, by account over all addresses, so that a guess from many
addresses is slow. None of these can be met by strangers for a browser that signed in to the account before, or that is
signed in: it has a limit of its own.
"""

from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest

from accounts import known_browsers
from accounts.models import Account
from devportal.lib.ratelimit import Rate, hit, keys, undo_hit

MINUTE, HOUR = 60, 3600
# Seconds for which wrong guesses at one account from one address count.
SOME_MINUTES = 5 * MINUTE


@dataclass(frozen=True)
class Guess:
    """A guess, counted before it is checked, so that parallel guesses can't pass the limit."""

    counted: tuple[tuple[Rate, tuple[object, ...]], ...]

    def take_back(self) -> None:
        """Take the guess back from the counters: it was right, or could not be checked."""
        for rate, key in self.counted:
            undo_hit(rate, *key)


def count_password(request: HttpRequest, login: str) -> Guess:
    """Count a password that was typed for `login_key`. Raises RateLimited."""
    account = keys.login_key(login)
    if request.user.is_authenticated and keys.login_key(request.user.email) == account:
        known = f"session {request.session.session_key}"
    else:
        known = known_browsers.find_known_browser_by_login(request, login)
    _count_sign_in(request, account if known else "")
    return _count(request, "password", account, known)


def count_code(request: HttpRequest, account: Account) -> Guess:
    """Count a code of the second factor, at sign-in or reauthentication. Raises as `count_password` does."""
    signed_in = request.user.is_authenticated and request.user.pk == account.pk
    known = (
        f"session {request.session.session_key}" if signed_in else known_browsers.find_known_browser(request, account)
    )
    return _count(request, "second step", str(account.pk), known)


def _count_sign_in(request: HttpRequest, known_account: str) -> None:
    """Count a password check, right or wrong: hashing takes processor time. Raises RateLimited."""
    rate = Rate("sign-ins", settings.SIGN_INS_PER_MINUTE, MINUTE)
    if known_account:
        hit(rate, "account", known_account)
    else:
        hit(rate, "address", keys.address(request))


def _count(request: HttpRequest, what: str, account: str, known: str) -> Guess:
    # A refused guess counts no further down: whoever guesses from one address can't use up the account's limit.
    address = keys.address(request)
    limits: list[tuple[Rate, tuple[object, ...]]]
    if known:
        limits = [(Rate(f"{what}, known", settings.GUESSES_PER_KNOWN_BROWSER, SOME_MINUTES), (known, account))]
    else:
        limits = [
            (Rate(f"{what}, address", settings.GUESSES_PER_ADDRESS_PER_MINUTE, MINUTE), (address,)),
            (Rate(f"{what}, both", settings.GUESSES_PER_ACCOUNT_AND_ADDRESS, SOME_MINUTES), (address, account)),
            (Rate(f"{what}, account", settings.GUESSES_PER_ACCOUNT_PER_HOUR, HOUR), (account,)),
        ]
    for rate, key in limits:
        hit(rate, *key)
    return Guess(tuple(limits))
