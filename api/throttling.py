"""What a caller may read at `/v1`, how often it may call, and how often credentials may be guessed (docs/limits.md)."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from api.authentication import Caller
from api.errors import ApiError
from core.http.client_ip import limit_key
from core.limits.counters import Limit, RateLimitResult, counters
from core.limits.limits import Throttled, check_rate
from core.telemetry import metrics


class HasScope(BasePermission):
    """Refuses a caller with none of the scopes that the view names, and tells them.

    An access token needs one of `required_scopes`, an API key one of `required_permissions`.
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        """Raises ApiError, because the refusal names the scopes; without a caller it is a plain no, which is a 401."""
        caller = request.auth
        if not isinstance(caller, Caller):
            return False
        names: tuple[str, ...] = view.required_permissions if caller.key else view.required_scopes
        if not caller.scopes.intersection(names):
            raise ApiError("insufficient_scope", f"This needs one of the scopes: {', '.join(names)}.", names)
        return True


class CallThrottle(BaseThrottle):
    """The limits of one key, or of one app and one person within it: counted together, in one round trip."""

    verdict: RateLimitResult | None = None

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Count the call of a known caller; any other has no limit of its own."""
        caller = request.auth
        if not isinstance(caller, Caller):
            return True
        self.verdict = counters().take(_limits_of(caller))
        if not self.verdict.allowed:
            metrics.limit_met("calls")
        return self.verdict.allowed

    def wait(self) -> float | None:
        """Return the seconds until the minute ends."""
        return self.verdict.reset if self.verdict else None

    def tell(self, response: HttpResponseBase) -> None:
        """Tell the tightest limit on an answer that was counted."""
        if self.verdict:
            response["RateLimit-Limit"] = str(self.verdict.limit)
            response["RateLimit-Remaining"] = str(self.verdict.remaining)
            response["RateLimit-Reset"] = str(self.verdict.reset)


def _limits_of(caller: Caller) -> list[Limit]:
    if caller.key:
        return [Limit(f"key:{caller.key}", settings.API_CALLS_PER_MINUTE)]
    return [
        Limit(f"app:{caller.client}", settings.API_CALLS_PER_MINUTE),
        Limit(f"person:{caller.client}:{caller.subject.sub}", settings.API_CALLS_PER_PERSON_PER_MINUTE),
    ]


def count_invalid_credential(request: HttpRequest) -> None:
    """Count an unknown credential, by IP address. Raises ApiError beyond API_GUESSES_PER_MINUTE.

    Calls with a known credential are neither counted nor refused here.
    """
    try:
        check_rate("guesses", limit_key(request), settings.API_GUESSES_PER_MINUTE)
    except Throttled as error:
        text = "Too many invalid credentials came from this address."
        raise ApiError("rate_limited", text, retry_after=error.retry_after) from error
