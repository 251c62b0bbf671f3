"""POST /hooks/billing: signed, once for each event, legal steps only, and nothing half done."""

import hashlib
import hmac
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account, BillingEvent, Plan, Subscription
from accounts.plans import lifecycle
from core import clock
from tests.accounts.plans.factories import ahead, family_of, organization_of, subscribe
from tests.exports import exported
from tests.factories import make_account

pytestmark = pytest.mark.django_db
SECRET = "a secret shared with the billing system"
PATH = "/hooks/billing"
Mover = Callable[[float], None]


@pytest.fixture(autouse=True)
def secret(settings: Any) -> None:
    settings.BILLING_SECRET = SECRET


def sign(body: bytes, timestamp: str, secret: str = SECRET) -> str:
    return "sha256=" + hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def send(body: Any, timestamp: str | None = None, signature: str | None = None, method: str = "POST") -> Any:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    timestamp = str(clock.timestamp()) if timestamp is None else timestamp
    headers = {"Billing-Timestamp": timestamp, "Billing-Signature": signature or sign(raw, timestamp)}
    browser = Browser(enforce_csrf_checks=True)
    return browser.generic(method, PATH, raw, content_type="application/json", headers=headers)


def refusal(response: Any) -> tuple[int, str]:
    assert response["Content-Type"] == "application/json"
    return response.status_code, response.json()["error"]["code"]


def event(person: Account, **values: Any) -> dict[str, Any]:
    return {"id": "evt_1", "holder": {"account": person.email}, "plan": "pro", "state": "Active"} | values


def test_a_subscription_begins(person: Account, pro: Plan) -> None:
    response = send(event(person, state="Trial", trial_end="2031-01-01T00:00:00Z", addons={"fax": {"quantity": 2}}))
    assert (response.status_code, response.json()) == (200, {"applied": True})
    row = Subscription.objects.get()
    assert (row.account, row.plan, row.state, row.addons) == (person, pro, "Trial", {"fax": {"quantity": 2}})
    assert row.trial_end is not None
    assert row.trial_end.isoformat() == "2031-01-01T00:00:00+00:00"
    history = row.events.get()
    assert (history.by, history.note) == ("billing", "evt_1")


def test_families_and_organizations(person: Account, pro: Plan) -> None:
    family, organization = family_of(person), organization_of(person)
    assert send(event(person, id="1", holder={"family": person.email.upper()})).status_code == 200
    assert send(event(person, id="2", holder={"organization": "Acme"})).status_code == 200
    assert Subscription.objects.filter(family=family, state="Active").exists()
    assert Subscription.objects.filter(organization=organization, state="Active").exists()


def test_an_event_is_applied_once(person: Account, pro: Plan) -> None:
    first = event(person)
    assert send(first).json() == {"applied": True}
    send(event(person, id="evt_2", state="PastDue"))
    assert send(first).json() == {"applied": False}
    assert Subscription.objects.get().state == "PastDue"
    assert refusal(send(event(person, state="CancelledPeriodActive"))) == (409, "id_reused")


@pytest.mark.parametrize("late", [{"state": "PastDue"}, {"period_end": None}, {"state": "Expired", "plan": "team"}])
def test_a_late_report_does_not_overwrite_a_newer_one(
    person: Account, pro: Plan, team: Plan, late: dict[str, Any]
) -> None:
    first, second, third = ((clock.now() - timedelta(seconds=ago)).isoformat() for ago in (30, 20, 10))
    end = "2031-01-01T00:00:00+00:00"
    assert send(event(person, id="1", at=first)).json() == {"applied": True}
    assert send(event(person, id="3", at=third, period_end=end)).json() == {"applied": True}
    sent = event(person, id="2", at=second) | late
    for _ in range(2):
        assert send(sent).json() == {"applied": False}
    row = Subscription.objects.get()
    assert (row.state, row.plan, row.period_end.isoformat() if row.period_end else "") == ("Active", pro, end)
    assert row.events.count() == 2
    # A late report about another subscription, and one of the same moment, are applied.
    other = make_account("bob@example.com")
    assert send(event(other, id="4", at=second)).json() == {"applied": True}
    assert send(event(person, id="5", at=third, state="PastDue")).json() == {"applied": True}


