"""/v1: parse, ask, answer."""

import logging
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views import View

from api import errors
from api.callers import Caller, identify, require_any
from api.errors import ApiError
from api.profile import profile_for
from devportal.lib.cors import allow_any_origin, is_preflight, preflight_answer

log = logging.getLogger(__name__)


class Endpoint(View):
    """What every endpoint shares: preflights, one envelope for errors, CORS on every answer."""

    http_method_names = ["get"]

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if is_preflight(request):
            return preflight_answer(("GET",))
        if request.method != "GET":
            response = errors.answer(ApiError("method_not_allowed", "Use GET."))
            response["Allow"] = "GET"
            return response
        try:
            response = self.read(identify(request))
        except ApiError as error:
            return errors.answer(error)
        except Exception:
            log.exception("A /v1 call failed.")
            return errors.answer(ApiError("internal_error", "The service failed. Try again."))
        allow_any_origin(response, errors.EXPOSED)
        return response

    def read(self, caller: Caller) -> HttpResponse:
        """Answer the caller; the endpoint's own part."""
        raise NotImplementedError


class Me(Endpoint):
    """GET /v1/me: the caller's profile."""

    def read(self, caller: Caller) -> HttpResponse:
        require_any(caller, "profile", "email")
        response = JsonResponse(profile_for(caller))
        response["Cache-Control"] = "no-store"
        return response
