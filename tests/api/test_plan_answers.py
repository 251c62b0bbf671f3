"""GET /v1/me/plan: golden answers, caching, statements."""

from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import Account, Plan
from accounts.plans import resolution
from accounts.sources import SourceFailed
from tests import golden_files
from tests.accounts.plans.factories import ahead, family_of, make_plan, organization_of, subscribe
from tests.accounts.plans.shape import check_shape
from tests.api.calls import PLAN, call, refusal
from tests.api.conftest import Key
from tests.factories import make_account
from tests.oidc.test_budgets import Counted

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


def free(person: Account, plus: Plan) -> None:
    pass


def own_trial(person: Account, plus: Plan) -> None:
    subscribe(person, plus, "Trial", trial_end=ahead(FAR))


def family_member(person: Account, plus: Plan) -> None:
    subscribe(family_of(make_account(), person), plus)


def organization_seat(person: Account, plus: Plan) -> None:
    subscribe(organization_of(person), plus)


def past_due(person: Account, plus: Plan) -> None:
    subscribe(person, plus, "PastDue", period_end=ahead(-FAR))


def cancelled_but_paid(person: Account, plus: Plan) -> None:
    subscribe(person, plus, "CancelledPeriodActive", period_end=ahead(FAR))


def read_only(person: Account, plus: Plan) -> None:
    subscribe(person, plus, "Cancelled", read_only_until=ahead(FAR))


def expired(person: Account, plus: Plan) -> None:
    subscribe(person, plus, "Expired", read_only_until=ahead(-1))


def with_addons(person: Account, plus: Plan) -> None:
    subscribe(person, plus, addons={"extra_storage": {"quantity": 2}, "fax": {"quantity": 1}})


def without_limits(person: Account, plus: Plan) -> None:
    subscribe(person, make_plan("all", rank=20, age=60, storage=("granted", None, None)))


@pytest.mark.parametrize(
    "case",
    [
        free,
        own_trial,
        family_member,
        organization_seat,
        past_due,
        cancelled_but_paid,
        read_only,
        expired,
        with_addons,
        without_limits,
    ],
)
def test_golden(case: Callable[[Account, Plan], None], key: Key, plus: Plan) -> None:
    case(key.owner, plus)
    response = call(PLAN, key.raw)
    assert response.status_code == 200
    check_shape(response.json())
    golden_files.compare(f"plan_{case.__name__}", response.json())


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


def test_an_etag_holds_until_the_answer_changes(key: Key, plus: Plan) -> None:
    row = subscribe(key.owner, plus)
    first = call(PLAN, key.raw)
    etag = first["ETag"]
    for sent in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        again = call(PLAN, key.raw, **{"If-None-Match": sent})
        assert (again.status_code, again.content) == (304, b"")
        assert again["ETag"] == etag
        assert again["Cache-Control"] == "private, max-age=300"
    row.state = "PastDue"
    row.save()
    changed = call(PLAN, key.raw, **{"If-None-Match": etag})
    assert changed.status_code == 200
    assert changed["ETag"] != etag


def test_two_statements_at_most(key: Key, plus: Plan) -> None:
    subscribe(key.owner, plus)
    subscribe(family_of(make_account(), key.owner), plus)
    subscribe(organization_of(key.owner), plus)
    subscribe(organization_of(key.owner, name="Other"), plus)
    call(PLAN, key.raw)
    with Counted() as counted:
        assert call(PLAN, key.raw).status_code == 200
    assert len(counted.statements) <= 2, "\n".join(counted.statements)


class Broken:
    def plan(self, account: Account) -> Any:
        raise SourceFailed("down")


def test_a_source_that_is_down_makes_nobody_free(key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolution, "_source", Broken())
    response = call(PLAN, key.raw)
    assert refusal(response) == (502, "upstream_unavailable")
    assert response["Cache-Control"] == "no-store"
    assert "ETag" not in response
