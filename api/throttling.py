"""The limits of specification 8, and what every counted answer says about them."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from api.authentication import Caller
from api.errors import ApiError
from devportal.lib.client_ip import limit_key
from devportal.lib.ratelimit import limits
from devportal.lib.ratelimit.counters import Limit, RateLimitResult, counters


def count_call(caller: Caller) -> RateLimitResult:
    """Count a call: per key or app, and per person within an app."""
    if caller.key:
        return counters().take([Limit(f"key:{caller.key}", settings.API_CALLS_PER_MINUTE)])
    return counters().take(
        [
            Limit(f"app:{caller.client}", settings.API_CALLS_PER_MINUTE),
            Limit(f"person:{caller.client}:{caller.subject.sub}", settings.API_CALLS_PER_PERSON_PER_MINUTE),
        ]
    )


def rate_limited_error(verdict: RateLimitResult) -> ApiError:
    """Return the refusal of a caller beyond its limits."""
    return ApiError("rate_limited", "Too many requests. Wait as long as Retry-After says.", retry_after=verdict.reset)


def add_limit_headers(response: HttpResponse, verdict: RateLimitResult) -> None:
    """Tell the tightest limit on an answer that was counted."""
    response["RateLimit-Limit"] = str(verdict.limit)
    response["RateLimit-Remaining"] = str(verdict.remaining)
    response["RateLimit-Reset"] = str(verdict.reset)


def count_invalid_credential(request: HttpRequest) -> None:
    """Count a credential that is nobody's, by address. Raises ApiError when there were too many.

    Only such credentials are counted and refused here, so this touches nobody's own budget.
    """
    try:
        limits.check_rate("guesses", limit_key(request), settings.API_GUESSES_PER_MINUTE)
    except limits.Throttled as error:
        text = "Too many invalid credentials came from this address."
        raise ApiError("rate_limited", text, retry_after=error.retry_after) from error
