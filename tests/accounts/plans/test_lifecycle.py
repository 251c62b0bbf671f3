"""The life of a subscription: legal and illegal steps, who took them, and what time brings."""

import re
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from django.conf import settings
from django.db import IntegrityError, transaction

from accounts.models import Account, Plan, Subscription
from accounts.models.plans import State
from accounts.plans import lifecycle
from accounts.plans.lifecycle import Actor, IllegalTransition
from accounts.tasks import advance_subscriptions
from core import audit, clock
from tests.accounts.plans.factories import TEST, ahead, family_of, subscribe
from tests.factories import make_account

pytestmark = pytest.mark.django_db
Mover = Callable[[float], None]

LEGAL = {
    ("Trial", "Active"),
    ("Trial", "Expired"),
    ("Active", "PastDue"),
    ("PastDue", "Active"),
    ("Active", "CancelledPeriodActive"),
    ("CancelledPeriodActive", "Active"),
    ("CancelledPeriodActive", "Cancelled"),
    ("PastDue", "Cancelled"),
    ("PastDue", "Expired"),
    ("Cancelled", "free"),
    ("Expired", "free"),
    # A new beginning.
    ("free", "Trial"),
    ("free", "Active"),
}
HOUR = 3600


def test_the_table_of_the_documentation_has_the_legal_steps() -> None:
    page = (settings.PROJECT_DIR / "docs" / "plans.md").read_text(encoding="utf-8")
    table = page.partition("## States\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| `")]
    states = [[re.findall(r"`(\w+)`", cell) for cell in row] for row in rows]
    steps = {step for before, after in states for step in product(before, after)}
    assert steps ^ LEGAL == set(), "only in “States” of docs/plans.md, or only in LEGAL above"


@pytest.mark.parametrize("state", State.values)
def test_each_step_is_legal_or_refused(pro: Plan, state: str) -> None:
    for to in State.values:
        row = subscribe(make_account(), pro, state, read_only_until=ahead(HOUR))
        # A lapsed plan comes to its end when its window does.
        ends = {"read_only_until": clock.now()} if to == "free" else {}
        before = row.events.count()
        if (state, to) in LEGAL:
            assert lifecycle.transition(row, to, TEST, **ends).state == to
            last = row.events.last()
            assert last is not None
            assert (last.from_state, last.to_state, last.by) == (state, to, "test")
        else:
            with pytest.raises(IllegalTransition):
                lifecycle.transition(row, to, TEST, **ends)
            assert row.events.count() == before
        row.refresh_from_db()
        assert row.state == (to if (state, to) in LEGAL else state)


@pytest.mark.parametrize("state", ["Cancelled", "Expired"])
def test_the_window_has_to_be_over(person: Account, pro: Plan, state: str, later: Mover) -> None:
    row = subscribe(person, pro, state, read_only_until=ahead(HOUR))
    with pytest.raises(IllegalTransition, match="window"):
        lifecycle.transition(row, "free", TEST)
    with pytest.raises(IllegalTransition):
        lifecycle.start_subscription(person, "Active", TEST, plan=pro)
    later(HOUR + 1)
    assert lifecycle.transition(row, "Active", TEST).state == "Active"
    assert [event.by for event in row.events.all()] == ["test", "time", "test"]


# state, dates in seconds from now -> what it is after so many seconds
TIMES: list[tuple[str, dict[str, int], list[tuple[int, str, bool]]]] = [
    ("Trial", {"trial_end": 20}, [(19, "Trial", False), (20, "free", False)]),
    ("Trial", {}, [(10**6, "Trial", False)]),
    (
        "Trial",
        {"trial_end": 20, "read_only_until": 50},
        [(19, "Trial", False), (20, "Expired", True), (49, "Expired", True), (50, "free", False)],
    ),
    ("Trial", {"trial_end": 20, "read_only_until": 10}, [(15, "Trial", False), (20, "free", False)]),
    ("Trial", {"period_end": 5}, [(10, "Trial", False)]),
    ("Active", {"trial_end": 5, "period_end": 5, "read_only_until": 5}, [(10**6, "Active", False)]),
    ("PastDue", {"period_end": 5, "read_only_until": 5}, [(10**6, "PastDue", False)]),
    (
        "CancelledPeriodActive",
        {"period_end": 20, "read_only_until": 50, "trial_end": 1},
        [(19, "CancelledPeriodActive", False), (20, "Cancelled", True), (50, "free", False)],
    ),
    ("CancelledPeriodActive", {"period_end": 20}, [(19, "CancelledPeriodActive", False), (20, "free", False)]),
    ("CancelledPeriodActive", {}, [(10**6, "CancelledPeriodActive", False)]),
    ("Cancelled", {"read_only_until": 20}, [(19, "Cancelled", True), (20, "free", False)]),
    ("Cancelled", {}, [(0, "free", False)]),
    ("Expired", {"read_only_until": 20}, [(0, "Expired", True), (20, "free", False)]),
    ("Expired", {}, [(0, "free", False)]),
    ("free", {"read_only_until": 20, "trial_end": 5}, [(10, "free", False)]),
]