def test_without_a_time_the_signature_has_it(person: Account, pro: Plan) -> None:
    now = clock.timestamp()
    assert send(event(person, id="2"), str(now)).json() == {"applied": True}
    assert send(event(person, id="1", state="PastDue"), str(now - 60)).json() == {"applied": False}
    assert send(event(person, id="3", state="PastDue"), str(now)).json() == {"applied": True}


def test_a_rejected_report_makes_none_late(person: Account, pro: Plan) -> None:
    first, second = ((clock.now() - timedelta(seconds=ago)).isoformat() for ago in (20, 10))
    assert send(event(person, id="1", at=first)).json() == {"applied": True}
    assert refusal(send(event(person, id="3", at=second, state="Expired"))) == (409, "illegal_transition")
    assert send(event(person, id="2", at=first, state="PastDue")).json() == {"applied": True}


def test_an_illegal_step_changes_nothing_and_may_come_again(person: Account, pro: Plan, team: Plan) -> None:
    row = subscribe(person, pro, "Active")
    count = row.events.count()
    sent = event(person, state="Expired", plan="team", addons={"x": {"quantity": 1}})
    response = send(sent)
    assert refusal(response) == (409, "illegal_transition")
    assert "from Active to Expired" in response.json()["error"]["message"]
    row.refresh_from_db()
    assert (row.state, row.plan, row.addons, row.events.count()) == ("Active", pro, {}, count)
    assert not BillingEvent.objects.exists()
    lifecycle.transition(row, "PastDue", lifecycle.Actor("test"))
    assert send(sent).json() == {"applied": True}


def test_a_renewal_changes_only_the_period(person: Account, pro: Plan) -> None:
    subscribe(person, pro, "Active", period_end=ahead(5))
    assert send(event(person, period_end="2032-01-01T00:00:00+02:00")).status_code == 200
    assert send({"id": "2", "holder": {"account": person.email}, "addons": {"a": {"quantity": 1}}}).status_code == 200
    row = Subscription.objects.get()
    assert row.period_end is not None
    assert row.period_end.isoformat() == "2031-12-31T22:00:00+00:00"
    assert row.addons == {"a": {"quantity": 1}}


def test_time_comes_first(person: Account, pro: Plan, later: Mover) -> None:
    subscribe(person, pro, "Trial", trial_end=ahead(60), read_only_until=ahead(600))
    later(61)
    assert refusal(send(event(person))) == (409, "illegal_transition")
    now = clock.now().isoformat()
    assert send(event(person, state="free", read_only_until=now)).status_code == 200
    assert send(event(person, id="evt_2")).status_code == 200
    assert Subscription.objects.get().state == "Active"


def test_an_end_cannot_come_first(person: Account, pro: Plan) -> None:
    assert refusal(send(event(person, state="PastDue"))) == (409, "illegal_transition")
    assert refusal(send({"id": "1", "holder": {"account": person.email}})) == (409, "illegal_transition")
    assert not Subscription.objects.exists()


def test_unknown_people_and_plans_are_rejected(person: Account, pro: Plan) -> None:
    for kind in ("account", "family", "organization"):
        assert refusal(send(event(person, holder={kind: "nobody@example.com"}))) == (422, "unknown_holder")
    assert refusal(send(event(person, plan="gold"))) == (422, "unknown_plan")
    assert not BillingEvent.objects.exists()


MALFORMED: list[dict[str, Any]] = [
    {"id": ""},
    {"id": 7},
    {"id": "x" * 201},
    {"id": "a\x00b"},
    {"id": "\ud800"},
    {"holder": "ada@example.com"},
    {"holder": {}},
    {"holder": {"account": "ada@example.com", "family": "ada@example.com"}},
    {"holder": {"account": None}},
    {"holder": {"king": "x"}},
    {"plan": None},
    {"state": "active"},
    {"state": None},
    {"state": ["Active"]},
    {"trial_end": "tomorrow"},
    {"trial_end": "2031-01-01T00:00:00"},
    {"trial_end": "2031-13-01T00:00:00Z"},
    {"period_end": 1700000000},
    # Another year elsewhere, or before anything began: no database, or no page, has them.
    {"period_end": "0001-01-01T00:00:00+14:00"},
    {"period_end": "0001-01-01T00:00:00Z"},
    {"period_end": "9999-12-31T23:59:59-14:00"},
    {"read_only_until": "9999-12-31T23:59:59Z"},
    {"trial_end": "1969-12-31T23:59:59Z"},
    {"addons": []},
    {"addons": {"x": {"quantity": 0}}},  # tests/accounts/plans/test_addons.py has more
    {"at": None},
    {"at": 1700000000},
    {"at": "2031-01-01T00:00:00"},
    {"at": "2200-01-01T00:00:00+00:00"},
    {"more": 1},
]


