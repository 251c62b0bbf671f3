"""The texts of plan states: on a person's own page, and in the docs. The admin's labels are those of State."""

from collections.abc import Mapping
from dataclasses import dataclass

from accounts.models.subscriptions import State


@dataclass(frozen=True)
class StateTexts:
    """The texts of one state: `status` and `next_change` for the person who has the plan, `meaning` for developers.

    `next_change` announces the change that comes by date; "" where none does.
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
