"""Readers, steps, reports and the periodic task at once, on PostgreSQL with separate connections."""

import json
import threading
from typing import Any

import pytest
from django.db import transaction

from accounts.models import Account, BillingEvent, Plan, Subscription
from accounts.plans import billing, lifecycle, resolution
from accounts.plans.lifecycle import Actor, IllegalTransition
from core.http.webhooks import WebhookError
from tests.accounts.plans.factories import TEST, ahead, make_plan, subscribe
from tests.accounts.plans.shape import check_shape
from tests.at_once import at_once
from tests.factories import make_account

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

ROUNDS = 60


@pytest.fixture
def person() -> Account:
    return make_account("ada@example.com")


def test_no_answer_mixes_two_states(person: Account) -> None:
    """Plan, add-ons, dates and catalogue change together; each answer is of one moment."""
    even = make_plan("even", apps=["even"], storage=("granted_with_limit", 2, "even"))
    odd = make_plan("odd", apps=["odd"], storage=("granted_with_limit", 1, "odd"))
    row = subscribe(person, even, "Active", addons={"even": {"quantity": 1}})
    done = threading.Event()
    seen: set[tuple[str, str]] = set()

    def write() -> None:
        try:
            for number in range(ROUNDS):
                plan, state = (odd, "PastDue") if number % 2 == 0 else (even, "Active")
                with transaction.atomic():
                    # The names of both plans say how often this was done, and differ from round to round.
                    for each in (even, odd):
                        each.display_name = f"{each.plan_id} {number}"
                        each.apps = [each.plan_id, str(number)]
                        each.save()
                    lifecycle.transition(row, state, TEST, plan=plan, addons={plan.plan_id: {"quantity": number + 1}})
        finally:
            done.set()

    def read() -> None:
        while not done.is_set():
            answer = resolution.resolve_plan(person).answer
            check_shape(answer)
            name = answer["plan_id"]
            state = {"even": "Active", "odd": "PastDue"}[name]
            assert answer["state"] == state
            assert answer["entitlements"]["storage"]["unit"] == name
            ((addon, entry),) = answer["addons"].items()
            assert addon == name
            assert answer["apps"][0] == name
            if len(answer["apps"]) == 2:
                number = answer["apps"][1]
                assert answer["plan_display_name"] == f"{name} {number}"
                assert entry["quantity"] == int(number) + 1
            seen.add((name, state))

    at_once(5, lambda number: write() if number == 0 else read())
    assert seen == {("even", "Active"), ("odd", "PastDue")}


def test_the_task_at_once_moves_each_row_once() -> None:
    pro = make_plan("pro")
    for _ in range(30):
        subscribe(make_account(), pro, "Trial", trial_end=ahead(-5), read_only_until=ahead(1000))
    moved = at_once(4, lambda number: lifecycle.apply_due_transitions())
    assert sum(moved) == 30
    for row in Subscription.objects.all():
        assert [event.to_state for event in row.events.filter(by="time")] == ["Expired"]


def test_two_steps_at_once_are_checked_one_after_the_other(person: Account) -> None:
    row = subscribe(person, make_plan("pro"), "Active")

    def step(number: int) -> str:
        try:
            lifecycle.transition(row, ("PastDue", "CancelledPeriodActive")[number % 2], Actor(str(number)))
        except IllegalTransition:
            return "refused"
        return "moved"

    outcomes = at_once(6, step)
    assert outcomes.count("moved") == 1
    assert row.events.count() == 2


def test_concurrent_beginnings_create_one_subscription(person: Account) -> None:
    pro = make_plan("pro")

    def begin(number: int) -> str:
        try:
            lifecycle.start_subscription(Account.objects.get(pk=person.pk), "Active", Actor(str(number)), plan=pro)
        except IllegalTransition:
            return "refused"
        return "started"

    assert at_once(6, begin).count("started") == 1


def report(person: Account, **values: Any) -> bytes:
    event = {"id": "evt", "holder": {"account": person.email}, "plan": "pro", "state": "Active"}
    return json.dumps(event | values).encode()


def test_one_report_sent_many_times_at_once_counts_once(person: Account) -> None:
    make_plan("pro")
    assert at_once(6, lambda number: billing.apply_notification(report(person))).count(True) == 1
    assert Subscription.objects.get().events.count() == 1


def test_different_reports_at_once_are_applied_one_after_another(person: Account) -> None:
    plan: Plan = make_plan("pro")

    def apply(number: int) -> str:
        state = "Active" if number % 2 else "Trial"
        try:
            billing.apply_notification(report(person, id=str(number), state=state))
        except WebhookError as refused:
            return refused.code
        return "applied"

    outcomes = at_once(6, apply)
    row = Subscription.objects.get()
    assert row.plan == plan
    assert set(outcomes) <= {"applied", "illegal_transition"}
    assert BillingEvent.objects.count() == outcomes.count("applied")