def test_a_malformed_report_is_refused_by_key(person: Account, pro: Plan) -> None:
    for broken in MALFORMED:
        response = send(event(person, **broken))
        assert refusal(response) == (400, "malformed"), broken
        assert next(iter(broken)) in response.json()["error"]["message"]
    assert not Subscription.objects.exists()
    assert not BillingEvent.objects.exists()


@pytest.mark.parametrize("moment", ["1970-01-01T00:00:00+00:00", "9997-12-31T23:59:59+00:00"])
def test_dates_near_the_ends_of_the_calendar_are_taken(person: Account, pro: Plan, moment: str) -> None:
    assert send(event(person, period_end=moment, trial_end=moment, read_only_until=moment)).status_code == 200
    browser = Browser()
    browser.force_login(person)
    assert browser.get("/account/plan").status_code == 200
    assert exported(person)["plan"]["subscription"]["period_end"]


def test_a_body_must_be_a_json_object() -> None:
    for body in (b"", b"[]", b"null", b"{", b"\xff\xfe", b"[" * 50_000):
        assert refusal(send(body)) == (400, "malformed"), body[:10]


WRONG_SIGNATURES = [
    (None, "sha256=" + "0" * 64),
    (None, "sha256="),
    (None, "é"),
    (None, "md5=" + "0" * 32),
    ("", "sha256=" + "0" * 64),
    ("-1", None),
    ("1e9", None),
    ("١٢٣", "sha256=" + "0" * 64),
    ("9" * 13, None),
]


def test_a_wrong_signature_is_refused(person: Account, pro: Plan) -> None:
    for timestamp, signature in WRONG_SIGNATURES:
        assert refusal(send(event(person), timestamp, signature)) == (401, "invalid_signature"), (timestamp, signature)
    assert not Subscription.objects.exists()


def test_a_signature_holds_for_its_secret_body_and_time(person: Account, pro: Plan) -> None:
    now = str(clock.timestamp())
    raw = json.dumps(event(person)).encode()
    assert refusal(send(raw, now, sign(raw, now, "another"))) == (401, "invalid_signature")
    assert refusal(send(raw + b" ", now, sign(raw, now))) == (401, "invalid_signature")
    assert refusal(send(raw, str(int(now) - 1), sign(raw, now))) == (401, "invalid_signature")
    assert Browser().post(PATH, raw, content_type="application/json").status_code == 401
    assert send(raw, now, sign(raw, now)).status_code == 200


@pytest.mark.parametrize(("seconds", "status"), [(-310, 401), (-290, 200), (290, 200), (310, 401)])
def test_the_clock_may_differ_by_five_minutes(person: Account, pro: Plan, seconds: int, status: int) -> None:
    assert send(event(person), str(clock.timestamp() + seconds)).status_code == status


def test_without_a_secret_the_page_is_404(person: Account, settings: Any) -> None:
    settings.BILLING_SECRET = ""
    assert refusal(send(event(person), signature=sign(b"", "", ""))) == (404, "not_found")


def test_other_methods_and_sizes(person: Account) -> None:
    response = send(b"", method="GET")
    assert refusal(response) == (405, "method_not_allowed")
    assert response["Allow"] == "POST"
    for size in (65 * 1024, 300 * 1024):
        assert refusal(send(b" " * size)) == (413, "too_large")


def test_another_persons_subscription_stays(person: Account, pro: Plan) -> None:
    other = make_account()
    subscribe(other, pro, "PastDue")
    send(event(person))
    assert Subscription.objects.get(account=other).state == "PastDue"
