"""Each policy that a view of /v1 declares acts, in Django REST framework's way, and its refusal has the envelope."""

import gc
import json
from typing import Any

import pytest
from django.db import DatabaseError
from django.http import Http404, HttpResponse
from django.test import RequestFactory
from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from accounts.models import Account
from api import usage_counts
from api.authentication import Caller
from api.me import MeView
from api.models import UsageBucket
from core.http.request_id import RequestIdMiddleware
from tests.api.calls import ME, refusal
from tests.api.conftest import Key, Mover


class DenyAll(BasePermission):
    message = "Not today."

    def has_permission(self, request: Request, view: APIView) -> bool:
        return False


class Never(BaseThrottle):
    def allow_request(self, request: Request, view: APIView) -> bool:
        return False

    def wait(self) -> float:
        return 6.2


class Suspicious(BaseAuthentication):
    def authenticate(self, request: Request) -> Any:
        raise exceptions.AuthenticationFailed("I do not know you.")

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class Trusting(BaseAuthentication):
    """Takes everyone for one person, who is no Caller."""

    def authenticate(self, request: Request) -> tuple[Account, None]:
        return Account(email="x@example.com"), None


def ask(credential: str | None, get: Any = None, *, method: str = "GET", accept: str = "*/*", **declared: Any) -> Any:
    """Return the answer of a view like /v1/me that declares something else besides."""
    view = type("Declared", (MeView,), declared | ({"get": get} if get else {})).as_view()  # type: ignore[attr-defined]
    headers = {"Accept": accept} | ({"Authorization": f"Bearer {credential}"} if credential else {})
    # An error names the request, which has its id from the middleware that is before everything.
    response: Any = RequestIdMiddleware(view)(RequestFactory().generic(method, ME, headers=headers))
    if isinstance(response, Response):
        response.render()
    # As the tests' browser has it.
    response.json = lambda: json.loads(response.content)
    return response


def codes() -> list[tuple[int, str, int]]:
    usage_counts.flush_usage()
    return list(UsageBucket.objects.order_by("pk").values_list("status", "code", "count"))


# --- What a view declares ---


def test_a_permission_class_acts(key: Key) -> None:
    response = ask(key.raw, permission_classes=[DenyAll])
    assert refusal(response) == (403, "insufficient_scope")
    assert response.json()["error"]["message"] == "Not today."
    assert response["WWW-Authenticate"] == 'Bearer realm="api", error="insufficient_scope"'
    assert response["RateLimit-Remaining"] == "599"
    assert codes() == [(403, "insufficient_scope", 1)]


def test_a_permission_class_that_asks_for_someone_acts(db: None) -> None:
    for asking in (DenyAll, IsAuthenticated):
        assert refusal(ask(None, permission_classes=[asking])) == (401, "unauthenticated")


def test_the_scopes_that_a_view_names_act(key: Key, token: str) -> None:
    nothing: dict[str, Any] = {"required_scopes": (), "required_permissions": ()}
    for credential in (key.raw, token):
        assert ask(credential).status_code == 200
        assert refusal(ask(credential, **nothing)) == (403, "insufficient_scope")
    assert ask(key.raw, required_scopes=()).status_code == 200
    response = ask(token, required_scopes=("openid.x",))
    assert response["WWW-Authenticate"] == 'Bearer realm="api", error="insufficient_scope", scope="openid openid.x"'


def test_a_throttle_class_acts(key: Key) -> None:
    response = ask(key.raw, throttle_classes=[Never])
    assert refusal(response) == (429, "rate_limited")
    assert response["Retry-After"] == "7"
    assert codes() == [(429, "rate_limited", 1)]


def test_a_throttle_class_comes_before_the_method(key: Key) -> None:
    assert refusal(ask(key.raw, method="POST", throttle_classes=[Never])) == (429, "rate_limited")


def test_without_its_throttle_class_a_call_is_not_limited(key: Key, mid_minute: Mover, settings: Any) -> None:
    settings.API_CALLS_PER_MINUTE = 1
    answers = [ask(key.raw, throttle_classes=[]) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200] * 3
    assert "RateLimit-Limit" not in answers[0]


def test_an_authentication_class_acts(key: Key) -> None:
    response = ask(key.raw, authentication_classes=[Suspicious])
    assert refusal(response) == (401, "invalid_token")
    assert response.json()["error"]["message"] == "I do not know you."
    assert 'error="invalid_token"' in response["WWW-Authenticate"]
    assert codes() == []


def test_a_failure_of_any_authentication_class_is_a_guess(key: Key, mid_minute: Mover, settings: Any) -> None:
    settings.API_GUESSES_PER_MINUTE = 2
    found = [ask(key.raw, authentication_classes=[Suspicious]).status_code for _ in range(3)]
    assert found == [401, 401, 429]


def test_without_an_authentication_class_nobody_is_known(key: Key) -> None:
    assert refusal(ask(key.raw, authentication_classes=[]))[0] == 403
    assert codes() == []


def test_someone_who_is_no_caller_has_no_scope(db: None) -> None:
    seen: list[Any] = []

    def get(self: Any, request: Request) -> HttpResponse:
        assert isinstance(request.user, Account)
        seen.append(request.user.email)
        return HttpResponse()

    assert ask(None, get, authentication_classes=[Trusting]).status_code == 403
    assert ask(None, get, authentication_classes=[Trusting], permission_classes=[IsAuthenticated]).status_code == 200
    assert seen == ["x@example.com"]


def test_a_response_is_rendered_as_json_whatever_is_accepted(key: Key) -> None:
    for accept in ("text/html", "nonsense", "application/json"):
        response = ask(key.raw, lambda self, request: Response({"a": 1}), accept=accept)
        assert (response.status_code, response.json()) == (200, {"a": 1})
        assert response["Content-Type"] == "application/json"


# --- What a view raises ---


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (exceptions.NotAuthenticated(), (401, "unauthenticated")),
        (exceptions.AuthenticationFailed(), (401, "invalid_token")),
        (exceptions.PermissionDenied(), (403, "insufficient_scope")),
        (exceptions.NotFound(), (404, "not_found")),
        (Http404(), (404, "not_found")),
        (exceptions.MethodNotAllowed("GET"), (405, "method_not_allowed")),
        (exceptions.Throttled(3), (429, "rate_limited")),
        (exceptions.ParseError(), (500, "internal_error")),
        (DatabaseError(), (502, "upstream_unavailable")),
        (ValueError("secret"), (500, "internal_error")),
    ],
)
def test_every_exception_has_the_envelope(error: Exception, expected: tuple[int, str], key: Key) -> None:
    def get(self: Any, request: Request) -> HttpResponse:
        raise error

    response = ask(key.raw, get)
    assert refusal(response) == expected
    assert "secret" not in response.content.decode()
    assert response["Access-Control-Allow-Origin"] == "*"
    assert response["RateLimit-Remaining"] == "599"
    assert codes() == [(*expected, 1)]


# --- What a call costs ---


def alive() -> int:
    """Return how many views, requests and callers there are."""
    return sum(issubclass(type(found), MeView | Request | Caller) for found in gc.get_objects())


def test_a_call_leaves_no_view_and_no_request_to_the_garbage_collector(key: Key) -> None:
    ask(key.raw)
    gc.collect()
    gc.disable()
    try:
        before = alive()
        ask(key.raw)
        assert alive() == before
    finally:
        gc.enable()
