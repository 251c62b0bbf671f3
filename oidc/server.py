"""oauthlib's server and django-oauth-toolkit's backend, with stricter checks.

oauthlib supports many grant types; this service has two. Authorization requests never reach oauthlib: the modules in
oidc/authorization/ check and answer them. This module may use oauthlib's request object.
"""

import json
import re
from typing import Any, ClassVar

from django.http import HttpRequest
from oauth2_provider.oauth2_backends import OAuthLibCore
from oauthlib.common import Request
from oauthlib.oauth2.rfc6749.grant_types.authorization_code import code_challenge_method_s256
from oauthlib.oauth2.rfc6749.utils import scope_to_list
from oauthlib.openid import Server as OpenIDServer

from oidc.errors import TokenRefusal
from oidc.parameters import read_form
from oidc.reasons import Reason, reason_of_library
from oidc.scopes import OPENID

# RFC 7636 §4.1, §4.2: a verifier has 43 to 128 unreserved characters, an S256 challenge 43 base64url characters.
CODE_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")
CODE_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")

Fields = list[tuple[str, str]]  # names and values of a form

# The revocation endpoint, where the secret is optional. A test compares this path with the URLconf.
REVOKE_PATH = "/connect/revoke"
# The only form fields that oauthlib gets. Others would change what it does: `response_type` drops the ID token.
_FORM_FIELDS = {
    "token": {"grant_type", "code", "redirect_uri", "code_verifier", "client_id", "client_secret"}
    | {"refresh_token", "scope"},
    "revoke": {"token", "token_type_hint", "client_id", "client_secret"},
}


class Backend(OAuthLibCore):  # type: ignore[misc]
    """Pass oauthlib the parameters as parsed by oidc/parameters.py, instead of Django's lenient QueryDict.

    The query string is not passed, because the endpoints that use oauthlib read nothing from it.
    """

    def _extract_params(self, request: HttpRequest) -> tuple[str, str, Fields, dict[str, str]]:
        # oauthlib also accepts pairs. Encoded text, as the library passes it, would be decoded a second time.
        return request.path, request.method or "", self.extract_body(request), self.extract_headers(request)

    def extract_headers(self, request: HttpRequest) -> dict[str, str]:
        header = request.META.get("HTTP_AUTHORIZATION")
        return {} if header is None else {"Authorization": header}

    def extract_body(self, request: HttpRequest) -> Fields:
        fields = _FORM_FIELDS.get(request.resolver_match.url_name or "") if request.resolver_match else None
        if fields is None or request.method != "POST":
            return []
        return [(name, value) for name, value in read_form(request).values.items() if name in fields]


class FormRequest(Request):  # type: ignore[misc]
    """oauthlib's request object for a form that oidc/parameters.py has already decoded and checked.

    oauthlib's own `__init__` would parse the URL, headers and body again. A field that was not sent is None.
    """

    duplicate_params: ClassVar[tuple[str, ...]] = ()

    def __init__(self, uri: str, fields: Fields, headers: dict[str, str]) -> None:
        self.__dict__.update(_WITHOUT_FIELDS)
        self.__dict__.update(fields)
        self.uri, self.headers = uri, headers


_WITHOUT_FIELDS = vars(Request("", "POST"))


class RefusingGrant:
    """Wrapper around a grant of oauthlib that raises each error as a TokenRefusal.

    The refusal knows the client and the reason. oauthlib itself returns text that contains neither.
    """

    def __init__(self, grant: Any) -> None:
        self._grant = grant

    def create_token_response(self, request: Any, token_handler: Any) -> tuple[dict[str, str], str, int]:
        """Return headers, body and status of a successful response. Raises TokenRefusal."""
        try:
            headers, body, status = self._grant.create_token_response(request, token_handler)
        except TokenRefusal as refusal:
            _add_client(request, refusal)
            raise
        if status >= 400:
            refused_by_library = refusal_of_library(body)
            _add_client(request, refused_by_library)
            raise refused_by_library
        return headers, body, status


def refusal_of_library(body: str) -> TokenRefusal:
    """Return a TokenRefusal for an error response of oauthlib, which is JSON."""
    refused = json.loads(body)
    return TokenRefusal(reason_of_library(refused["error"], refused.get("error_description", "")))


def _add_client(request: Any, refusal: TokenRefusal) -> None:
    """Set the client of a refusal, if one was authenticated before the request was rejected."""
    if request.client is not None:
        refusal.client_id, refusal.authenticated = request.client.client_id, True
        refusal.proven = request.presented.proven
        refusal.family = getattr(request.presented.credential, "family_id", None)


class Server(OpenIDServer):  # type: ignore[misc]
    """Authorization code and refresh token grants, S256 only."""

    def __init__(self, request_validator: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(request_validator, *args, **kwargs)
        self._response_types: dict[str, Any] = {}  # oidc/authorization/ answers authorization requests
        self._grant_types = {
            "authorization_code": RefusingGrant(self.openid_connect_auth),
            "refresh_token": RefusingGrant(self.refresh_grant),
        }
        code_grant = self.openid_connect_auth.proxy_target
        code_grant._code_challenge_methods = {"S256": verify_code_challenge}
        self.refresh_grant.proxy_target.custom_validators.post_token.append(keep_openid)

    def create_token_response(
        self, uri: str, http_method: str, body: Fields, headers: dict[str, str], *args: Any
    ) -> Any:
        """Let the requested grant respond, as oauthlib does. The endpoint has already checked method and query."""
        request = FormRequest(uri, body, headers)
        request.scopes = scope_to_list(request.scope)
        grant = self.grant_types.get(request.grant_type, self.default_grant_type_handler)
        return grant.create_token_response(request, self.default_token_type)


def verify_code_challenge(verifier: str, challenge: str) -> bool:
    """Check a code_verifier (RFC 7636 §4.6). A malformed one is rejected even if its hash matches.

    Raises TokenRefusal.
    """
    if not CODE_VERIFIER.fullmatch(verifier):
        raise TokenRefusal(Reason.VERIFIER_MALFORMED)
    if not code_challenge_method_s256(verifier, challenge):
        raise TokenRefusal(Reason.VERIFIER_WRONG)
    return True


def keep_openid(request: Any) -> None:
    """Keep `openid` when a refresh narrows the scope: userinfo and the ID token of every response need it."""
    if OPENID not in request.scopes:
        request.scopes = [OPENID, *request.scopes]
