"""Scopes and limits of calls to `/v1` and to the company's own APIs, and guesses of credentials (docs/limits.md)."""

from collections.abc import Iterable
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
from core.limits.counters import Limit, RateLimitResult, Throttled, check_rate, counters
from core.telemetry import metrics
from oidc.apis.registry import ApiSnapshot
from oidc.values.reasons import Facts

_MOST_NAMES = 8  # of a list in the request log


def named_for_log(scopes: Iterable[str]) -> list[str]:
    """Return names of scopes as the request log stores them."""
    return sorted(scopes)[:_MOST_NAMES]


class HasScope(BasePermission):
    """Refuses a caller that has none of the scopes that the view requires, and lists them.

    An access token needs one of `required_scopes`, an API key one of `required_permissions`.
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        """Raise ApiError, which lists the scopes; without a caller return False, which becomes a 401."""
        caller = request.auth
        if not isinstance(caller, Caller):
            return False
        names: tuple[str, ...] = view.required_permissions if caller.key else view.required_scopes
        if not caller.scopes.intersection(names):
            facts: Facts = {"one_of": list(names), "has": named_for_log(caller.scopes)}
            text = f"This needs one of the scopes: {', '.join(names)}."
            raise ApiError("insufficient_scope", text, names, facts=facts)
        return True


class CallThrottle(BaseThrottle):
    """The limits of a key, or of an app and of one person in it: counted together, in one round trip."""

    result: RateLimitResult | None = None

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Count the call of a known caller; other calls have no limit here."""
        caller = request.auth
        if not isinstance(caller, Caller):
            return True
        self.result = _count("", caller, settings.API_CALLS_PER_MINUTE, settings.API_CALLS_PER_PERSON_PER_MINUTE)
        return self.result.allowed

    def wait(self) -> float | None:
        """Return the seconds until the minute ends."""
        return self.result.reset if self.result else None

    def set_headers(self, response: HttpResponseBase) -> None:
        """Set the headers about the tightest limit on the response to a counted call."""
        if self.result:
            response["RateLimit-Limit"] = str(self.result.limit)
            response["RateLimit-Remaining"] = str(self.result.remaining)
            response["RateLimit-Reset"] = str(self.result.reset)


def _count(api: str, caller: Caller, per_minute: int, per_person_per_minute: int) -> RateLimitResult:
    """Count a call. `api` is the beginning of the names of the counts, "" for those of `/v1`."""
    if caller.key:
        limits = [Limit(f"key:{api}{caller.key}", per_minute)]
    else:
        app = f"{api}{caller.client}"
        person = f"{app}:{caller.subject.sub}"
        limits = [Limit(f"app:{app}", per_minute), Limit(f"person:{person}", per_person_per_minute)]
    result = counters().take(limits)
    if not result.allowed:
        metrics.LIMITS_MET.count("calls")
    return result


def scopes_in(api: ApiSnapshot, caller: Caller) -> tuple[str, ...]:
    """Return the caller's scopes of an API, for a key without the ones that are not open to API keys."""
    return tuple(
        scope.name for scope in api.scopes if scope.name in caller.scopes and (scope.api_keys or not caller.key)
    )


def count_call(caller: Caller, api: ApiSnapshot) -> RateLimitResult:
    """Count a call to one of the company's own APIs, in one round trip: each API has its own limits."""
    return _count(f"{api.slug}:", caller, api.calls_per_minute, api.calls_per_person_per_minute)


def count_invalid_credential(request: HttpRequest) -> None:
    """Count an unknown credential by IP address. Raises ApiError after API_GUESSES_PER_MINUTE in a minute.

    Calls with a known credential are neither counted nor refused here.
    """
    count_guess(limit_key(request))


def count_guess(address: str) -> None:
    """Count an unknown credential by the key of an IP address (core/http/client_ip.py). Raises ApiError."""
    try:
        check_rate("guesses", address, settings.API_GUESSES_PER_MINUTE)
    except Throttled as error:
        text = "Too many invalid credentials came from this IP address."
        raise ApiError("rate_limited", text, retry_after=error.retry_after) from error
