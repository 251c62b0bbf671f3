"""Middleware that rate-limits forms, and returns 429 for RateLimited and 503 for ServiceBusy."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from core.http.error_pages import ServiceBusy, service_unavailable, too_many_requests
from core.limits import forms, usage
from core.limits.usage import Rate, RateLimited, hit

MINUTE, DAY = 60, 24 * 3600


class RateLimitMiddleware:
    """Counts requests to the views that have a mark of `forms.py`, each view separately."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Callable[..., Any], *arguments: Any) -> HttpResponse | None:
        if request.resolver_match is None:
            return None
        name = request.resolver_match.view_name
        try:
            if request.method in ("GET", "HEAD", "OPTIONS"):
                if forms.limited_challenges.is_on(view):
                    most = settings.PASSKEY_CHALLENGES_PER_MINUTE
                    hit(Rate(f"challenge {name}", most, MINUTE), usage.address(request))
                return None
            if forms.limited_by_address.is_on(view):
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
    if forms.limited_by_person.is_on(view):
        hit(Rate(f"form {name}", settings.FORMS_PER_PERSON_PER_MINUTE, MINUTE), "person", person)
    if forms.limited_mailing.is_on(view):
        hit(Rate(f"mail {name}", settings.MAILING_FORMS_PER_PERSON_PER_DAY, DAY), "person", person)
