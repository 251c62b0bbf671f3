"""GET /v1/me/plan: the answer for each kind of subscription, and caching."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import Account, Plan
from tests.accounts.plans.factories import ahead, family_of, make_plan, organization_of, subscribe
from tests.accounts.plans.shape import check_shape
from tests.api.calls import PLAN, call
from tests.api.conftest import Key
from tests.factories import make_account

pytestmark = pytest.mark.django_db
Mover = Callable[[float], None]
FAR = 10**7


@pytest.fixture
def plus(db: None) -> Plan:
    make_plan("free", apps=["notes"], storage=("granted_with_limit", 5, "GB"))
    return make_plan(
        "plus",
        rank=10,
        apps=["notes", "calendar"],
        storage=("granted_with_limit", 200, "GB"),
        history=("granted", None, None),
        export=("denied", None, None),
    )


def one(status: str, limit: int | None = None, unit: str | None = None) -> dict[str, Any]:
    return {"status": status, "limit": limit, "unit": unit}


PLUS = {
    "plan_id": "plus",
    "plan_display_name": "Plus",
    "source": "own",
    "state": "Active",
    "read_only": False,
    "cache_max_age": 300,
    "apps": ["notes", "calendar"],
    "addons": None,
    "entitlements": {
        "export": one("denied"),
        "history": one("granted"),
        "storage": one("granted_with_limit", 200, "GB"),
    },
}
DENIED = {"export": one("denied"), "history": one("denied")}
FREE = {
    "plan_id": "free",
    "plan_display_name": "Free",
    "source": "free",
    "state": "free",
    "apps": ["notes"],
    "entitlements": DENIED | {"storage": one("granted_with_limit", 5, "GB")},
}
ALL = {
    "plan_id": "all",
    "plan_display_name": "All",
    "cache_max_age": 60,
    "apps": [],
    "entitlements": DENIED | {"storage": one("granted")},
}
ADDONS = {"extra_storage": {"quantity": 2}, "fax": {"quantity": 1}}


def without_limits(person: Account) -> None:
    subscribe(person, make_plan("all", rank=20, age=60, storage=("granted", None, None)))


@pytest.mark.parametrize(
    ("subscribed", "changes"),
    [
        (None, FREE),
        (lambda person, plus: subscribe(person, plus, "Trial", trial_end=ahead(FAR)), {"state": "Trial"}),
        (lambda person, plus: subscribe(family_of(make_account(), person), plus), {"source": "family"}),
        (lambda person, plus: subscribe(organization_of(person), plus), {"source": "organization"}),
        (lambda person, plus: subscribe(person, plus, "PastDue", period_end=ahead(-FAR)), {"state": "PastDue"}),
        (
            lambda person, plus: subscribe(person, plus, "CancelledPeriodActive", period_end=ahead(FAR)),
            {"state": "CancelledPeriodActive"},
        ),
        (
            lambda person, plus: subscribe(person, plus, "Cancelled", read_only_until=ahead(FAR)),
            {"state": "Cancelled", "read_only": True},
        ),
        (lambda person, plus: subscribe(person, plus, "Expired", read_only_until=ahead(-1)), FREE),
        (lambda person, plus: subscribe(person, plus, addons=ADDONS), {"addons": ADDONS}),
        (lambda person, plus: without_limits(person), ALL),
    ],
)
def test_each_subscription_has_its_answer(
    subscribed: Callable[[Account, Plan], object] | None, changes: dict[str, Any], key: Key, plus: Plan
) -> None:
    if subscribed:
        subscribed(key.owner, plus)
    response = call(PLAN, key.raw)
    assert response.status_code == 200
    check_shape(response.json())
    expected = PLUS | changes
    # As text, because 5 is not 5.0, and the order of the fields is fixed.
    assert json.dumps(response.json()) == json.dumps(expected)


def test_no_account_id_is_in_the_answer(key: Key, plus: Plan) -> None:
    subscribe(family_of(make_account("owner@example.com"), key.owner), plus)
    assert "example.com" not in call(PLAN, key.raw).content.decode()


def test_how_long_it_may_be_kept(key: Key, plus: Plan, later: Mover) -> None:
    subscribe(key.owner, plus, "Trial", trial_end=ahead(20), read_only_until=ahead(1000))
    response = call(PLAN, key.raw)
    seconds = response.json()["cache_max_age"]
    assert 15 <= seconds <= 20
    assert response["Cache-Control"] == f"private, max-age={seconds}"
    assert response["Vary"] == "Authorization"
    later(seconds + 1)
    after = call(PLAN, key.raw).json()
    assert (after["state"], after["read_only"], after["cache_max_age"]) == ("Expired", True, 300)
