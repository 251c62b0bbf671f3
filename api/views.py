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
from api import errors, request_log, schema, throttling
from api.authentication import Caller, RejectedCredential, authenticate
from api.errors import ApiError
from api.profile import ACCOUNT_READ, accepted_scopes, profile_for
from api.usage import recording
from devportal.lib import request_id
from devportal.lib.cors import allow_any_origin, is_preflight, preflight_answer
from devportal.lib.ratelimit.counters import RateLimitResult

log = logging.getLogger(__name__)

# What calls of a path that is no endpoint are counted under: one name for all of them, and no endpoint's.
NOWHERE = "(none)"


class Endpoint(APIView):
    """What every endpoint shares: the order of its refusals, one envelope for errors, limits, usage, CORS."""

    name = ""  # what its calls are counted under

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if is_preflight(request):
            return preflight_answer(("GET",))
        try:
            return self._answer(request)
        except ApiError as error:
            return errors.error_response(error)
        except Exception as error:  # noqa: BLE001  (one envelope, whatever failed)
            return errors.error_response(unexpected_error(error))

    def misfit(self, request: HttpRequest) -> ApiError | None:
        """Return why nobody at all can be answered: the method, or for `Nowhere` the path."""
        return None if request.method in errors.METHODS else errors.wrong_method()

    def _answer(self, request: HttpRequest) -> HttpResponse:
        started = time.perf_counter()
        misfit = self.misfit(request)
        caller = self._identify(request, misfit, started)
        verdict = throttling.count_call(caller)
        failure: ApiError | None = None
        try:
            response = self._read(request, caller, verdict, misfit)
        except ApiError as error:
            failure, response = error, errors.error_response(error)
        except Exception as error:  # noqa: BLE001  (one envelope, whatever failed)
            failure = unexpected_error(error)
            response = errors.error_response(failure)
        throttling.add_limit_headers(response, verdict)
        whose = recording.CallOwner(caller.project.pk, caller.key, caller.client, caller.subject.sub)
        self._count(request, whose, failure or response.status_code, started)
        return response

    def _identify(self, request: HttpRequest, misfit: ApiError | None, started: float) -> Caller:
        """Return the caller. Raises ApiError: `misfit`, if there is one, and not what is wrong with the credential."""
        try:
            return authenticate(request)
        except RejectedCredential as refused:
            error = misfit or refused.error
            self._count(request, recording.CallOwner(refused.project, refused.key, refused.client), error, started)
            raise error from refused
        except ApiError as refusal:
            # Wherever a credential is looked at: who guesses must not find a place where guesses are free.
            if refusal.code != "unauthenticated":
                throttling.count_invalid_credential(request)
            if misfit is None:
                raise
            raise misfit from refusal
        except DatabaseError as failure:
            if misfit is None:
                raise
            log.warning("A refused call is counted for nobody: the database is down.", exc_info=failure)
            raise misfit from failure

    def _read(
        self, request: HttpRequest, caller: Caller, verdict: RateLimitResult, misfit: ApiError | None
    ) -> HttpResponse:
        if not verdict.allowed:
            raise throttling.rate_limited_error(verdict)
        if misfit is not None:
            raise misfit
        response = self.read(request, caller)
        allow_any_origin(response, errors.EXPOSED_HEADERS)
        return response

    def _count(self, request: HttpRequest, whose: recording.CallOwner, outcome: ApiError | int, started: float) -> None:
        status, code = (outcome.status, outcome.code) if isinstance(outcome, ApiError) else (outcome, "")
        seconds = time.perf_counter() - started
        request_log.record_request(
            project_id=whose.project,
            method=request.method,
            path=request_log.plain(request.path),
            status=status,
            code=code,
            milliseconds=round(seconds * 1000),
            credential=whose.key,
            client=whose.client,
            subject=request_log.mask_subject(whose.sub),
            request_id=request_id.current(),
        )
        recording.record_call(
            recording.CallLabels(whose.project, whose.key, whose.client, self.name, status, code), seconds
        )

    def read(self, request: HttpRequest, caller: Caller) -> HttpResponse:
        """Answer the caller; the endpoint's own part."""
        raise NotImplementedError


def endpoint_names() -> list[str]:
    """Return the names of the endpoints that have something to read."""
    return sorted(endpoint.name for endpoint in Endpoint.__subclasses__() if "read" in vars(endpoint))


def unexpected_error(error: Exception) -> ApiError:
    """Return what a caller learns of a failure: that something behind the endpoint is down, or nothing at all."""
    if isinstance(error, SourceFailed | DatabaseError):
        log.warning("Something behind /v1 is down.", exc_info=error)
        return ApiError("upstream_unavailable", "The service behind this endpoint is down. Retry shortly.")
    log.error("A /v1 call failed.", exc_info=error)
    return ApiError("internal_error", "The service failed. Try again.")


def require_scope(caller: Caller, scopes: tuple[str, ...]) -> None:
    """Refuse a caller with none of `scopes`, naming them."""
    if not caller.scopes.intersection(scopes):
        raise ApiError("insufficient_scope", f"This needs one of the scopes: {', '.join(scopes)}.", scopes)


class MeView(Endpoint):
    """GET /v1/me: the caller's profile."""

    name = "me"

    @extend_schema(**schema.ME_OPERATION)
    def get(self, request: Request) -> HttpResponse:
        """Read the profile of the caller's account."""
        raise NotImplementedError  # for the schema: dispatch answers

    def read(self, request: HttpRequest, caller: Caller) -> HttpResponse:
        require_scope(caller, accepted_scopes(caller))
        response = JsonResponse(profile_for(caller))
        response["Cache-Control"] = "no-store"
        return response


class PlanView(Endpoint):
    """GET /v1/me/plan: the caller's plan and entitlements."""

    name = "me/plan"

    @extend_schema(**schema.PLAN_OPERATION)
    def get(self, request: Request) -> HttpResponse:
        """Read the plan of the caller's account."""
        raise NotImplementedError  # for the schema: dispatch answers

    def read(self, request: HttpRequest, caller: Caller) -> HttpResponse:
        require_scope(caller, (ACCOUNT_READ,))
        plan = plan_sources.plan_source().plan(caller.account)
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


class Nowhere(Endpoint):
    """Any path under /v1 that is no endpoint: 404, whatever the method, and counted for whoever called it."""

    name = NOWHERE

    def misfit(self, request: HttpRequest) -> ApiError:
        return ApiError("not_found", "There is no such endpoint.")
