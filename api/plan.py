"""GET /v1/me/plan: the plan and entitlements of the caller's account (docs/api.md)."""

import hashlib
import json
from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request

from accounts.models.plans import State
from accounts.plans.resolution import plan_source
from api.authentication import Caller
from api.endpoint import Endpoint, data_endpoint
from api.schema import COMMON_ERRORS, HEADERS, header
from api.throttling import HasScope
from oidc.apis.registry import ACCOUNT_READ


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
    state = serializers.ChoiceField(choices=State.values)
    read_only = serializers.BooleanField(  # type: ignore[assignment]
        help_text="True while a lapsed plan is in its read-only window."
    )
    cache_max_age = serializers.IntegerField(min_value=0, help_text="Seconds for which the response may be cached.")
    apps = serializers.ListField(child=serializers.CharField())
    addons = serializers.DictField(
        child=inline_serializer("Addon", {"quantity": serializers.IntegerField(min_value=1)}), allow_null=True
    )
    entitlements = serializers.DictField(child=EntitlementSerializer())


OPERATION: dict[str, Any] = {
    "operation_id": "read_my_plan",
    "summary": "Read the plan",
    "description": "Needs `account.read`; apps get it after a review. The response may be cached for `cache_max_age` "
    "seconds; send the ETag back as If-None-Match to get a 304.",
    "parameters": [
        *HEADERS,
        OpenApiParameter("If-None-Match", str, OpenApiParameter.HEADER, description="The ETag of an earlier response."),
        header("ETag", "Identifies this response.", ["200", "304"], str),
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
    | COMMON_ERRORS,
}


@data_endpoint
class PlanView(Endpoint):
    """GET /v1/me/plan: the caller's plan and entitlements."""

    name = "me/plan"
    permission_classes = (HasScope,)
    required_scopes = (ACCOUNT_READ,)
    required_permissions = (ACCOUNT_READ,)

    @extend_schema(**OPERATION)
    def get(self, request: Request) -> HttpResponse:
        """Read the plan of the caller's account."""
        assert isinstance(request.auth, Caller)  # HasScope lets nobody else pass
        plan = plan_source().plan(request.auth.account)
        body = json.dumps(plan)
        etag = f'"{hashlib.sha256(body.encode()).hexdigest()[:32]}"'
        given = request.headers.get("If-None-Match", "")
        unchanged = etag in {tag.strip().removeprefix("W/") for tag in given.split(",")} or given.strip() == "*"
        response = (
            HttpResponse(status=304, content_type="application/json")
            if unchanged
            else HttpResponse(body, content_type="application/json")
        )
        response["ETag"] = etag
        response["Cache-Control"] = f"private, max-age={plan['cache_max_age']}"
        response["Vary"] = "Authorization"
        return response
