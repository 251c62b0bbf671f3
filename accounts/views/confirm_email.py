"""The page with the code of a sign-up or of a new address: allauth's, for who has a code to type."""

from allauth.account.internal.flows.email_verification_by_code import EMAIL_VERIFICATION_CODE_SESSION_KEY
from allauth.account.views import email_verification_sent
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from devportal.lib.ratelimit.forms import limited_by_address


@limited_by_address
def confirm_email(request: HttpRequest) -> HttpResponse:
    """/account/confirm-email/: whoever has signed in meanwhile, in another tab, goes on to what was waiting."""
    if request.user.is_authenticated and EMAIL_VERIFICATION_CODE_SESSION_KEY not in request.session:
        return HttpResponseRedirect(reverse("resume"))
    response: HttpResponse = email_verification_sent(request)
    return response
