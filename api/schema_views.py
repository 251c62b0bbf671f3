"""The OpenAPI document, and the metadata of the protected resource (RFC 9728)."""

import functools
import json
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import AllowAny
from rest_framework.request import Request

from api import errors, resource_metadata
from api.endpoint import Endpoint
from core.http import responses
from core.http.headers import allow_any_origin, is_preflight, preflight_answer
from core.http.split_hosts import name_of
from core.serving.documents import document
from core.settings_changes import forget_with_settings
from oidc.apis.registry import current_registry

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


forget_with_settings(_document.cache_clear)
forget_with_settings(openapi_document.cache_clear)


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


@document("/.well-known/oauth-protected-resource")
def metadata(request: HttpRequest, rest: str | None = None) -> HttpResponse:
    """GET /.well-known/oauth-protected-resource: the document about `/v1`, or about an API on this service's hosts.

    The one about `/v1` is built from settings, without a database. Libraries may add a slash to the resource.
    """
    path = (rest or "").removesuffix("/")
    if responses.is_about(settings.BASE_URL, path):
        api = None
    else:
        api = resource_metadata.find_api(current_registry(), name_of(request), path)
        if api is None:
            raise Http404
    if is_preflight(request):
        return preflight_answer(request, ("GET",))
    if request.method not in errors.METHODS:
        return errors.ErrorResponse(errors.wrong_method())
    found = resource_metadata.metadata_of(api) if api else resource_metadata.metadata_of_account_api()
    response = JsonResponse(found)
    allow_any_origin(response, errors.EXPOSED_HEADERS)
    response["Cache-Control"] = f"public, max-age={resource_metadata.MAX_AGE}"
    return response
