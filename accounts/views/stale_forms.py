"""Responses to forms with an invalid CSRF token, which are mostly in another tab and from before a sign-in."""

from urllib.parse import urlencode

from allauth.account.utils import get_next_redirect_url
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from accounts.models import Account
from core.http import error_pages
from core.limits import usage

# The pages on which people sign in; a sign-in gives the browser a new token, so forms in other tabs have an old one.
SIGN_IN_PAGES = frozenset(
    {
        "account_complete_password_reset",
        "account_confirm_password_reset_code",
        "account_email_verification_sent",
        "account_login",
        "account_mailbox_proof",
        "account_reset_password",
        "account_signup",
        "account_signup_by_passkey",
        "mfa_authenticate",
        "mfa_login_webauthn",
        "mfa_signup_webauthn",
    }
)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Redirect people who have signed in meanwhile (CSRF_FAILURE_VIEW); the form itself is not processed.

    People who may have meant another account than the one signed in are asked on a page.
    """
    match = request.resolver_match
    if match is None or match.view_name not in SIGN_IN_PAGES:
        return error_pages.csrf_failure(request, reason)
    following = get_next_redirect_url(request)
    if not isinstance(request.user, Account):
        again = f"{request.path}?{urlencode({'next': following})}" if following else request.path
        return error_pages.csrf_failure(request, reason, again=again)
    following = following or reverse("resume")
    typed = request.POST.get("login") or request.POST.get("email") or ""
    if usage.login_key(typed) == usage.login_key(request.user.email):
        return HttpResponseRedirect(following)
    return error_pages.csrf_failure(request, reason, following=following)
