"""The OpenAPI document, and a page to try it on, from the package's own bundled files."""

from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from drf_spectacular.views import SpectacularJSONAPIView, SpectacularSwaggerSplitView

from api import errors
from devportal.lib.cors import allow_any_origin, is_preflight, preflight_answer

SCHEMA_MAX_AGE = 3600


class Document(SpectacularJSONAPIView):
    """GET /v1/openapi.json."""

    urlconf = "api.urls"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if is_preflight(request):
            return preflight_answer(("GET",))
        if request.method != "GET":
            refusal = errors.answer(errors.ApiError("method_not_allowed", "Use GET."))
            refusal["Allow"] = "GET"
            return refusal
        response = super().dispatch(request, *args, **kwargs)
        allow_any_origin(response, errors.EXPOSED)
        response["Cache-Control"] = f"public, max-age={SCHEMA_MAX_AGE}"
        return response


class TryIt(SpectacularSwaggerSplitView):
    """GET /docs/api/: its script comes from an address of its own, because the policy allows none inline."""

    template_name = "api/try_it.html"
    template_name_js = "drf_spectacular/swagger_ui.js"


document = Document.as_view()
try_it = TryIt.as_view(url_name="openapi")
