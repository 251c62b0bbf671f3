"""The limits of specification 8, and what every counted answer says about them."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from api.callers import Caller
from api.errors import ApiError
from devportal.lib import limits
from devportal.lib.client_ip import limit_key
from devportal.lib.counters import Limit, Verdict, counters


def take(caller: Caller) -> Verdict:
    """Count a call: per key or app, and per person within an app."""
    if caller.key:
        return counters().take([Limit(f"key:{caller.key}", settings.API_CALLS_PER_MINUTE)])
    return counters().take(
        [
            Limit(f"app:{caller.client}", settings.API_CALLS_PER_MINUTE),
            Limit(f"person:{caller.client}:{caller.subject.sub}", settings.API_CALLS_PER_PERSON_PER_MINUTE),
        ]
    )


def too_many(verdict: Verdict) -> ApiError:
    """Return the refusal of a caller beyond its limits."""
    return ApiError("rate_limited", "Too many requests. Wait as long as Retry-After says.", retry_after=verdict.reset)


def tell(response: HttpResponse, verdict: Verdict) -> None:
    """Tell the tightest limit on an answer that was counted."""
    response["RateLimit-Limit"] = str(verdict.limit)
    response["RateLimit-Remaining"] = str(verdict.remaining)
    response["RateLimit-Reset"] = str(verdict.reset)


def slow_guessing(request: HttpRequest) -> None:
    """Count a credential that is nobody's, by address. Raises ApiError when there were too many.

    Only such credentials are counted and refused here, so this touches nobody's own budget.
    """
    try:
        limits.check("guesses", limit_key(request), settings.API_GUESSES_PER_MINUTE)
    except limits.Limited as error:
        text = "Too many invalid credentials came from this address."
        raise ApiError("rate_limited", text, retry_after=error.retry_after) from error
