"""Recovery codes after a sign-up with a passkey: created with the account, and shown once before people continue.

When people add a first passkey or authenticator app to an existing account, django-allauth creates the codes and shows
them next. At a sign-up with a passkey it creates none, because nobody is signed in yet.
"""

from typing import Any

from allauth.mfa.models import Authenticator
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from accounts.allauth_internals import auto_generate_recovery_codes
from accounts.models import Account
from accounts.sessions import keys

# Session keys: the URL that follows the page with the codes; the new passkey, until the person has named it there.
SESSION_KEY, UNNAMED = "after_first_codes", "unnamed_passkey"
Type = Authenticator.Type


def lead_to_codes(request: HttpRequest, account: Account, response: Any) -> HttpResponse:
    """Return `response`, or after a sign-up with a passkey a redirect to the page with the recovery codes.

    Call this once the person is signed in. The target of `response` is stored for that page, and everything else in
    the session is kept.
    """
    factors = {factor.type: factor for factor in Authenticator.objects.filter(user=account)}
    codes = factors.get(Type.RECOVERY_CODES)  # of another click, if there are any
    if Type.WEBAUTHN not in factors or (codes and codes.wrap().did_view):
        return response  # type: ignore[no-any-return]
    auto_generate_recovery_codes(request)
    request.session[UNNAMED] = factors[Type.WEBAUTHN].pk
    request.session[SESSION_KEY] = response.url
    return HttpResponseRedirect(reverse("first_recovery_codes"))


def name_of_passkey(request: HttpRequest) -> str:
    """Return the name that the new passkey got by itself, "" if the person can't change it here any more."""
    row = _unnamed(request)
    return row.wrap().name if row else ""


def name_passkey(request: HttpRequest, name: str) -> None:
    """Give the new passkey the name that the person chose, once; an empty one changes nothing."""
    row, name = _unnamed(request), name.strip()[: keys.NAME_LENGTH]
    request.session.pop(UNNAMED, None)
    if row is not None and name:
        row.wrap().name = name
        row.save(update_fields=["data"])


def _unnamed(request: HttpRequest) -> Authenticator | None:
    pk = request.session.get(UNNAMED)
    found: Authenticator | None = pk and Authenticator.objects.filter(user_id=request.user.pk, pk=pk).first()
    return found


def codes_to_show(account: Account) -> list[str] | None:
    """Return the codes if they were never shown, and store that they are shown now; otherwise None."""
    row = Authenticator.objects.filter(user=account, type=Type.RECOVERY_CODES).first()
    codes = row.wrap() if row else None
    if codes is None or codes.did_view:
        return None
    codes.mark_as_viewed()
    unused: list[str] = codes.get_unused_codes()
    return unused
