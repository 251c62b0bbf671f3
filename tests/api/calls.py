"""Calls of /v1 in tests: with a credential in the header, and without cookies."""

from typing import Any

from django.conf import settings
from django.test import Client as Browser

ME = "/v1/me"
PLAN = "/v1/me/plan"


def call(path: str, credential: str | None = None, method: str = "GET", **headers: str) -> Any:
    """Return the response to a call of a program; CSRF is checked as in production."""
    given = {} if credential is None else {"Authorization": f"Bearer {credential}"}
    return Browser(enforce_csrf_checks=True).generic(method, path, headers=given | headers)


def refusal(response: Any) -> tuple[int, str]:
    """Check the envelope of an error (docs/api.md#errors), and return its status and code."""
    body = response.json()
    assert set(body) == {"error"}, body
    assert set(body["error"]) == {"code", "message"}, body
    assert body["error"]["message"]
    assert response["X-Request-ID"]
    assert response["Link"] == f'<{settings.AUTH_URL}/docs/errors#api-{body["error"]["code"]}>; rel="help"'
    return response.status_code, body["error"]["code"]
