"""oauthlib's request validator (OAUTH2_VALIDATOR_CLASS), which adapts its methods to the modules of this package.

oauthlib's request object has the attributes `client`, `user`, `scopes` and `access_token`. This module adds six:
`presented`, the PresentedCredentials read by authenticate_client, `granted`, the scopes of the code or refresh token,
`target` and `token_scopes`, the API that the new access token is for and the scopes that it has there, `sent_resource`,
whether the app has sent `resource` so far, and `voucher`, which stands in for the secret in a request of the
playground. A rejected request raises a TokenRefusal.
"""

import json
import re
from typing import Any, ClassVar

from django.conf import settings
from django.http import HttpRequest
from oauth2_provider.oauth2_backends import OAuthLibCore
from oauth2_provider.oauth2_validators import OAuth2Validator
from oauthlib.common import Request
from oauthlib.oauth2.rfc6749.grant_types.authorization_code import code_challenge_method_s256
from oauthlib.openid import Server as OpenIDServer

from core import clock
from core.http import client_ip
from core.telemetry import metrics
from oidc.apis import scopes
from oidc.apis.registry import OFFLINE_ACCESS, OPENID, current_registry
from oidc.apis.resources import InvalidTarget, choose_target
from oidc.apis.scopes import claims_for
from oidc.authorization.consent import left_out_scopes
from oidc.clients import lookup
from oidc.errors import InvalidToken, TokenRefusal
from oidc.models import AuthorizationCode, Client, RefreshToken
from oidc.protocol import limits
from oidc.sign_in_log import steps
from oidc.sign_in_log.steps import Step
from oidc.tokens import authentication, codes, jwt, refresh_tokens, store
from oidc.tokens.access_tokens import find_userinfo_token
from oidc.tokens.vouchers import VouchedRequest, Voucher
from oidc.values.parameters import printable_url, read_form
from oidc.values.reasons import Reason


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
            voucher=getattr(request, "voucher", None),
        )
        request.presented, request.client = presented, presented.client
        request.client_id = request.client.client_id
        return True

    # --- Code exchange ---

    def validate_code(self, client_id: str, code: str, client: Client, request: Any, *args: Any, **kwargs: Any) -> bool:
        self._accept(codes.check_code(request.presented.credential), request)
        if request.code_verifier is None:
            raise TokenRefusal(Reason.VERIFIER_MISSING)
        return True

    def get_code_challenge(self, code: str, request: Any) -> str:
        return str(request.presented.credential.code_challenge)

    def get_code_challenge_method(self, code: str, request: Any) -> str:
        return str(request.presented.credential.code_challenge_method)

    def get_default_redirect_uri(self, client_id: str, request: Any, *args: Any, **kwargs: Any) -> str:
        # RFC 6749 §3.1.2.3 lets a client with a single URL omit it. This service requires it.
        raise TokenRefusal(Reason.REDIRECT_URI_MISSING)

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
        self._accept(refresh_tokens.check_refresh_token(request.presented.credential), request)
        return True

    def get_original_scopes(self, refresh_token: str, request: Any, *args: Any, **kwargs: Any) -> list[str]:
        granted: list[str] = request.granted
        return granted

    def is_within_original_scope(
        self, request_scopes: list[str], refresh_token: str, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        # Called only if a requested scope was not granted.
        # Libraries repeat the scopes of the authorization request with each refresh, so scopes that the person left out
        # are ignored (docs/sign-in.md#optional-scopes), also once they are no longer optional.
        left_out = set(request_scopes) - set(request.granted)
        request.scopes = [scope for scope in request_scopes if scope not in left_out]
        connection = request.presented.family.connection
        if not left_out <= scopes.optional_scopes(request.client) | left_out_scopes(connection):
            raise TokenRefusal(Reason.SCOPE_NOT_GRANTED)
        return True

    def _accept(self, row: AuthorizationCode | RefreshToken, request: Any) -> None:
        family = row.family
        limits.count_client(family)
        request.user = family.connection.account
        request.scopes = request.granted = refresh_tokens.effective_scopes(family)

    # --- Issuing ---

    def save_bearer_token(self, token: dict[str, Any], request: Any, *args: Any, **kwargs: Any) -> None:
        # This replaces the library's method, which opens a transaction: oidc/tokens/store.py opens one if needed.
        if OFFLINE_ACCESS not in request.granted:
            token.pop("refresh_token", None)
        # The library lists all scopes of the request, but a token only has those of its API.
        token["scope"] = " ".join(request.token_scopes)
        if not store.consume_and_store(
            request.presented.credential,
            token["access_token"],
            token.get("refresh_token"),
            _stored_scope(request),
            request.sent_resource,
        ):
            raise TokenRefusal(Reason.LOST_RACE)
        metrics.TOKENS_ISSUED.count(request.grant_type)
        self._report_tokens(request)

    def _report_tokens(self, request: Any) -> None:
        step = Step.EXCHANGED if request.grant_type == "authorization_code" else Step.REFRESHED
        steps.report(step, request.client.client_id, family=request.presented.credential.family_id)

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
        if family.sid:  # OpenID Connect Back-Channel Logout 1.0, 2.1
            id_token["sid"] = family.sid
        if family.authentication_claims:
            id_token |= json.loads(family.authentication_claims)
        return jwt.sign(id_token, jwt.ID_TOKEN_TYP)

    # --- Bearer tokens ---

    def validate_bearer_token(self, token: str, scopes: list[str], request: Any) -> bool:
        try:
            row = find_userinfo_token(token or "")
        except InvalidToken as error:
            raise _refusal_of_token(error) from error
        limits.count_client(row.family)
        request.access_token = row
        request.client, request.user = row.family.connection.client, row.family.connection.account
        still = refresh_tokens.effective_scopes(row.family)
        request.scopes = [scope for scope in row.scope.split() if scope in still]
        if OPENID not in request.scopes:
            raise TokenRefusal(Reason.OPENID_MISSING)
        return True

    def validate_jwt_bearer_token(self, token: str, scopes: list[str], request: Any) -> bool:
        return False  # an ID token is not accepted as an access token

    def get_userinfo_claims(self, request: Any) -> dict[str, Any]:
        connection = request.access_token.family.connection
        return claims_for(connection.account, connection.subject, request.scopes)

    # --- Revocation ---

    def revoke_token(self, token: str, token_type_hint: str | None, request: Any, *args: Any, **kwargs: Any) -> None:
        proven = request.presented.proven or not request.client.has_secret
        family = refresh_tokens.find_family_by_token(token, request.client.pk, access_tokens_too=proven)
        if family is not None:
            limits.count_client(family)
            if refresh_tokens.revoke_family(family, Reason.ENDED_REVOKED_BY_APP):
                steps.report(Step.REVOKED, request.client.client_id, family=family.pk)


# oauthlib supports many grant types; this service has two. Authorization requests never reach oauthlib: the modules
# in oidc/authorization/ check and answer them. This module may use oauthlib's request object.

# RFC 7636 §4.1: 43 to 128 unreserved characters.
CODE_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")

Fields = list[tuple[str, str]]  # names and values of a form

# The revocation endpoint, where the secret is optional. A test compares this path with the URLconf.
REVOKE_PATH = "/connect/revoke"
# The only form fields that oauthlib gets. Others would change what it does: `response_type` drops the ID token.
_FORM_FIELDS = {
    "token": {"grant_type", "code", "redirect_uri", "code_verifier", "client_id", "client_secret"}
    | {"refresh_token", "scope", "resource"},
    "revoke": {"token", "token_type_hint", "client_id", "client_secret"},
}


class Backend(OAuthLibCore):  # type: ignore[misc]
    """Pass oauthlib the parameters as parsed by oidc/values/parameters.py, instead of Django's lenient QueryDict.

    The query string is not passed, because the endpoints that use oauthlib read nothing from it.
    """

    def _extract_params(self, request: HttpRequest) -> tuple[str, str, Fields, dict[str, str]]:
        # oauthlib also accepts pairs. Encoded text, as the library passes it, would be decoded a second time.
        return request.path, request.method or "", self.extract_body(request), self.extract_headers(request)

    def extract_headers(self, request: HttpRequest) -> dict[str, str]:
        header = request.META.get("HTTP_AUTHORIZATION")
        return {} if header is None else {"Authorization": header}

    def _get_extra_credentials(self, request: HttpRequest) -> Voucher | None:
        # The library hands this to `create_token_response` of Server, and to nothing else.
        return request.voucher if isinstance(request, VouchedRequest) else None

    def extract_body(self, request: HttpRequest) -> Fields:
        fields = _FORM_FIELDS.get(request.resolver_match.url_name or "") if request.resolver_match else None
        if fields is None or request.method != "POST":
            return []
        return [(name, value) for name, value in read_form(request).values.items() if name in fields]


class FormRequest(Request):  # type: ignore[misc]
    """oauthlib's request object for a form that oidc/values/parameters.py has already decoded and checked.

    oauthlib's own `__init__` would parse the URL, headers and body again. A field that was not sent is None.
    """

    duplicate_params: ClassVar[tuple[str, ...]] = ()

    def __init__(self, uri: str, fields: Fields, headers: dict[str, str]) -> None:
        self.__dict__.update(_WITHOUT_FIELDS)
        self.__dict__.update(fields)
        self.uri, self.headers = uri, headers


_WITHOUT_FIELDS = {**vars(Request("", "POST")), "resource": None}


# What oauthlib refuses without a hook, by its error code. Nothing that the endpoints accept leads there today.
_OF_LIBRARY = {
    "unauthorized_client": Reason.GRANT_TYPE_NOT_ALLOWED,
    "unsupported_token_type": Reason.TOKEN_TYPE_UNSUPPORTED,
}


def refusal_of_library(body: str) -> TokenRefusal:
    """Return a TokenRefusal for an error response of oauthlib, which is JSON."""
    return TokenRefusal(_OF_LIBRARY.get(json.loads(body)["error"], Reason.MALFORMED))


class Server(OpenIDServer):  # type: ignore[misc]
    """Authorization code and refresh token grants, S256 only."""

    def __init__(self, request_validator: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(request_validator, *args, **kwargs)
        self._response_types: dict[str, Any] = {}  # oidc/authorization/ answers authorization requests
        self._grant_types = {
            "authorization_code": self.openid_connect_auth,
            "refresh_token": self.refresh_grant,
        }
        code_grant = self.openid_connect_auth.proxy_target
        code_grant._code_challenge_methods = {"S256": verify_code_challenge}
        code_grant.custom_validators.post_token.append(choose_api)
        self.refresh_grant.proxy_target.custom_validators.post_token += [keep_openid, choose_api]

    def create_token_response(
        self, uri: str, http_method: str, body: Fields, headers: dict[str, str], voucher: Voucher | None = None
    ) -> Any:
        """Let the requested grant respond, as oauthlib does. The endpoint has already checked method and query.

        Raises TokenRefusal, with the client if it was authenticated before the request was rejected.
        """
        request = FormRequest(uri, body, headers)
        request.voucher = voucher
        request.scopes = scopes.parse_scope(request.scope)
        request.scope = " ".join(request.scopes) or None  # oauthlib splits it again, at each space
        grant = self.grant_types.get(request.grant_type)
        if grant is None:  # oauthlib's default handler takes `openid` for a code, and the library then fails
            raise TokenRefusal(Reason.GRANT_TYPE_UNSUPPORTED)
        try:
            headers, response, status = grant.create_token_response(request, self.default_token_type)
            if status >= 400:
                raise refusal_of_library(response)
        except TokenRefusal as refusal:
            if request.client is not None:
                refusal.client_id, refusal.authenticated = request.client.client_id, True
                refusal.proven = request.presented.proven
                refusal.family = getattr(request.presented.credential, "family_id", None)
            raise
        return headers, response, status


def verify_code_challenge(verifier: str, challenge: str) -> bool:
    """Check a code_verifier (RFC 7636 §4.6). A malformed one is rejected even if its hash matches.

    Raises TokenRefusal.
    """
    if not CODE_VERIFIER.fullmatch(verifier):
        raise TokenRefusal(Reason.VERIFIER_MALFORMED)
    if not code_challenge_method_s256(verifier, challenge):
        raise TokenRefusal(Reason.VERIFIER_WRONG)
    return True


def _refusal_of_token(error: InvalidToken) -> TokenRefusal:
    """Return the refusal of an access token at userinfo, with its client if this service issued the token."""
    suspended = error.reason == Reason.PROJECT_SUSPENDED
    refusal = TokenRefusal(Reason.ACCESS_TOKEN_ENDED if suspended else error.reason)
    if error.audience:
        refusal.parameters = {"audience": printable_url(error.audience), "resource": settings.BASE_URL}
    if error.row is not None:
        refusal.client_id = error.row.family.connection.client.client_id
        refusal.family = error.row.family.pk
    return refusal


def choose_api(request: Any) -> None:
    """Choose the API of the new access token, and its scopes there (RFC 8707 §2.2). Raises TokenRefusal."""
    granted = implying = request.presented.family.scope
    if request.grant_type == "refresh_token" and request.scope:
        # Scopes that the person has withdrawn since still count, so that later tokens are for the same API.
        implying = " ".join(scope for scope in scopes.parse_scope(request.scope) if scope in granted.split())
    sent_before = request.presented.credential.sent_resource
    request.sent_resource = sent_before or request.resource is not None
    try:
        request.target, request.token_scopes = choose_target(
            request.resource, request.scopes, request.granted, implying, sent_before=sent_before
        )
    except InvalidTarget as error:
        raise TokenRefusal(error.reason, error.parameters) from error


def _stored_scope(request: Any) -> str:
    """Return what a new access token may be used for: if its API was only implied, also for userinfo."""
    if request.sent_resource or request.target.is_own:
        return " ".join(request.token_scopes)
    registry = current_registry()
    return " ".join([*registry.scopes_of(registry.account, request.scopes), *request.token_scopes])


def keep_openid(request: Any) -> None:
    """Keep `openid` when a refresh narrows the scope: userinfo and the ID token of every response need it."""
    if OPENID not in request.scopes:
        request.scopes = [OPENID, *request.scopes]
