"""The OpenAPI document."""

import functools
import json
from typing import Any

from django.http import HttpResponse
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import AllowAny
from rest_framework.request import Request

from api import errors
from api.views import Endpoint

SCHEMA_MAX_AGE = 3600


@functools.cache
def _document() -> bytes:
    """Return the OpenAPI document as JSON; cached, since it depends only on code and settings."""
    generator = SchemaGenerator(urlconf="api.urls")  # type: ignore[no-untyped-call]
    schema = generator.get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    rendered: bytes = OpenApiJsonRenderer().render(schema, renderer_context={})
    return rendered


@functools.cache
def openapi_document() -> dict[str, Any]:
    """Return the OpenAPI document, for a page that shows its content."""
    document: dict[str, Any] = json.loads(_document())
    return document


class SchemaView(Endpoint):
    """GET /v1/openapi.json: the OpenAPI document, without authentication; other methods are 405."""

    name = "openapi.json"
    permission_classes = (AllowAny,)
    schema = None  # the document does not list itself

    def get_authenticators(self) -> list[BaseAuthentication]:
        """Require no credential for reading, so that nothing is counted; a wrong method is counted as usual."""
        return [] if self.request.method in errors.METHODS else super().get_authenticators()

    def get(self, request: Request) -> HttpResponse:
        """Read this document."""
        response = HttpResponse(_document(), content_type="application/json")
        response["Cache-Control"] = f"public, max-age={SCHEMA_MAX_AGE}"
        return response
