"""GET /v1/me: the profile of the caller's account (docs/api.md)."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiExample, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from accounts.profile import sources
from api.authentication import Caller
from api.endpoint import Endpoint, data_endpoint
from api.schema import COMMON_ERRORS, HEADERS
from api.throttling import HasScope
from core.http.responses import FixedHeaders, json_response
from oidc.apis.registry import ACCOUNT_READ
from oidc.apis.scopes import ACCOUNT_READ_CLAIMS, CLAIM_SCOPES

_NO_STORE = FixedHeaders({"Cache-Control": "no-store"})


def scopes_of_fields(claim_scopes: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """Return for each field the scopes that return it: the claim's scopes, and `account.read` if it includes it."""
    return {
        claim: frozenset({scope, ACCOUNT_READ} if claim in ACCOUNT_READ_CLAIMS else {scope})
        for claim, scope in claim_scopes.items()
    }


_SCOPES = scopes_of_fields(CLAIM_SCOPES)


def profile_for(caller: Caller) -> dict[str, Any]:
    """Return `id` and exactly the fields that the caller's scopes allow; fields without a value are null.

    Raises accounts.profile.sources.SourceFailed.
    """
    profile = sources.profile_source().profile(caller.account, caller.subject.picture_key)
    allowed = {name: getattr(profile, name) for name, scopes in _SCOPES.items() if scopes & caller.scopes}
    return {"id": caller.subject.sub} | allowed


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


OPERATION: dict[str, Any] = {
    "operation_id": "read_me",
    "summary": "Read the profile",
    "description": "An API key needs `account.read`; an access token needs `profile` or `email`. The scopes decide "
    "which fields are returned.",
    "parameters": HEADERS,
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
    | COMMON_ERRORS,
}


@data_endpoint
class MeView(Endpoint):
    """GET /v1/me: the caller's profile."""

    name = "me"
    permission_classes = (HasScope,)
    required_scopes = ("profile", "email")
    required_permissions = (ACCOUNT_READ,)

    @extend_schema(**OPERATION)
    def get(self, request: Request) -> HttpResponse:
        """Read the profile of the caller's account."""
        caller = request.auth
        assert isinstance(caller, Caller)  # HasScope lets nobody else pass
        response = json_response(profile_for(caller))
        _NO_STORE.set_on(response)
        return response
