"""Plans that live elsewhere: what is exactly a plan is passed on, anything else is a failure."""

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from accounts.models import Account
from accounts.plans import resolution
from accounts.plans.resolution import HttpPlans
from accounts.profile.sources import HttpSource, SourceFailed
from tests.accounts.plans.shape import check_shape

pytestmark = pytest.mark.django_db

GOOD: dict[str, Any] = {
    "plan_id": "pro",
    "plan_display_name": "Pro",
    "source": "own",
    "state": "Active",
    "read_only": False,
    "cache_max_age": 60,
    "apps": ["notes"],
    "addons": {"fax": {"quantity": 1}},
    "entitlements": {"storage": {"status": "granted_with_limit", "limit": 1.5, "unit": "TB"}},
}
FREE = {"plan_id": "free", "plan_display_name": "Free", "source": "free", "state": "free"}


def source_that(answer: Callable[[httpx.Request], httpx.Response]) -> HttpPlans:
    return HttpPlans(HttpSource("https://billing.example.com/plan", "token", httpx.MockTransport(answer)))


def source_saying(body: Any) -> HttpPlans:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return source_that(lambda request: httpx.Response(200, content=content))


def test_a_plan_is_passed_on_and_the_rest_left_out(person: Account) -> None:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, json=GOOD | {"account_id": 7})

    plan = source_that(answer).plan(person)  # without what is used, which is the person's to see
    assert plan == GOOD
    check_shape(plan)
    assert json.loads(asked[0].content) == {"email": person.email}
    assert asked[0].headers["Authorization"] == "Bearer token"


@pytest.mark.parametrize(
    "change",
    [
        FREE,
        {"state": "Expired", "read_only": True},
        {"addons": None},
        {"addons": {}},
        {"entitlements": {}},
        {"entitlements": {"x": {"status": "denied", "limit": None, "unit": None}}},
        {"entitlements": {"x": {"status": "granted"}}},
        {"cache_max_age": 0},
    ],
)
def test_unusual_valid_plans_are_accepted(person: Account, change: Any) -> None:
    source_saying(GOOD | change).plan(person)


NOT_A_PLAN: list[Any] = [
    *({name: None} for name in GOOD if name != "addons"),
    {"plan_id": ""},
    {"plan_id": 7},
    {"plan_display_name": "half \ud800"},
    {"source": "friend"},
    {"source": "free"},
    {"state": "active"},
    {"state": "free"},
    {"state": ["Active"]},
    {"read_only": 0},
    {"read_only": True},
    {"cache_max_age": -1},
    {"cache_max_age": 1.5},
    {"cache_max_age": True},
    {"cache_max_age": "60"},
    {"apps": "notes"},
    {"apps": [1]},
    {"apps": [""]},
    {"apps": ["a\x00b"]},
    {"addons": []},
    {"addons": {"fax": 1}},
    {"addons": {"fax": {}}},
    {"addons": {"fax": {"quantity": 0}}},
    {"addons": {"fax": {"quantity": True}}},
    {"entitlements": []},
    {"entitlements": {"x": "granted"}},
    {"entitlements": {"x": {"status": "maybe", "limit": None, "unit": None}}},
    {"entitlements": {"x": {"status": "granted", "limit": "5", "unit": None}}},
    {"entitlements": {"x": {"status": "granted", "limit": True, "unit": None}}},
    {"entitlements": {"x": {"status": "granted", "limit": float("nan"), "unit": None}}},
    {"entitlements": {"x": {"status": "granted", "limit": float("inf"), "unit": None}}},
    {"entitlements": {"x": {"status": "granted", "limit": 5, "unit": 1}}},
    {"entitlements": {"x": {"status": "granted", "limit": 5, "unit": "\ud800"}}},
    {"entitlements": {"\ud800": {"status": "granted", "limit": None, "unit": None}}},
]


@pytest.mark.parametrize("change", NOT_A_PLAN, ids=str)
def test_an_invalid_plan_is_a_failure(person: Account, change: Any) -> None:
    with pytest.raises(SourceFailed):
        source_saying(GOOD | change).plan(person)


@pytest.mark.parametrize("name", GOOD)
def test_a_missing_field_is_a_failure(person: Account, name: str) -> None:
    with pytest.raises(SourceFailed):
        source_saying({key: value for key, value in GOOD.items() if key != name}).plan(person)


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"{", b"\xff", b"[" * 100_000, b" " * 70_000 + b"{}"])
def test_other_answers_are_failures(person: Account, body: bytes) -> None:
    with pytest.raises(SourceFailed):
        source_saying(body).plan(person)


@pytest.mark.parametrize("status", [204, 302, 404, 500])
def test_other_statuses_are_failures(person: Account, status: int) -> None:
    with pytest.raises(SourceFailed):
        source_that(lambda request: httpx.Response(status, json=GOOD)).plan(person)


def test_a_slow_source_fails_in_its_budget(person: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accounts.profile.sources.BUDGET_SECONDS", 0.2)
    failed = threading.Event()

    def answer(request: httpx.Request) -> httpx.Response:
        failed.wait(10)
        return httpx.Response(200, json=GOOD)

    source = source_that(answer)
    started = time.monotonic()
    try:
        with pytest.raises(SourceFailed):
            source.plan(person)
        assert time.monotonic() - started < 2
    finally:
        failed.set()


def test_responses_of_a_plan_source_are_not_cached(person: Account) -> None:
    answers = iter([httpx.Response(200, json=GOOD), httpx.Response(500), httpx.Response(200, json=GOOD | FREE)])
    source = source_that(lambda request: next(answers))
    assert source.plan(person)["state"] == "Active"
    with pytest.raises(SourceFailed):
        source.plan(person)
    assert source.plan(person)["state"] == "free"


def test_the_setting_selects_the_plan_source(settings: Any) -> None:
    assert isinstance(resolution.plan_source(), resolution.DatabasePlans)
    resolution.reset()
    settings.PLAN_SOURCE_URL = "https://billing.example.com/plan"
    assert isinstance(resolution.plan_source(), HttpPlans)
