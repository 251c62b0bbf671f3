"""State transitions of a subscription (docs/plans.md#states): the legal ones, their actors, and their texts."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q

from accounts.models import Account, Family, Organization, Plan, Subscription, SubscriptionEvent
from accounts.models.plans import DATES, State
from core import clock
from core.audit import Event, report


@dataclass(frozen=True)
class StateTexts:
    """The texts of one state: `status` and `next_change` for the person who has the plan, `meaning` for developers.

    `next_change` announces the next change by date; "" if there is none.
    """

    status: str
    meaning: str
    next_change: str = ""


STATE_TEXTS: Mapping[str, StateTexts] = {
    State.TRIAL.value: StateTexts("Trial", "a trial, until its end", "The trial ends"),
    State.ACTIVE.value: StateTexts("Active", "paid and running"),
    State.PAST_DUE.value: StateTexts("A payment is overdue", "a payment is late; the plan still runs"),
    State.CANCELLED_PERIOD_ACTIVE.value: StateTexts(
        "Cancelled, and paid until its period ends",
        "cancelled, and paid until the end of the period",
        "The paid period ends",
    ),
    State.CANCELLED.value: StateTexts(
        "Cancelled", "ended after it was cancelled", "Reading ends, and the free plan begins"
    ),
    State.EXPIRED.value: StateTexts(
        "Expired", "ended without having been renewed", "Reading ends, and the free plan begins"
    ),
    State.FREE.value: StateTexts("No paid plan", "no paid plan"),
}


# `due_transitions` returns the transitions that are due at a time. The reader (`effective_state`) and the periodic task
# (`apply_due_transitions`) both use it, so that responses always agree with what the task will store.

TRANSITIONS: dict[str, frozenset[str]] = {
    State.TRIAL: frozenset({State.ACTIVE, State.EXPIRED}),
    State.ACTIVE: frozenset({State.PAST_DUE, State.CANCELLED_PERIOD_ACTIVE}),
    State.PAST_DUE: frozenset({State.ACTIVE, State.CANCELLED, State.EXPIRED}),
    State.CANCELLED_PERIOD_ACTIVE: frozenset({State.ACTIVE, State.CANCELLED}),
    State.CANCELLED: frozenset({State.FREE}),
    State.EXPIRED: frozenset({State.FREE}),
    State.FREE: frozenset(),
}
INITIAL_STATES = frozenset({State.TRIAL, State.ACTIVE})
LIVE_STATES = frozenset({State.TRIAL, State.ACTIVE, State.PAST_DUE, State.CANCELLED_PERIOD_ACTIVE})
LAPSED_STATES = frozenset({State.CANCELLED, State.EXPIRED})
DETAIL_FIELDS = frozenset({"plan", *DATES, "addons"})
# States that end at a date: state -> (field with that date, state after it).
_ENDS = {
    State.TRIAL.value: ("trial_end", State.EXPIRED),
    State.CANCELLED_PERIOD_ACTIVE.value: ("period_end", State.CANCELLED),
}
BATCH = 500

Holder = Account | Family | Organization


class IllegalTransition(Exception):
    """The transition is not allowed from this state; the argument is a message that lists the allowed ones."""


@dataclass(frozen=True)
class Actor:
    """The actor of a transition: a short name for the history, and the account, if it is a person."""

    name: str
    actor: Account | None = None
    note: str = ""


BY_TIME = Actor("time")


@dataclass(frozen=True)
class Transition:
    """A transition that is due by date, and its time."""

    to: str
    at: datetime


@dataclass(frozen=True)
class EffectiveState:
    """The state of a subscription at a time, and when it next changes by date (None: never)."""

    state: str
    read_only: bool
    next_change: datetime | None


def due_transitions(subscription: Subscription, moment: datetime) -> list[Transition]:
    """Return the transitions that are due by `moment` and not stored yet, in order."""
    steps: list[Transition] = []
    state: str = subscription.state
    if state in _ENDS:
        field, after = _ENDS[state]
        end: datetime | None = getattr(subscription, field)
        if end is not None and end <= moment:
            steps.append(Transition(after.value, end))
            state = after.value
    if state in LAPSED_STATES:
        window = subscription.read_only_until
        if window is None or window <= moment:
            lapsed_at = steps[-1].at if steps else None
            known = [time for time in (lapsed_at, window) if time is not None]
            steps.append(Transition(State.FREE.value, max(known, default=moment)))
    return steps


def effective_state(subscription: Subscription, moment: datetime) -> EffectiveState:
    """Return the state of `subscription` at `moment`. Only reads the given row, and stores nothing."""
    steps = due_transitions(subscription, moment)
    state: str = steps[-1].to if steps else subscription.state
    if state in LAPSED_STATES:  # only inside the window; after it the state is free
        return EffectiveState(state, True, subscription.read_only_until)
    next_change = getattr(subscription, _ENDS[state][0]) if state in _ENDS else None
    return EffectiveState(state, False, next_change)


def _record(subscription: Subscription, from_state: str, by: Actor, moment: datetime) -> None:
    to_state: str = subscription.state
    SubscriptionEvent.objects.create(
        subscription=subscription,
        from_state=from_state,
        to_state=to_state,
        at=moment,
        actor=by.actor,
        by=by.name[:100],
        note=by.note,
    )
    details = {"from": from_state, "to": to_state, "by": by.name}
    actor = by.actor.pk if by.actor else None
    report(Event("subscription.changed", actor, target=f"subscription:{subscription.pk}", details=details))


def _catch_up(subscription: Subscription, moment: datetime) -> bool:
    """Store the due transitions of a locked row; return whether there were any."""
    steps = due_transitions(subscription, moment)
    for step in steps:
        before, subscription.state = subscription.state, step.to
        _record(subscription, before, BY_TIME, step.at)
    if steps:
        subscription.save(update_fields=["state"])
    return bool(steps)


def _apply(subscription: Subscription, details: dict[str, Any]) -> bool:
    """Set dates, plan and add-ons; return whether any of them changed."""
    unknown = set(details) - DETAIL_FIELDS
    if unknown:
        raise TypeError(f"unknown details of a subscription: {', '.join(sorted(unknown))}")
    before = {name: getattr(subscription, name) for name in DETAIL_FIELDS - {"plan"}}
    if subscription.plan_id is not None:
        before["plan"] = subscription.plan
    changed = {name: value for name, value in details.items() if name not in before or before[name] != value}
    for name, value in changed.items():
        setattr(subscription, name, value)
    return bool(changed)


def check_transition(state: str, to: str) -> None:
    """Raise IllegalTransition unless the transition from `state` to `to` is allowed."""
    if to not in TRANSITIONS[state]:
        allowed = ", ".join(sorted(TRANSITIONS[state])) or "a new subscription"
        raise IllegalTransition(f"A subscription can't change from {state} to {to}. From {state}, allowed: {allowed}.")


@transaction.atomic
def transition(subscription: Subscription, to: str, by: Actor, **details: Any) -> Subscription:
    """Make a transition, with new dates, plan or add-ons if given (DETAIL_FIELDS), and return the updated row.

    It has to be legal after the transitions that are due by date. If it raises IllegalTransition, nothing is changed.
    """
    moment = clock.now()
    row = lock_subscription(subscription.holder)
    assert row is not None
    _catch_up(row, moment)
    if row.state == State.FREE and to in INITIAL_STATES:
        return start_subscription(row.holder, to, by, **({"plan": row.plan} | details))
    check_transition(row.state, to)
    window = details.get("read_only_until", row.read_only_until)
    if to == State.FREE and window is not None and window > moment:
        raise IllegalTransition(f"The read-only window lasts until {window:%Y-%m-%d %H:%M:%S} UTC.")
    before, row.state = row.state, to
    _apply(row, details)
    row.save()
    _record(row, before, by, moment)
    return row


@transaction.atomic
def change_details(subscription: Subscription, by: Actor, **details: Any) -> Subscription:
    """Change dates, plan or add-ons (DETAIL_FIELDS) without a transition, for example for a renewal."""
    moment = clock.now()
    row = lock_subscription(subscription.holder)
    assert row is not None
    _catch_up(row, moment)
    if _apply(row, details):
        row.save()
        _record(row, row.state, by, moment)
    return row


def _held_by(holder: Holder) -> dict[str, Holder]:
    match holder:
        case Account():
            return {"account": holder}
        case Family():
            return {"family": holder}
        case _:
            return {"organization": holder}


def lock_subscription(holder: Holder) -> Subscription | None:
    """Return the holder's subscription, locked. The holder is locked too, so that two can't be created at once.

    Call this inside a transaction, and before any decision that depends on the row.
    """
    type(holder)._default_manager.select_for_update(no_key=True).get(pk=holder.pk)
    return Subscription.objects.select_for_update().filter(**_held_by(holder)).first()


@transaction.atomic
def start_subscription(holder: Holder, state: str, by: Actor, *, plan: Plan, **details: Any) -> Subscription:
    """Start a subscription (Trial or Active) for a holder who has none, or whose last one has ended (`free`).

    Dates and add-ons of an earlier one are dropped. Raises IllegalTransition.
    """
    moment = clock.now()
    row = lock_subscription(holder)
    if row is not None and effective_state(row, moment).state != State.FREE:
        raise IllegalTransition(f"There is already a subscription, in state {effective_state(row, moment).state}.")
    if state not in INITIAL_STATES:
        raise IllegalTransition(f"A subscription begins as {' or '.join(sorted(INITIAL_STATES))}, not as {state}.")
    if row is not None:
        _catch_up(row, moment)
    row = row or Subscription(**_held_by(holder))
    before, row.state = row.state, state
    blank: dict[str, Any] = dict.fromkeys(DATES) | {"addons": {}}
    _apply(row, blank | details | {"plan": plan})
    row.save()
    _record(row, before, by, moment)
    return row


@transaction.atomic
def declare_subscription(holder: Holder, state: str, by: Actor, *, plan: Plan, **details: Any) -> Subscription:
    """Set a subscription to any state, whatever its state is: for `manage.py provision`."""
    row = lock_subscription(holder) or Subscription(**_held_by(holder))
    before, row.state = row.state, state
    if _apply(row, details | {"plan": plan}) or before != state or row.pk is None:
        row.save()
        _record(row, before, by, clock.now())
    return row


def _due(moment: datetime) -> Q:
    lapsed = Q(state__in=LAPSED_STATES) & (Q(read_only_until=None) | Q(read_only_until__lte=moment))
    for state, (field, _) in _ENDS.items():
        lapsed |= Q(state=state, **{f"{field}__lte": moment})
    return lapsed


def apply_due_transitions() -> int:
    """Store all transitions that are due by date, in batches; return how many subscriptions changed.

    Safe to run concurrently: each row is changed under its lock, and rows that are locked already are skipped.
    """
    moment = clock.now()
    moved, after = 0, 0
    while True:
        with transaction.atomic():
            due = Subscription.objects.filter(_due(moment), pk__gt=after).order_by("pk")
            rows = list(due.select_for_update(skip_locked=True)[:BATCH])
            moved += sum(_catch_up(row, moment) for row in rows)
        if not rows:
            return moved
        after = rows[-1].pk
