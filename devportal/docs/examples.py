"""The examples of the reference pages: responses, and requests that run once their variables are set."""

import json
from collections.abc import Callable
from datetime import date
from typing import Any
from urllib.parse import quote, urlencode

from django.conf import settings

from api import me, plan
from api.deprecation import Deprecation
from api.schema import error_example
from devportal.console.quick_start import SUGGESTED_REDIRECT_URI, shell_example
from oidc.models.clients import PHISHING_RESISTANT
from oidc.values.reasons import Reason

CLIENT_ID = "YOUR_CLIENT_ID"
# The pair of RFC 7636 appendix B, so that readers can check their own calculation with it.
CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _answer(operation: dict[str, Any]) -> Any:
    """Return the first example response in the OpenAPI description of an endpoint."""
    return operation["responses"][200].examples[0].value


def _encoded(query: dict[str, str]) -> str:
    return urlencode(query).replace(quote("…"), "…")


def _url(path: str, query: dict[str, str]) -> str:
    return f"{settings.AUTH_URL}{path}?{_encoded(query)}"


def _authorization() -> dict[str, str]:
    request = {
        "response_type": "code",
        "client_id": CLIENT_ID,
        "redirect_uri": SUGGESTED_REDIRECT_URI,
        "scope": "openid email profile",
        "state": "b5PhUqjpkdkT",
        "nonce": "kVJ4sSZyq7Qe",
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
    }
    answer = _encoded({"code": "nB3y…", "state": request["state"], "iss": settings.ISSUER})
    claims = {"id_token": {"acr": {"essential": True, "values": [PHISHING_RESISTANT]}}}
    level = {"acr": PHISHING_RESISTANT, "amr": ["pop", "pwd", "user", "mfa"]}
    return {
        "request_example": _url("/connect/authorize", request),
        "claims_example": _json(claims),
        "more_example": _url("/connect/authorize", request | {"claims": json.dumps(claims, separators=(",", ":"))}),
        "level_example": _json(level),
        "answer_example": f"{SUGGESTED_REDIRECT_URI}?{answer}",
        "resource_example": shell_example("resource"),
    }


def _tokens() -> dict[str, str]:
    return {
        "exchange_example": shell_example("exchange"),
        "refresh_example": shell_example("refresh"),
        "answer_example": _json(
            {
                "access_token": "eyJ…",
                "token_type": "Bearer",
                "expires_in": settings.ACCESS_TOKEN_SECONDS,
                "scope": "openid email profile offline_access",
                "refresh_token": "AZcE…",
                "id_token": "eyJ…",
            }
        ),
    }


def _userinfo() -> dict[str, str]:
    profile = {name: value for name, value in _answer(me.OPERATION).items() if value is not None}
    claims = {"sub": profile.pop("id")} | profile
    return {"userinfo_example": shell_example("userinfo"), "answer_example": _json(claims)}


def _logout() -> dict[str, str]:
    query = {"id_token_hint": "eyJ…", "post_logout_redirect_uri": "http://localhost:3000/", "state": "rT0xW2"}
    return {"logout_example": _url("/connect/logout", query)}


def _errors() -> dict[str, str]:
    late = Reason.CODE_EXPIRED
    return {
        "api_error_example": _json(error_example("insufficient_scope")),
        "token_error_example": _json({"error": late.error, "error_description": late.description}),
    }


def _deprecation_headers() -> str:
    example = Deprecation(date(2031, 1, 15), date(2032, 1, 15))
    return "\n".join(f"{name}: {value}" for name, value in example.headers().items())


_OF_PAGES: dict[str, Callable[[], dict[str, str]]] = {
    "authorization": _authorization,
    "tokens": _tokens,
    "userinfo": _userinfo,
    "revocation": lambda: {"revoke_example": shell_example("revoke")},
    "logout": _logout,
    "discovery": lambda: {
        "discovery_example": shell_example("discovery"),
        "jwks_example": shell_example("jwks"),
    },
    "api_key": lambda: {"answer": _json(_answer(me.OPERATION))},
    "me": lambda: {"me_example": shell_example("me"), "answer_example": _json(_answer(me.OPERATION))},
    "me_plan": lambda: {"plan_example": shell_example("plan"), "answer_example": _json(_answer(plan.OPERATION))},
    "errors": _errors,
    "deprecation": lambda: {"headers_example": _deprecation_headers()},
    "plans": lambda: {"entitlements_example": _json({"entitlements": _answer(plan.OPERATION)["entitlements"]})},
}


def examples(page: str) -> dict[str, str]:
    """Return the examples of a page of the docs, by the name that its template uses."""
    return _OF_PAGES[page]() if page in _OF_PAGES else {}
