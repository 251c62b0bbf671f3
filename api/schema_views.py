"""The OpenAPI document, and Swagger UI from the files that its package bundles."""

import functools
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import exception_handler

from api import errors
from api.views import Endpoint
from devportal.lib import split_hosts
from devportal.lib.headers import policy_with
from oidc.clients.redirect_uris import origin_of

SCHEMA_MAX_AGE = 3600


@functools.cache
def _document() -> bytes:
    """Return the OpenAPI document as JSON; cached, since it depends on code and settings only."""
    generator = SchemaGenerator(urlconf="api.urls")  # type: ignore[no-untyped-call]
    schema = generator.get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    rendered: bytes = OpenApiJsonRenderer().render(schema, renderer_context={})
    return rendered


class SchemaView(Endpoint):
    """GET /v1/openapi.json: the OpenAPI document, without authentication; other methods are 405."""

    name = "openapi.json"
    permission_classes = (AllowAny,)
    schema = None  # it does not list itself

    def get_authenticators(self) -> list[BaseAuthentication]:
        """Ask nobody who reads it for a credential, and so count nothing; a refused method is counted as everywhere."""
        return [] if self.request.method in errors.METHODS else super().get_authenticators()

    def get(self, request: Request) -> HttpResponse:
        """Read this document."""
        response = HttpResponse(_document(), content_type="application/json")
        response["Cache-Control"] = f"public, max-age={SCHEMA_MAX_AGE}"
        return response


class TryItView(SpectacularSwaggerSplitView):
    """GET /docs/api/: Swagger UI, its script at a URL of its own: the Content-Security-Policy forbids inline script."""

    template_name = "api/try_it.html"
    template_name_js = "drf_spectacular/swagger_ui.js"

    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Answer with the page or its script; where the API has a host of its own, the page may call that."""
        response: Response = super().get(request, *args, **kwargs)  # type: ignore[no-untyped-call]
        if self._get_schema_url(request).startswith("http"):
            response.headers["Content-Security-Policy"] = policy_with("connect-src", [origin_of(settings.BASE_URL)])
        return response

    def _get_schema_url(self, request: Request) -> str:
        url: str = super()._get_schema_url(request)  # type: ignore[no-untyped-call]
        return split_hosts.link(url, request)

    def get_exception_handler(self) -> Callable[..., Any]:
        """Return Django REST framework's own: this is a page, and the envelope is for programs."""
        return exception_handler


try_it = TryItView.as_view(url_name="openapi")
