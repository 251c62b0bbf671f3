"""OpenAPI descriptions of each endpoint: bodies, headers, examples and errors.

`not_found` belongs to no endpoint; the description of the document explains it.
"""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, inline_serializer
from rest_framework import serializers

from api.authentication import BearerAuthentication
from api.errors import ERRORS
from core.http.responses import envelope

_STATES = ["Trial", "Active", "PastDue", "CancelledPeriodActive", "Cancelled", "Expired", "free"]


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Describes the credential of all views that have BearerAuthentication."""

    target_class = BearerAuthentication
    name = "bearer"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer"}


class ErrorDetailSerializer(serializers.Serializer):  # type: ignore[type-arg]
    code = serializers.ChoiceField(choices=sorted(ERRORS))
    message = serializers.CharField(help_text="A text for people, which may change.")


class ErrorSerializer(serializers.Serializer):  # type: ignore[type-arg]
    error = ErrorDetailSerializer()


class ProfileSerializer(serializers.Serializer):  # type: ignore[type-arg]
    id = serializers.CharField(max_length=64, help_text="The person's user id for the caller's project; equals `sub`.")
    email = serializers.EmailField(required=False, help_text="With scope `email` or `account.read`.")
    email_verified = serializers.BooleanField(required=False, help_text="With scope `email` or `account.read`.")
    name = serializers.CharField(required=False, allow_blank=True, help_text="With scope `profile` or `account.read`.")
    given_name = serializers.CharField(
        required=False, allow_blank=True, help_text="With scope `profile` or `account.read`."
    )
    family_name = serializers.CharField(
        required=False, allow_null=True, help_text="With scope `profile` or `account.read`."
    )
    picture = serializers.URLField(required=False, allow_null=True, help_text="With scope `profile` or `account.read`.")


class EntitlementSerializer(serializers.Serializer):  # type: ignore[type-arg]
    status = serializers.ChoiceField(choices=["granted", "granted_with_limit", "denied"])
    limit = serializers.FloatField(allow_null=True)
    unit = serializers.CharField(allow_null=True)


class PlanSerializer(serializers.Serializer):  # type: ignore[type-arg]
    plan_id = serializers.CharField()
    plan_display_name = serializers.CharField()
    source = serializers.ChoiceField(  # type: ignore[assignment]  # DRF has a keyword of this name
        choices=["own", "family", "organization", "free"]
    )
    state = serializers.ChoiceField(choices=_STATES)
    read_only = serializers.BooleanField(  # type: ignore[assignment]
        help_text="True while a lapsed plan is in its read-only window."
    )
    cache_max_age = serializers.IntegerField(min_value=0, help_text="Seconds for which the response may be cached.")
    apps = serializers.ListField(child=serializers.CharField())
    addons = serializers.DictField(
        child=inline_serializer("Addon", {"quantity": serializers.IntegerField(min_value=1)}), allow_null=True
    )
    entitlements = serializers.DictField(child=EntitlementSerializer())


def error_example(code: str) -> dict[str, Any]:
    """Return the body of an error as the document and the docs show it."""
    return envelope(code, ERRORS[code][1])


def _errors(*codes: str) -> dict[int, OpenApiResponse]:
    """Return a response for each status of `codes`, with an example for each code."""
    by_status: dict[int, list[str]] = {}
    for code in codes:
        by_status.setdefault(ERRORS[code][0], []).append(code)
    return {
        status: OpenApiResponse(
            ErrorSerializer,
            description=" ".join(f"`{code}`: {ERRORS[code][1]}" for code in found),
            examples=[OpenApiExample(code, value=error_example(code)) for code in found],
        )
        for status, found in by_status.items()
    }


def _header(name: str, description: str, statuses: list[str], kind: type = int) -> OpenApiParameter:
    return OpenApiParameter(
        name, kind, OpenApiParameter.HEADER, description=description, response=[int(status) for status in statuses]
    )


_ERROR_STATUSES = sorted({str(status) for status, _ in ERRORS.values()})
_COUNTED = ["200", "304", "403", "405", "429", "500", "502"]
_HEADERS = [
    _header("RateLimit-Limit", "Calls per minute under the tightest limit.", _COUNTED),
    _header("RateLimit-Remaining", "Calls left in this minute.", _COUNTED),
    _header("RateLimit-Reset", "Seconds until the minute ends.", _COUNTED),
    _header("Retry-After", "Seconds to wait, 1 to 60.", ["429"]),
    _header("Allow", "The methods that the endpoint has.", ["405"], str),
    _header("X-Request-ID", "Identifies this call in the request log.", ["200", *_ERROR_STATUSES], str),
    _header("Link", 'The documentation of the error, with `rel="help"`.', _ERROR_STATUSES, str),
    _header("WWW-Authenticate", "RFC 6750 challenge; on 403 with the scopes that would work.", ["401", "403"], str),
]
_COMMON = (
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

ME_OPERATION: dict[str, Any] = {
    "operation_id": "read_me",
    "summary": "Read the profile",
    "description": "An API key needs `account.read`; an access token needs `profile` or `email`. The scopes decide "
    "which fields are returned.",
    "parameters": _HEADERS,
    "responses": {
        200: OpenApiResponse(
            ProfileSerializer,
            description="The profile.",
            examples=[
                OpenApiExample(
                    "All fields",
                    value={
                        "id": "gJ8VxZ0mWq3nT5rY7uB1cD2eF4hK6sLp",
                        "email": "ada@example.com",
                        "email_verified": True,
                        "name": "Ada Lovelace",
                        "given_name": "Ada",
                        "family_name": "Lovelace",
                        "picture": None,
                    },
                )
            ],
        )
    }
    | _errors(*_COMMON),
}
PLAN_OPERATION: dict[str, Any] = {
    "operation_id": "read_my_plan",
    "summary": "Read the plan",
    "description": "Needs `account.read`; apps get it after a review. The response may be cached for `cache_max_age` "
    "seconds; send the ETag back as If-None-Match to get a 304.",
    "parameters": [
        *_HEADERS,
        OpenApiParameter("If-None-Match", str, OpenApiParameter.HEADER, description="The ETag of an earlier response."),
        _header("ETag", "Identifies this response.", ["200", "304"], str),
    ],
    "responses": {
        200: OpenApiResponse(
            PlanSerializer,
            description="The plan.",
            examples=[
                OpenApiExample(
                    "A seat in an organization",
                    value={
                        "plan_id": "plus",
                        "plan_display_name": "Plus",
                        "source": "organization",
                        "state": "Active",
                        "read_only": False,
                        "cache_max_age": 300,
                        "apps": ["notes", "calendar"],
                        "addons": {"extra_storage": {"quantity": 2}},
                        "entitlements": {"storage": {"status": "granted_with_limit", "limit": 200, "unit": "GB"}},
                    },
                ),
                OpenApiExample(
                    "No paid plan",
                    value={
                        "plan_id": "free",
                        "plan_display_name": "Free",
                        "source": "free",
                        "state": "free",
                        "read_only": False,
                        "cache_max_age": 300,
                        "apps": [],
                        "addons": None,
                        "entitlements": {},
                    },
                ),
            ],
        ),
        304: OpenApiResponse(description="The response with that ETag is still current."),
    }
    | _errors(*_COMMON),
}
