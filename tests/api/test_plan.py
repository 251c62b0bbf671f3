"""GET /v1/me/plan: the plan object and how it may be cached (docs/api.md#get-v1meplan)."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from accounts.models import Account, Plan
from accounts.plans import resolution
from accounts.profile.sources import HttpSource
from tests.accounts.plans.factories import ahead, family_of, make_plan, organization_of, subscribe
from tests.accounts.plans.shape import check_shape
from tests.api.calls import ME, PLAN, call, refusal
from tests.api.conftest import Key, Mover
from tests.factories import make_account

PAID: dict[str, Any] = {
    "plan_id": "pro",
    "plan_display_name": "Pro",
    "source": "family",
    "state": "PastDue",
    "read_only": False,
    "cache_max_age": 17,
    "apps": ["notes"],
    "addons": {"storage": {"quantity": 2}},
    "entitlements": {"notes.count": {"status": "granted_with_limit", "limit": 12.5, "unit": "GB"}},
}


def test_a_plan_that_may_not_be_kept_says_so(key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolution.DatabasePlans, "plan", lambda self, account: PAID | {"cache_max_age": 0})
    assert call(PLAN, key.raw)["Cache-Control"] == "private, max-age=0"


def test_an_unchanged_plan_is_304(key: Key, mid_minute: Mover) -> None:
    first = call(PLAN, key.raw)
    for number, form in enumerate(("{}", "W/{}", '"other", {}', '"a",{} , "b"', "*"), 1):
        again = call(PLAN, key.raw, **{"If-None-Match": form.format(first["ETag"])})
        assert (again.status_code, again.content) == (304, b""), form
        # RFC 9110 §15.4.5: what a 200 would have said of caching.
        for name in ("ETag", "Cache-Control", "Vary"):
            assert again[name] == first[name]
        assert again["RateLimit-Remaining"] == str(int(first["RateLimit-Remaining"]) - number)


def test_a_changed_plan_is_sent(key: Key) -> None:
    etag = call(PLAN, key.raw)["ETag"].strip('"')
    for form in ('"other"', "", "nonsense", '"{}', '"\xff"', '"*"', "W/", ","):
        assert call(PLAN, key.raw, **{"If-None-Match": form.format(etag[:-1])}).status_code == 200, form


def test_another_plan_has_another_etag(key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    free = call(PLAN, key.raw)["ETag"]
    monkeypatch.setattr(resolution.DatabasePlans, "plan", lambda self, account: PAID)
    changed = call(PLAN, key.raw, **{"If-None-Match": free})
    assert changed.status_code == 200
    assert changed["ETag"] != free
    assert changed["ETag"].startswith('"')


def test_an_etag_opens_nothing(key: Key, token: str) -> None:
    etag = call(PLAN, key.raw)["ETag"]
    for credential, status in ((None, 401), ("op_key_x", 401), (token, 403)):
        assert call(PLAN, credential, **{"If-None-Match": etag}).status_code == status


def test_a_profile_is_never_unchanged(key: Key) -> None:
    response = call("/v1/me", key.raw, **{"If-None-Match": "*"})
    assert response.status_code == 200
    assert "ETag" not in response


# --- A plan that lives elsewhere ---


def use(monkeypatch: pytest.MonkeyPatch, answer: Callable[[httpx.Request], httpx.Response]) -> None:
    """Have plans come from the operator's own service."""
    source = HttpSource("https://billing.example/plan", "", httpx.MockTransport(answer))
    monkeypatch.setattr(resolution, "_source", resolution.HttpPlans(source))


def test_the_plan_is_passed_on_unchanged_without_other_fields(key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, lambda request: httpx.Response(200, json=PAID | {"account_id": 7, "customer": "cus_1"}))
    response = call(PLAN, key.raw)
    assert response.json() == PAID
    assert response["Cache-Control"] == "private, max-age=17"


def test_an_invalid_plan_is_rejected(key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    """tests/accounts/plans/test_sources.py has what is invalid."""
    use(monkeypatch, lambda request: httpx.Response(200, json=PAID | {"plan_id": ""}))
    response = call(PLAN, key.raw)
    assert refusal(response) == (502, "upstream_unavailable")
    assert response["Cache-Control"] == "no-store"
    assert "ETag" not in response
    assert call(ME, key.raw).status_code == 200


def test_an_old_etag_does_not_hide_that_it_is_down(key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, lambda request: httpx.Response(200, json=PAID))
    etag = call(PLAN, key.raw)["ETag"]
    use(monkeypatch, lambda request: httpx.Response(503))
    assert refusal(call(PLAN, key.raw, **{"If-None-Match": etag})) == (502, "upstream_unavailable")


# --- The answer for each kind of subscription ---

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
