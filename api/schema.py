"""Parts that the OpenAPI descriptions of all endpoints share: the credentials, errors and headers.

`not_found` belongs to no endpoint; the description of the document explains it.
"""

from typing import Any

from django.conf import settings
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse
from rest_framework import serializers

from api.authentication import BearerAuthentication
from api.errors import ERRORS
from core.http.responses import envelope
from oidc.apis.scopes import scopes_of_account_api

BEARER, OAUTH2 = "bearer", "oauth2"


class CredentialSchemes(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Describes the credentials of all views that have BearerAuthentication.

    `bearer` is an API key or an access token. `oauth2` says how to get an access token, and with which scopes.
    """

    target_class = BearerAuthentication
    name = [BEARER, OAUTH2]

    def get_security_requirement(self, auto_schema: AutoSchema) -> list[dict[str, list[str]]]:
        """Return the alternatives: a bearer credential, or a token with one of the scopes that the view accepts."""
        return [{BEARER: []}, *({OAUTH2: [scope]} for scope in getattr(auto_schema.view, "required_scopes", ()))]

    def get_security_definition(self, auto_schema: AutoSchema) -> list[dict[str, Any]]:
        token_url = f"{settings.AUTH_URL}/connect/token"
        code_flow = {
            "authorizationUrl": f"{settings.AUTH_URL}/connect/authorize",
            "tokenUrl": token_url,
            "refreshUrl": token_url,
            "scopes": {scope.name: scope.title for scope in scopes_of_account_api()},
        }
        return [
            {
                "type": "http",
                "scheme": "bearer",
                "description": "An API key, or an access token from a sign-in.",
            },
            {
                "type": "oauth2",
                "description": "Sign-in of a person, with PKCE (S256) for every client. Every request needs `openid`.",
                "flows": {"authorizationCode": code_flow},
            },
        ]


class ErrorDetailSerializer(serializers.Serializer):  # type: ignore[type-arg]
    code = serializers.ChoiceField(choices=sorted(ERRORS))
    message = serializers.CharField(help_text="A text for people, which may change.")


class ErrorSerializer(serializers.Serializer):  # type: ignore[type-arg]
    error = ErrorDetailSerializer()


def error_example(code: str) -> dict[str, Any]:
    """Return the body of an error as the document and the docs show it."""
    return envelope(code, ERRORS[code].summary)


def error_responses(*codes: str) -> dict[int, OpenApiResponse]:
    """Return a response for each status of `codes`, with an example for each code."""
    by_status: dict[int, list[str]] = {}
    for code in codes:
        by_status.setdefault(ERRORS[code].status, []).append(code)
    return {
        status: OpenApiResponse(
            ErrorSerializer,
            description=" ".join(f"`{code}`: {ERRORS[code].summary}" for code in found),
            examples=[OpenApiExample(code, value=error_example(code)) for code in found],
        )
        for status, found in by_status.items()
    }


def header(name: str, description: str, statuses: list[str], kind: type = int) -> OpenApiParameter:
    return OpenApiParameter(
        name, kind, OpenApiParameter.HEADER, description=description, response=[int(status) for status in statuses]
    )


_ERROR_STATUSES = sorted({str(error.status) for error in ERRORS.values()})
_COUNTED = ["200", "304", "403", "405", "429", "500", "502"]
HEADERS = [
    header("RateLimit-Limit", "Requests per minute under the tightest limit.", _COUNTED),
    header("RateLimit-Remaining", "Calls left in this minute.", _COUNTED),
    header("RateLimit-Reset", "Seconds until the minute ends.", _COUNTED),
    header("Retry-After", "Seconds to wait, 1 to 60.", ["429"]),
    header("Allow", "The methods that the endpoint has.", ["405"], str),
    header("X-Request-ID", "Identifies this call in the request log.", ["200", *_ERROR_STATUSES], str),
    header("Link", 'The documentation of the error, with `rel="help"`.', _ERROR_STATUSES, str),
    header("WWW-Authenticate", "RFC 6750 challenge; on 403 with the scopes that would work.", ["401", "403"], str),
]
COMMON_ERRORS = error_responses(
    "unauthenticated",
    "invalid_api_key",
    "invalid_token",
    "project_suspended",
    "insufficient_scope",
    "method_not_allowed",
    "rate_limited",
    "internal_error",
    "upstream_unavailable",
)
