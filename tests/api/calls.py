"""How the tests call /v1: a credential in the header, no cookies."""

from typing import Any

from django.conf import settings
from django.test import Client as Browser

ME = "/v1/me"
PLAN = "/v1/me/plan"


def call(path: str, credential: str | None = None, method: str = "GET", **headers: str) -> Any:
    """Return the answer to a call as a program makes it; CSRF is checked as it is for everybody."""
    given = {} if credential is None else {"Authorization": f"Bearer {credential}"}
    return Browser(enforce_csrf_checks=True).generic(method, path, headers=given | headers)


def refusal(response: Any) -> tuple[int, str]:
    """Return status and code of an error, after checking its envelope (docs/api.md#errors)."""
    body = response.json()
    assert set(body) == {"error"}, body
    assert set(body["error"]) == {"code", "message"}, body
    assert body["error"]["message"]
    assert response["X-Request-ID"]
    assert response["Link"] == f'<{settings.AUTH_URL}/docs/errors#api-{body["error"]["code"]}>; rel="help"'
    return response.status_code, body["error"]["code"]
