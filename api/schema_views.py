"""The OpenAPI document, and a page to try it on, from the package's own bundled files."""

import functools

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer
from drf_spectacular.views import SpectacularSwaggerSplitView

from api import errors
from devportal.lib.cors import allow_any_origin, is_preflight, preflight_answer

SCHEMA_MAX_AGE = 3600


@functools.cache
def _document() -> bytes:
    """Return the document; it depends on the code and the settings alone, so it is made once."""
    generator = SchemaGenerator(urlconf="api.urls")  # type: ignore[no-untyped-call]
    schema = generator.get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    rendered: bytes = OpenApiJsonRenderer().render(schema, renderer_context={})
    return rendered


@csrf_exempt
def document(request: HttpRequest) -> HttpResponse:
    """GET /v1/openapi.json; no query changes it."""
    if is_preflight(request):
        return preflight_answer(("GET",))
    if request.method != "GET":
        refusal = errors.answer(errors.ApiError("method_not_allowed", "Use GET."))
        refusal["Allow"] = "GET"
        return refusal
    response = HttpResponse(_document(), content_type="application/json")
    allow_any_origin(response, errors.EXPOSED)
    response["Cache-Control"] = f"public, max-age={SCHEMA_MAX_AGE}"
    return response


class TryIt(SpectacularSwaggerSplitView):
    """GET /docs/api/: its script comes from an address of its own, because the policy allows none inline."""

    template_name = "api/try_it.html"
    template_name_js = "drf_spectacular/swagger_ui.js"


try_it = TryIt.as_view(url_name="openapi")
