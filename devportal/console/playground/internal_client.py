"""The playground's requests to this service, sent through the whole middleware stack but within the process.

Over the network, a service with a few threads could wait for itself, and its public URL may not be reachable from
inside. URLs entered by people are never called.
"""

import functools
import json
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import httpx
from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.http import HttpResponse

from core.http import client_ip
from oidc.tokens.vouchers import VouchedRequest, Voucher

HIDDEN = "(not shown)"
# The response headers to show.
SHOWN_HEADERS = (
    "content-type",
    "cache-control",
    "www-authenticate",
    "retry-after",
    "ratelimit-limit",
    "ratelimit-remaining",
    "ratelimit-reset",
    "etag",
    "x-request-id",
)


@dataclass(frozen=True)
class Exchange:
    """A request, without secrets, and its response."""

    method: str
    url: str
    status: int
    reason: str
    request_headers: dict[str, str]
    form: dict[str, str]
    headers: dict[str, str]
    body: str
    answer: dict[str, Any] = field(default_factory=dict)

    @property
    def request_text(self) -> str:
        """The request as text, with each form field on a separate line."""
        head = [f"{self.method} {self.url}", *(f"{name}: {value}" for name, value in self.request_headers.items())]
        fields = ["", *(f"{name}={value}" for name, value in self.form.items())] if self.form else []
        return "\n".join(head + fields)

    @property
    def answer_text(self) -> str:
        """The response as text."""
        head = [f"{self.status} {self.reason}", *(f"{name}: {value}" for name, value in self.headers.items())]
        return "\n".join([*head, "", self.body])

    @property
    def is_good(self) -> bool:
        return self.status < 400

    @property
    def error(self) -> str:
        """The OAuth or API error code, or "" on success."""
        error = self.answer.get("error", "")
        return str(error.get("code", "")) if isinstance(error, dict) else str(error)


@functools.cache
def _handler() -> WSGIHandler:
    return WSGIHandler()


def _application(voucher: Voucher | None, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    """Handle a request inside another one: with all middleware, but without Django's request signals.

    Those signals would close database connections that belong to the outer request. The voucher belongs to this one
    request object.
    """
    request = WSGIRequest(environ) if voucher is None else VouchedRequest(environ, voucher)
    response = _handler().get_response(request)
    assert isinstance(response, HttpResponse)  # endpoints for programs never stream
    start_response(f"{response.status_code} {response.reason_phrase}", list(response.items()))
    return [response.content]


def _send(request: httpx.Request, voucher: Voucher | None) -> httpx.Response:
    """Pass a request to the service. Rate limits count it for the developer's IP address."""
    peer = client_ip.current() or "127.0.0.1"
    application = functools.partial(_application, voucher)
    transport = httpx.WSGITransport(app=application, raise_app_exceptions=False, remote_addr=peer)
    with httpx.Client(transport=transport) as client:
        # A copied context: request id and IP address of the outer request stay unchanged.
        return copy_context().run(client.send, request)


def _exchange(
    request: httpx.Request, request_headers: dict[str, str], form: dict[str, str], voucher: Voucher | None = None
) -> Exchange:
    response = _send(request, voucher)
    try:
        answer = response.json()
    except ValueError:
        answer = {}
    return Exchange(
        method=request.method,
        url=str(request.url),
        status=response.status_code,
        reason=response.reason_phrase,
        request_headers=request_headers,
        form=form,
        headers={name: response.headers[name] for name in SHOWN_HEADERS if name in response.headers},
        body=json.dumps(answer, indent=2, ensure_ascii=False) if answer else response.text[:2000],
        answer=answer if isinstance(answer, dict) else {},
    )


def request_tokens(form: dict[str, str], client_id: str, secret: str = "", voucher: Voucher | None = None) -> Exchange:
    """POST a form to the token endpoint, authenticated by the client's secret, by a voucher, or by neither.

    Neither is for clients without a secret. The request is shown as the app would send it, without the secret.
    """
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    shown, shown_form = dict(headers), form | {"client_id": client_id}
    sent_form = shown_form
    auth = None
    if secret or voucher:
        shown["Authorization"] = f"Basic base64({client_id}:{HIDDEN})"
        shown_form = form
    if secret:
        # RFC 6749 §2.3.1: both are form-encoded first.
        auth = httpx.BasicAuth(*(urlencode({"": text})[1:] for text in (client_id, secret)))
        sent_form = form
    request = httpx.Request("POST", f"{settings.AUTH_URL}/connect/token", content=urlencode(sent_form), headers=headers)
    if auth:
        request = next(auth.auth_flow(request))
    return _exchange(request, shown, shown_form, voucher)


def call_endpoint(path: str, headers: dict[str, str]) -> Exchange:
    """GET an endpoint of the developer API with these headers, which are not shown."""
    return _exchange(httpx.Request("GET", f"{settings.BASE_URL}{path}", headers=headers), {}, {})


def get_endpoint(path: str, access_token: str) -> Exchange:
    """GET an endpoint of the developer API with an access token."""
    headers = {"Authorization": f"Bearer {access_token}"}
    request = httpx.Request("GET", f"{settings.BASE_URL}{path}", headers=headers)
    return _exchange(request, {"Authorization": "Bearer (the access token)"}, {})
