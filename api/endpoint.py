"""/v1: the endpoints, and the policies that they share.

Each policy is declared on the view, as in Django REST framework: authentication (api/authentication.py), limits and
scopes (api/throttling.py). api/errors.py turns their exceptions into responses.
"""

import functools
import time
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import APIException, NotAuthenticated, PermissionDenied
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.permissions import BasePermission, IsAuthenticated
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from api import errors, finished_calls, throttling, usage_counts
from api.authentication import BearerAuthentication, Caller, RejectedCredential, owner_of_unproven
from api.deprecation import Deprecation
from api.errors import ApiError
from core.http import client_ip
from core.http.headers import allow_any_origin, is_preflight, preflight_answer
from core.http.responses import FixedHeaders

# Calls of all unknown paths are counted together under this endpoint name.
UNKNOWN_ENDPOINT = "(none)"
_NO_STORE = FixedHeaders({"Cache-Control": "no-store"})


class JSONNegotiation(BaseContentNegotiation):
    """Always use JSON, whatever the caller accepts."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser:
        return next(iter(parsers))

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, renderer.media_type


@functools.lru_cache(maxsize=64)
def _instances(classes: tuple[type[Any], ...]) -> list[Any]:
    return [each() for each in classes]


class Endpoint(APIView):
    """The base of all endpoints: policies, the order of refusals, usage, CORS."""

    name = ""  # the name that its calls are counted under
    http_method_names = [method.lower() for method in errors.METHODS]
    authentication_classes: Sequence[type[BaseAuthentication]] = (BearerAuthentication,)
    throttle_classes: Sequence[type[BaseThrottle]] = (throttling.CallThrottle,)
    permission_classes: Sequence[type[BasePermission]] = (IsAuthenticated,)
    content_negotiation_class = JSONNegotiation
    required_scopes: tuple[str, ...] = ()  # an access token needs one of them (HasScope)
    required_permissions: tuple[str, ...] = ()  # an API key needs one of them
    deprecation: Deprecation | None = None  # with `deprecated=True` in its OpenAPI description

    format_kwarg = None  # no path has a suffix
    started = 0.0
    owner: usage_counts.CallOwner | None = None  # the call is logged for this caller; None: it is not logged
    throttles: list[BaseThrottle] = []

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer a preflight, which does not count as a call, or a call."""
        if is_preflight(request):
            return preflight_answer(request, ("GET",))
        self.started = time.perf_counter()
        try:
            return super().dispatch(request, *args, **kwargs)
        finally:
            self._untie()

    def _untie(self) -> None:
        """Break reference cycles: from the view to its `head`, and from the request to itself through its context.

        Without cycles a call is freed immediately; the garbage collector would take longer than the view.
        """
        vars(self).pop("head", None)
        self.request.parser_context.clear()

    @property
    def default_response_headers(self) -> dict[str, str]:
        """Return no headers: only a 405 lists the allowed methods."""
        return {}

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        """Keep values that every call reads several times: through the wrapper each read is a failed look-up."""
        wrapped = super().initialize_request(request, *args, **kwargs)
        wrapped.META, wrapped.method, wrapped.path = request.META, request.method, request.path
        return wrapped

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Check in the order that docs/api.md promises: limits, path and method, credential, scopes."""
        if self.content_negotiation_class is not JSONNegotiation:
            request.accepted_renderer, request.accepted_media_type = self.perform_content_negotiation(request)
        if self.versioning_class is not None:
            request.version, request.versioning_scheme = self.determine_version(request, *args, **kwargs)
        try:
            self.perform_authentication(request)
        except APIException as refusal:
            if refusal.status_code != 429:
                self.check_route(request)
            raise
        self.check_throttles(request)
        self.check_route(request)
        self.check_permissions(request)

    def perform_authentication(self, request: Request) -> None:
        """Authenticate the caller, and note for whom the call is counted.

        Unknown credentials are limited on every path, so that no path allows unlimited guesses. `request.user` would
        also authenticate at first use, but only after a failed look-up, which is slow.
        """
        request.user = request.auth = None  # type: ignore[assignment]  # the setting UNAUTHENTICATED_USER
        try:
            for authenticator in request.authenticators or ():
                if found := authenticator.authenticate(request):
                    request.user, request.auth = found  # type: ignore[assignment]
                    break
        except RejectedCredential as refused:
            self.owner = usage_counts.CallOwner(refused.project, refused.key, refused.client)
            raise
        except APIException as refusal:
            if refusal.status_code == 401:
                throttling.count_invalid_credential(request)
                self.owner = owner_of_unproven(refusal)
            raise
        caller = request.auth
        if isinstance(caller, Caller):
            self.owner = usage_counts.CallOwner(caller.project.pk, caller.key, caller.client, caller.subject.sub)

    def permission_denied(self, request: Request, message: str | None = None, code: str | None = None) -> NoReturn:
        """Ask for a credential if none was sent and one would help; refuse all others."""
        if request.authenticators and request.user is None:
            raise NotAuthenticated
        raise PermissionDenied(message, code)

    def check_route(self, request: Request) -> None:
        """Refuse a request that nobody may make: a wrong method, or for `UnknownEndpoint` the path."""
        if request.method not in errors.METHODS:
            raise errors.wrong_method()

    def get_authenticators(self) -> list[BaseAuthentication]:
        """Return the instances of the authentication classes, which store nothing about a call."""
        return _instances(tuple(self.authentication_classes))

    def get_permissions(self) -> list[BasePermission]:
        """Return the instances of the permission classes, which store nothing about a call."""
        return _instances(tuple(self.permission_classes))

    def get_throttles(self) -> list[BaseThrottle]:
        """Keep the throttles of this call: the response reports their counts."""
        self.throttles = super().get_throttles()
        return self.throttles

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Add the headers of all responses, and log and count the call."""
        response = super().finalize_response(request, response, *args, **kwargs)
        allow_any_origin(response, errors.EXPOSED_HEADERS)
        for throttle in self.throttles:
            if isinstance(throttle, throttling.CallThrottle):
                throttle.set_headers(response)
        if self.deprecation is not None:
            self.deprecation.add_headers(response)
        if self.owner is not None:
            self._count(request, self.owner, response)
        return response

    def _count(self, request: Request, owner: usage_counts.CallOwner, response: HttpResponseBase) -> None:
        refused = response if isinstance(response, errors.ErrorResponse) else None
        finished_calls.record(
            finished_calls.FinishedCall(
                owner,
                endpoint=self.name,
                method=request.method or "",
                path=request.path,
                status=response.status_code,
                code=refused.code if refused else "",
                address=client_ip.current() if owner.key and owner.project is not None else "",
                facts=refused.facts if refused else None,
            ),
            time.perf_counter() - self.started,
        )


# The endpoints that callers read their data from.
ENDPOINTS: list[type[Endpoint]] = []


def data_endpoint(endpoint: type[Endpoint]) -> type[Endpoint]:
    """Register a view as an endpoint that callers read their data from: for logs, usage, reviews and the playground."""
    ENDPOINTS.append(endpoint)
    return endpoint


def endpoint_names() -> list[str]:
    """Return the names of the registered endpoints."""
    return sorted(endpoint.name for endpoint in ENDPOINTS)


def endpoints_with_scope(scope: str) -> list[str]:
    """Return the names of the endpoints that an access token with this scope may call."""
    return sorted(endpoint.name for endpoint in ENDPOINTS if scope in endpoint.required_scopes)


class UnknownEndpoint(Endpoint):
    """Any other path under `/v1`: 404 for every method, counted in the caller's usage and limits."""

    name = UNKNOWN_ENDPOINT

    def check_route(self, request: Request) -> None:
        """Refuse every call."""
        raise ApiError("not_found", "There is no such endpoint.")
