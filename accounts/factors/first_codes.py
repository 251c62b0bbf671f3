"""Recovery codes of somebody who signed up with a passkey: made with the account, shown once before they go on.

Whoever adds a first passkey or authenticator app to an account gets them from django-allauth, whose pages show them
next. At a sign-up by passkey it makes none, for nobody is signed in yet.
"""

from typing import Any

from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.flows import auto_generate_recovery_codes
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from accounts.models import Account

# In the session: where the person goes from the page that shows the codes.
SESSION_KEY = "after_first_codes"
Type = Authenticator.Type


def lead_to_codes(request: HttpRequest, account: Account, response: Any) -> HttpResponse:
    """Return `response`, or instead, where a sign-up made a passkey, the page with its recovery codes.

    Call it once the person is signed in. Where `response` leads is kept for that page, and so is whatever waits in the
    session.
    """
    types = set(Authenticator.objects.filter(user=account).values_list("type", flat=True))
    if Type.WEBAUTHN not in types or Type.RECOVERY_CODES in types:
        return response  # type: ignore[no-any-return]
    auto_generate_recovery_codes(request)
    request.session[SESSION_KEY] = response.url
    return HttpResponseRedirect(reverse("first_recovery_codes"))


def codes_to_show(account: Account) -> list[str] | None:
    """Return the codes if they were never shown, and note that they are now; None once they were."""
    row = Authenticator.objects.filter(user=account, type=Type.RECOVERY_CODES).first()
    codes = row.wrap() if row else None
    if codes is None or codes.did_view:
        return None
    codes.mark_as_viewed()
    unused: list[str] = codes.get_unused_codes()
    return unused
