"""/v1: parse, ask, answer.

Real DRF views, so that the schema is read off what is served; their `dispatch` goes the short way, because DRF's own
costs as much as all the rest of a call.
"""

import hashlib
import json
import logging
import time
from typing import Any

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from accounts.plans import sources as plan_sources
from accounts.sources import SourceFailed
from api import errors, limits, request_log, schema, usage
from api.callers import Caller, Refused, identify
from api.errors import ApiError
from api.profile import ALL, profile_for, scopes_that_work
from devportal.lib import request_id
from devportal.lib.cors import allow_any_origin, is_preflight, preflight_answer
from devportal.lib.counters import Verdict

log = logging.getLogger(__name__)


class Endpoint(APIView):
    """What every endpoint shares: the order of design 5, one envelope for errors, limits, usage, CORS."""

    name = ""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if is_preflight(request):
            return preflight_answer(("GET",))
        if request.method != "GET":
            response = errors.answer(ApiError("method_not_allowed", "Use GET."))
            response["Allow"] = "GET"
            return response
        try:
            return self._answer(request)
        except ApiError as error:
            return errors.answer(error)
        except Exception as error:  # noqa: BLE001  (one envelope, whatever failed)
            return errors.answer(unforeseen(error))

    def _answer(self, request: HttpRequest) -> HttpResponse:
        started = time.perf_counter()
        try:
            caller = identify(request)
        except Refused as refused:
            whose = usage.Whose(refused.project, refused.key, refused.client)
            self._count(request, whose, refused.error, started)
            raise refused.error from refused
        except ApiError as error:
            if error.code != "unauthenticated":
                limits.slow_guessing(request)
            raise
        verdict = limits.take(caller)
        failure: ApiError | None = None
        try:
            response = self._read(request, caller, verdict)
        except ApiError as error:
            failure, response = error, errors.answer(error)
        except Exception as error:  # noqa: BLE001  (one envelope, whatever failed)
            failure = unforeseen(error)
            response = errors.answer(failure)
        limits.tell(response, verdict)
        whose = usage.Whose(caller.project.pk, caller.key, caller.client, caller.subject.sub)
        self._count(request, whose, failure or response.status_code, started)
        return response

    def _read(self, request: HttpRequest, caller: Caller, verdict: Verdict) -> HttpResponse:
        if not verdict.allowed:
            raise limits.too_many(verdict)
        response = self.read(request, caller)
        allow_any_origin(response, errors.EXPOSED)
        return response

    def _count(self, request: HttpRequest, whose: usage.Whose, outcome: ApiError | int, started: float) -> None:
        status, code = (outcome.status, outcome.code) if isinstance(outcome, ApiError) else (outcome, "")
        seconds = time.perf_counter() - started
        request_log.note(
            project_id=whose.project,
            method=request.method,
            path=request.path,
            status=status,
            code=code,
            milliseconds=round(seconds * 1000),
            credential=whose.key,
            client=whose.client,
            subject=request_log.masked(whose.sub),
            request_id=request_id.current(),
        )
        usage.note(usage.Kind(whose.project, whose.key, whose.client, self.name, status, code), seconds)

    def read(self, request: HttpRequest, caller: Caller) -> HttpResponse:
        """Answer the caller; the endpoint's own part."""
        raise NotImplementedError


def unforeseen(error: Exception) -> ApiError:
    """Return what a caller learns of a failure: that something behind the endpoint is down, or nothing at all."""
    if isinstance(error, SourceFailed | DatabaseError):
        log.warning("Something behind /v1 is down.", exc_info=error)
        return ApiError("upstream_unavailable", "The service behind this endpoint is down. Retry shortly.")
    log.error("A /v1 call failed.", exc_info=error)
    return ApiError("internal_error", "The service failed. Try again.")


def require_any(caller: Caller, scopes: tuple[str, ...]) -> None:
    """Refuse a caller with none of `scopes`, naming them."""
    if not caller.scopes.intersection(scopes):
        raise ApiError("insufficient_scope", f"This needs one of the scopes: {', '.join(scopes)}.", scopes)


class Me(Endpoint):
    """GET /v1/me: the caller's profile."""

    name = "me"

    @extend_schema(**schema.ME)
    def get(self, request: Request) -> HttpResponse:
        """Read the profile of the caller's account."""
        raise NotImplementedError  # for the schema: dispatch answers

    def read(self, request: HttpRequest, caller: Caller) -> HttpResponse:
        require_any(caller, scopes_that_work(caller))
        response = JsonResponse(profile_for(caller))
        response["Cache-Control"] = "no-store"
        return response


class Plan(Endpoint):
    """GET /v1/me/plan: the caller's plan and entitlements."""

    name = "me/plan"

    @extend_schema(**schema.PLAN)
    def get(self, request: Request) -> HttpResponse:
        """Read the plan of the caller's account."""
        raise NotImplementedError  # for the schema: dispatch answers

    def read(self, request: HttpRequest, caller: Caller) -> HttpResponse:
        require_any(caller, (ALL,))
        plan = plan_sources.plans().plan(caller.account)
        body = json.dumps(plan)
        etag = f'"{hashlib.sha256(body.encode()).hexdigest()[:32]}"'
        given = request.headers.get("If-None-Match", "")
        unchanged = etag in {tag.strip().removeprefix("W/") for tag in given.split(",")} or given.strip() == "*"
        response = (
            HttpResponse(status=304, content_type="application/json")
            if unchanged
            else HttpResponse(body, content_type="application/json")
        )
        response["ETag"] = etag
        response["Cache-Control"] = f"private, max-age={plan['cache_max_age']}"
        response["Vary"] = "Authorization"
        return response
