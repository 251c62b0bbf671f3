"""oauthlib's request validator (OAUTH2_VALIDATOR_CLASS), which adapts its methods to the modules of this package.

oauthlib's request object has the attributes `client`, `user`, `scopes` and `access_token`. This module adds two:
`presented`, the PresentedCredentials read by authenticate_client, and `granted`, the scopes of the code or refresh
token. A rejected request raises a TokenRefusal.
"""

import json
from typing import Any

from django.conf import settings
from oauth2_provider.oauth2_validators import OAuth2Validator

from core import clock
from core.http import client_ip
from core.telemetry import metrics
from oidc import limits, scopes, sign_in_steps
from oidc.clients import authentication, lookup
from oidc.errors import InvalidToken, TokenRefusal
from oidc.models import AuthorizationCode, Client, RefreshToken
from oidc.reasons import Reason
from oidc.scopes import claims_for
from oidc.server import REVOKE_PATH
from oidc.sign_in_steps import Step
from oidc.tokens import access_tokens, codes, families, jwt, refresh_tokens, store


class Validator(OAuth2Validator):  # type: ignore[misc]
    """The validator. docs/library.md#django-oauth-toolkit-and-oauthlib says why each method is overridden."""

    # --- Clients ---

    def _load_application(self, client_id: str, request: Any) -> Client | None:
        client: Client | None = request.client
        if not isinstance(client, Client) or client.client_id != client_id:
            client = request.client = lookup.find_client(client_id)
        return client

    def client_authentication_required(self, request: Any, *args: Any, **kwargs: Any) -> bool:
        return True  # authenticate_client knows which clients have a secret

    def authenticate_client(self, request: Any, *args: Any, **kwargs: Any) -> bool:
        presented = authentication.authenticate_client(
            request.headers.get("Authorization"),
            request.client_id,
            request.client_secret,
            code=request.code,
            refresh_token=request.refresh_token if request.code is None else None,
            # A refresh token and its client id are enough to revoke the token (docs/sign-in.md#revocation).
            secret_optional=request.uri == REVOKE_PATH,
            address=client_ip.current(),
        )
        request.presented, request.client = presented, presented.client
        request.client_id = request.client.client_id
        return True

    # --- Code exchange ---

    def validate_code(self, client_id: str, code: str, client: Client, request: Any, *args: Any, **kwargs: Any) -> bool:
        return self._accept(codes.check_code(request.presented.credential), request)

    def get_code_challenge(self, code: str, request: Any) -> str:
        return str(request.presented.credential.code_challenge)

    def get_code_challenge_method(self, code: str, request: Any) -> str:
        return str(request.presented.credential.code_challenge_method)

    def confirm_redirect_uri(
        self,
        client_id: str,
        code: str,
        redirect_uri: str,
        client: Client,
        request: Any,
        *args: Any,
        **kwargs: Any,
    ) -> bool:
        if redirect_uri != request.presented.credential.redirect_uri:
            # RFC 6749 §5.2; the library says invalid_request.
            raise TokenRefusal(Reason.REDIRECT_URI_DIFFERS)
        return True

    def get_authorization_code_nonce(self, client_id: str, code: str, redirect_uri: str, request: Any) -> str | None:
        return request.presented.family.nonce or None

    def invalidate_authorization_code(self, client_id: str, code: str, request: Any, *args: Any, **kwargs: Any) -> None:
        pass  # consumed in _save_bearer_token, in the transaction that stores the tokens

    # --- Refresh ---

    def validate_refresh_token(
        self, refresh_token: str, client: Client, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        return self._accept(refresh_tokens.check_refresh_token(request.presented.credential), request)

    def get_original_scopes(self, refresh_token: str, request: Any, *args: Any, **kwargs: Any) -> list[str]:
        granted: list[str] = request.granted
        return granted

    def is_within_original_scope(
        self, request_scopes: list[str], refresh_token: str, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        # Called only if a requested scope was not granted.
        if "" in request_scopes:
            raise TokenRefusal(Reason.SCOPE_SPACES)
        # Libraries repeat the scopes of the authorization request with each refresh, so scopes that the person left out
        # are ignored (docs/sign-in.md#optional-scopes).
        left_out = set(request_scopes) - set(request.granted)
        request.scopes = [scope for scope in request_scopes if scope not in left_out]
        return left_out <= scopes.optional_scopes(request.client)

    def _accept(self, row: AuthorizationCode | RefreshToken, request: Any) -> bool:
        limits.count_client(request.client)
        family = row.family
        request.user = family.connection.account
        request.scopes = request.granted = families.effective_scopes(family)
        return True

    # --- Issuing ---

    def save_bearer_token(self, token: dict[str, Any], request: Any, *args: Any, **kwargs: Any) -> None:
        # This replaces the library's method, which opens a transaction: oidc/tokens/store.py opens one if needed.
        if scopes.OFFLINE_ACCESS not in request.granted:
            token.pop("refresh_token", None)
        if not store.consume_and_store(
            request.presented.credential, token["access_token"], token.get("refresh_token"), token["scope"]
        ):
            raise TokenRefusal(Reason.LOST_RACE)
        metrics.token_issued(request.grant_type)
        self._report_tokens(request)

    def _report_tokens(self, request: Any) -> None:
        step = Step.EXCHANGED if request.grant_type == "authorization_code" else Step.REFRESHED
        sign_in_steps.report(step, request.client.client_id, family=request.presented.credential.family_id)

    def finalize_id_token(self, id_token: dict[str, Any], token: Any, token_handler: Any, request: Any) -> str:
        family = request.presented.family
        connection = family.connection
        moment = clock.timestamp()
        claims = claims_for(connection.account, connection.subject, request.scopes)
        id_token |= claims | {
            "iss": settings.ISSUER,
            "iat": moment,
            "exp": moment + settings.ID_TOKEN_SECONDS,
            "auth_time": int(family.auth_time.timestamp()),
        }
        if family.told_authentication:
            id_token |= json.loads(family.told_authentication)
        return jwt.sign(id_token, jwt.ID_TOKEN_TYP)

    # --- Bearer tokens ---

    def validate_bearer_token(self, token: str, scopes: list[str], request: Any) -> bool:
        try:
            row = access_tokens.find_access_token(token or "")
        except InvalidToken as error:
            suspended = error.reason == Reason.PROJECT_SUSPENDED
            raise TokenRefusal(Reason.ACCESS_TOKEN_ENDED if suspended else error.reason) from error
        limits.count_client(row.family.connection.client)
        request.access_token = row
        request.client, request.user = row.family.connection.client, row.family.connection.account
        still = families.effective_scopes(row.family)
        request.scopes = [scope for scope in row.scope.split() if scope in still]
        return True

    def validate_jwt_bearer_token(self, token: str, scopes: list[str], request: Any) -> bool:
        return False  # an ID token is not accepted as an access token

    def get_userinfo_claims(self, request: Any) -> dict[str, Any]:
        connection = request.access_token.family.connection
        return claims_for(connection.account, connection.subject, request.scopes)

    # --- Revocation ---

    def revoke_token(self, token: str, token_type_hint: str | None, request: Any, *args: Any, **kwargs: Any) -> None:
        proven = request.presented.proven or not request.client.has_secret
        family = families.find_family_by_token(token, request.client.pk, access_tokens_too=proven)
        if family is not None:
            limits.count_client(request.client)
            if families.revoke_family(family, Reason.ENDED_REVOKED_BY_APP):
                sign_in_steps.report(Step.REVOKED, request.client.client_id, family=family.pk)