@pytest.mark.parametrize(("state", "dates", "expected"), TIMES)
def test_changes_by_time_are_read_and_stored_alike(
    person: Account, pro: Plan, later: Mover, state: str, dates: Any, expected: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = clock.now()
    monkeypatch.setattr(clock, "now", lambda: start)
    row = subscribe(person, pro, state, **{name: ahead(seconds) for name, seconds in dates.items()})
    for seconds, state_then, read_only in expected:
        moment = start + (ahead(seconds) - start)
        effective = lifecycle.effective_state(row, moment)
        assert (effective.state, effective.read_only) == (state_then, read_only), seconds
        assert effective.next_change is None or effective.next_change > moment
        with monkeypatch.context() as patch:
            patch.setattr(clock, "now", lambda moment=moment: moment)
            advance_subscriptions()
        row.refresh_from_db()
        assert row.state == state_then
        assert lifecycle.effective_state(row, moment) == effective


def test_history_stores_the_moment_of_a_change_by_time(person: Account, pro: Plan, later: Mover) -> None:
    end, window = ahead(10), ahead(30)
    row = subscribe(person, pro, "Trial", trial_end=end, read_only_until=window)
    later(HOUR)
    assert advance_subscriptions() == 1
    assert advance_subscriptions() == 0
    events = [(event.from_state, event.to_state, event.at, event.by) for event in row.events.all()][-2:]
    assert set(events) == {("Trial", "Expired", end, "time"), ("Expired", "free", window, "time")}


def test_the_task_works_in_batches(pro: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "BATCH", 2)
    for _ in range(5):
        subscribe(make_account(), pro, "Trial", trial_end=ahead(-1))
    subscribe(make_account(), pro, "Trial", trial_end=ahead(HOUR))
    assert advance_subscriptions() == 5
    assert sorted(Subscription.objects.values_list("state", flat=True)) == ["Trial"] + ["free"] * 5


def test_a_step_first_stores_changes_by_time(person: Account, pro: Plan) -> None:
    row = subscribe(person, pro, "Trial", trial_end=ahead(-10), read_only_until=ahead(HOUR))
    with pytest.raises(IllegalTransition, match="from Expired"):
        lifecycle.transition(row, "Active", TEST)


def test_the_actor_of_a_step_is_stored_and_reported(person: Account, pro: Plan) -> None:
    heard: list[Any] = []

    def listen(event: Any, **kwargs: Any) -> None:
        heard.append(event)

    audit.happened.connect(listen)
    try:
        row = lifecycle.start_subscription(person, "Trial", TEST, plan=pro, trial_end=ahead(HOUR))
        operator = make_account("op@example.com")
        lifecycle.transition(row, "Active", Actor("operator", operator, "paid by letter"))
    finally:
        audit.happened.disconnect(listen)
    event = row.events.last()
    assert event is not None
    assert (event.actor, event.by, event.note) == (operator, "operator", "paid by letter")
    assert [(e.action, e.actor, e.details["to"]) for e in heard] == [
        ("subscription.changed", None, "Trial"),
        ("subscription.changed", operator.pk, "Active"),
    ]


def test_a_change_without_a_step(person: Account, pro: Plan, team: Plan) -> None:
    row = subscribe(person, pro)
    count = row.events.count()
    lifecycle.change_details(row, TEST, plan=team, period_end=ahead(HOUR), addons={"x": {"quantity": 2}})
    row.refresh_from_db()
    assert (row.plan, row.addons, row.state) == (team, {"x": {"quantity": 2}}, "Active")
    assert row.events.count() == count + 1
    lifecycle.change_details(row, TEST, plan=team)
    assert row.events.count() == count + 1


def test_a_new_beginning_forgets_the_old_dates(person: Account, pro: Plan) -> None:
    row = subscribe(
        person, pro, "Expired", read_only_until=ahead(-5), trial_end=ahead(-9), addons={"x": {"quantity": 1}}
    )
    again = lifecycle.start_subscription(person, "Active", TEST, plan=pro)
    assert again.pk == row.pk
    assert (again.trial_end, again.read_only_until, again.addons) == (None, None, {})


def test_one_subscription_for_exactly_one_holder(person: Account, pro: Plan) -> None:
    subscribe(person, pro)
    for fields in ({}, {"account": person}, {"account": make_account(), "family": family_of(make_account())}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Subscription.objects.create(plan=pro, state="Active", **fields)
    with pytest.raises(IllegalTransition, match="already"):
        lifecycle.start_subscription(person, "Trial", TEST, plan=pro)
