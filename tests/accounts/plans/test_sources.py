"""Plans that live elsewhere: what is exactly a plan is passed on, anything else is a failure."""

import json
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


UNUSUAL: list[Any] = [
    FREE,
    {"state": "Expired", "read_only": True},
    {"addons": None},
    {"addons": {}},
    {"entitlements": {}},
    {"entitlements": {"x": {"status": "denied", "limit": None, "unit": None}}},
    {"entitlements": {"x": {"status": "granted"}}},
    {"cache_max_age": 0},
]
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
    {"addons": {"fax": {"quantity": 0}}},  # tests/accounts/plans/test_addons.py has more
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


def is_plan(person: Account, answer: Any) -> bool:
    try:
        source_saying(answer).plan(person)
    except SourceFailed:
        return False
    return True


def test_exactly_valid_plans_are_accepted(person: Account) -> None:
    assert [change for change in UNUSUAL if not is_plan(person, GOOD | change)] == []
    assert [change for change in NOT_A_PLAN if is_plan(person, GOOD | change)] == []
    assert [name for name in GOOD if is_plan(person, {key: GOOD[key] for key in GOOD if key != name})] == []


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
