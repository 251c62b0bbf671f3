"""Rate limits of forms: the marks of views, and the middleware that counts requests and returns 429 or 503."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from core.http.error_pages import ServiceBusy, service_unavailable, too_many_requests
from core.limits import usage
from core.limits.usage import Rate, RateLimited, hit
from core.marks import Mark

# FORMS_PER_ADDRESS_PER_MINUTE: forms that anyone can send, such as sign-up, codes, new passwords, passkeys.
limited_by_address = Mark("limited_by_address")
# PASSKEY_CHALLENGES_PER_MINUTE: GET requests that store something in a session, such as a challenge for a passkey, and
# the forms that use it. Nobody can guess a signature, so a class behind one IP address may sign in together. Each
# sign-in takes one challenge of the page and one of its button.
limited_challenges = Mark("limited_challenges")
# FORMS_PER_PERSON_PER_MINUTE: forms with which signed-in people create, upload or compute something.
limited_by_person = Mark("limited_by_person")
# MAILING_FORMS_PER_PERSON_PER_DAY: forms that send an email to others each time, such as reviewers and colleagues.
# Invitations are also counted by recipient.
limited_mailing = Mark("limited_mailing")


MINUTE, DAY = 60, 24 * 3600


class RateLimitMiddleware:
    """Counts requests to the views that have one of the marks above, each view separately."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Callable[..., Any], *arguments: Any) -> HttpResponse | None:
        if request.resolver_match is None:
            return None
        name = request.resolver_match.view_name
        try:
            is_form = request.method not in ("GET", "HEAD", "OPTIONS")
            if limited_challenges.is_on(view):
                what = "form" if is_form else "challenge"
                hit(Rate(f"{what} {name}", settings.PASSKEY_CHALLENGES_PER_MINUTE, MINUTE), usage.address(request))
            if not is_form:
                return None
            if limited_by_address.is_on(view):
                hit(Rate(f"form {name}", settings.FORMS_PER_ADDRESS_PER_MINUTE, MINUTE), usage.address(request))
            if request.user.is_authenticated:
                _count_by_person(view, name, request.user.pk)
        except RateLimited as limited:
            return too_many_requests(request, limited.wait)
        return None

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Return 429 for a limit that a view or form reached, and 503 if there is too much work."""
        if isinstance(exception, ServiceBusy):
            return service_unavailable(request)
        return too_many_requests(request, exception.wait) if isinstance(exception, RateLimited) else None


def _count_by_person(view: Callable[..., Any], name: str, person: int) -> None:
    if limited_by_person.is_on(view):
        hit(Rate(f"form {name}", settings.FORMS_PER_PERSON_PER_MINUTE, MINUTE), "person", person)
    if limited_mailing.is_on(view):
        hit(Rate(f"mail {name}", settings.MAILING_FORMS_PER_PERSON_PER_DAY, DAY), "person", person)
