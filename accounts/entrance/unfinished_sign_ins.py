"""Sign-ins, sign-ups and password resets whose account was deleted before they were complete.

The session knows the account only by its key, and django-allauth expects it to exist in each of their steps. Checking
it before each step would cost a statement, so this happens after a step has failed.
"""

from collections.abc import Callable
from typing import Any

from allauth.account.utils import url_str_to_user_pk
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from accounts.allauth_internals import (
    EMAIL_VERIFICATION_CODE_SESSION_KEY,
    LOGIN_SESSION_KEY,
    PASSWORD_RESET_VERIFICATION_SESSION_KEY,
)
from accounts.entrance.forms import SIGN_IN_PAGES
from accounts.models import Account

# Session keys, each with the name of the account's primary key in its value, and the function that reads it. If the
# email address has no account, the primary key is missing, because the pages have to look the same.
_STATES: dict[str, tuple[str, Callable[[str], Any]]] = {
    LOGIN_SESSION_KEY: ("user_pk", url_str_to_user_pk),
    EMAIL_VERIFICATION_CODE_SESSION_KEY: ("user_id", int),
    PASSWORD_RESET_VERIFICATION_SESSION_KEY: ("user_id", int),
}
_PAGES = SIGN_IN_PAGES | {"account_recovery_start"}
# What the library raises where it expects an account.
_WITHOUT_ACCOUNT = (AssertionError, AttributeError, TypeError, ValueError)


def restart(request: HttpRequest, exception: Exception) -> HttpResponse | None:
    """End a sign-in that failed because its account was deleted, and lead back to the sign-in page; otherwise None."""
    match = request.resolver_match
    if match is None or match.view_name not in _PAGES or not isinstance(exception, _WITHOUT_ACCOUNT):
        return None
    waiting = [key for key in _STATES if key in request.session]
    accounts = {pk for key in waiting if (pk := _account_in(key, request.session[key])) is not None}
    if Account.objects.filter(pk__in=accounts).count() == len(accounts):
        return None  # it failed for another reason
    for key in waiting:
        del request.session[key]
    return HttpResponseRedirect(reverse("account_login"))


def _account_in(key: str, value: dict[str, Any]) -> int | None:
    name, parse = _STATES[key]
    return parse(value[name]) if value.get(name) else None
