"""The OpenAPI document, and a page to try it on, from the package's own bundled files."""

import functools
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer
from drf_spectacular.views import SpectacularSwaggerSplitView

from api import errors
from api.views import Endpoint
from devportal.lib.cors import allow_any_origin

SCHEMA_MAX_AGE = 3600


@functools.cache
def _document() -> bytes:
    """Return the document; it depends on the code and the settings alone, so it is made once."""
    generator = SchemaGenerator(urlconf="api.urls")  # type: ignore[no-untyped-call]
    schema = generator.get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    rendered: bytes = OpenApiJsonRenderer().render(schema, renderer_context={})
    return rendered


class Document(Endpoint):
    """GET /v1/openapi.json: for everybody, and no query changes it. Another method is refused as everywhere."""

    name = "openapi.json"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method not in errors.METHODS:
            return super().dispatch(request, *args, **kwargs)
        response = HttpResponse(_document(), content_type="application/json")
        allow_any_origin(response, errors.EXPOSED_HEADERS)
        response["Cache-Control"] = f"public, max-age={SCHEMA_MAX_AGE}"
        return response


class TryItView(SpectacularSwaggerSplitView):
    """GET /docs/api/: its script comes from an address of its own, because the policy allows none inline."""

    template_name = "api/try_it.html"
    template_name_js = "drf_spectacular/swagger_ui.js"


try_it = TryItView.as_view(url_name="openapi")
