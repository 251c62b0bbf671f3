"""The operator's overview: the admin's first page (docs/operations.md#the-admin).

Each card is about one list, which it links to, and is only shown to people who may see that list. If a figure can't be
read in time, its card says so, and the other cards are shown as usual.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError
from django.http import HttpRequest
from django.urls import reverse
from django.utils.timesince import timesince
from redis.exceptions import RedisError

from core import clock
from core.admin.theme import may_view
from core.database.postgres.limits import attempt, bounded_statements
from devportal.operations import readers, task_runs

STATEMENT_MILLISECONDS = 1000
# From these ages on, a card needs attention.
OLD_MAIL = timedelta(minutes=10)
OLD_DELIVERY = timedelta(minutes=5)
OLD_REVIEW = timedelta(days=3)
GOOD, NEUTRAL, ATTENTION, BAD, UNKNOWN = "good", "neutral", "attention", "bad", "unknown"
STATES = {GOOD: "Good", NEUTRAL: "", ATTENTION: "Look at this", BAD: "Act now", UNKNOWN: "Not known"}


@dataclass(frozen=True)
class Card:
    """One figure of the overview: its title, value, a note, and the list that it links to."""

    title: str
    value: str
    notes: tuple[str, ...] = ()
    state: str = NEUTRAL
    links: tuple[tuple[str, str], ...] = ()  # texts and URLs of single rows
    url: str = ""

    @property
    def state_text(self) -> str:
        """The state in words, because some people can't see the colour."""
        return STATES[self.state]


@dataclass(frozen=True)
class Panel:
    """The source of a card. People need the view permission of `model`, named as in the admin's URLs."""

    title: str
    model: str
    read: Callable[[], Card]
    # The card's URL, if it is not the model's list.
    url: Callable[[], str] | None = field(default=None)


def add_overview(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Add `cards` to the context of the admin's first page (UNFOLD's DASHBOARD_CALLBACK)."""
    return context | {"cards": cards(request)}


def cards(request: HttpRequest) -> list[Card]:
    """Return the cards for this person."""
    panels = [panel for panel in PANELS if may_view(panel.model)(request)]
    made: list[Card] = []
    try:
        with bounded_statements(STATEMENT_MILLISECONDS):
            for panel in panels:
                made.append(_card(panel))
    except DatabaseError:  # raised when the transaction ends: the figures read before are valid
        made += [_unknown(panel) for panel in panels[len(made) :]]
    return made


def _card(panel: Panel) -> Card:
    try:
        with attempt():
            card = panel.read()
    except (DatabaseError, RedisError):
        return _unknown(panel)
    return _placed(card, panel)


def _unknown(panel: Panel) -> Card:
    return _placed(Card(panel.title, "Not known", ("It could not be read in time.",), UNKNOWN), panel)


def _placed(card: Card, panel: Panel) -> Card:
    url = panel.url() if panel.url else reverse(f"admin:{panel.model}_changelist")
    return Card(card.title, card.value, card.notes, card.state, card.links, url)


def _age(moment: datetime) -> str:
    return timesince(moment, clock.now(), depth=1)


def _count(number: int, most: int = 0) -> str:
    return f"{number:,}" + ("+" if most and number >= most else "")


def _sign_ins() -> Card:
    found = readers.sign_ins()
    notes = [
        f"{found['refused']:,} refused, {found['cancelled']:,} cancelled",
        f"The 24 hours before: {found['signed_in_before']:,} signed in, {found['refused_before']:,} refused",
    ]
    if found["all_rows"] >= readers.MOST_COUNTED:
        notes = [notes[0], f"Of the newest {readers.MOST_COUNTED:,} entries alone"]
    return Card("Sign-ins to apps, 24 hours", f"{found['signed_in']:,}", tuple(notes))


def _errors() -> Card:
    found = readers.api_calls()
    most = found["all_rows"] >= readers.MOST_COUNTED
    of = f"the newest {readers.MOST_COUNTED:,} requests" if most else f"{found['all_rows']:,} requests"
    notes = (f"Failed (5xx), of {of}", f"{found['refused']:,} refused (4xx)")
    return Card("API errors, 24 hours", f"{found['failed']:,}", notes, ATTENTION if found["failed"] else GOOD)


def _reviews() -> Card:
    waiting = readers.waiting_reviews()
    if waiting.oldest is None:
        return Card("Review queue", "Empty", ("No review waits.",), GOOD)
    is_old = clock.now() - waiting.oldest > OLD_REVIEW
    notes = (f"The oldest has waited for {_age(waiting.oldest)}",)
    return Card("Review queue", f"{waiting.number:,} waiting", notes, ATTENTION if is_old else NEUTRAL)


def _cases() -> Card:
    number, late, oldest = readers.open_cases()
    if oldest is None:
        return Card("Cases", "None", ("No case is open.",), GOOD)
    notes = (f"{late:,} late", f"The oldest has been open for {_age(oldest)}")
    return Card("Cases", f"{number:,} open", notes, ATTENTION if late else NEUTRAL)


def _mail() -> Card:
    waiting, given_up = readers.waiting_mail(), readers.given_up_mail()
    nothing = "The mail server refuses the ones that wait." if waiting.number else "No email waits."
    notes = [f"The oldest has waited for {_age(waiting.oldest)}" if waiting.oldest else nothing]
    notes.append(f"{_count(given_up, readers.MOST_WAITING)} given up")
    is_old = waiting.oldest is not None and clock.now() - waiting.oldest > OLD_MAIL
    state = BAD if is_old else ATTENTION if given_up else GOOD
    return Card("Outbox", f"{_count(waiting.number, readers.MOST_WAITING)} waiting", tuple(notes), state)


def _deliveries() -> Card:
    waiting, paused = readers.waiting_deliveries(), readers.paused_receivers()
    is_old = waiting.oldest is not None and clock.now() - waiting.oldest > OLD_DELIVERY
    notes = [f"The oldest has been due for {_age(waiting.oldest)}"] if waiting.oldest and is_old else []
    notes.append("1 receiver is paused" if paused == 1 else f"{paused:,} receivers are paused")
    value = f"{_count(waiting.number, readers.MOST_WAITING)} waiting"
    return Card("Events to apps", value, tuple(notes), BAD if is_old else GOOD)


def _signing_key() -> Card:
    keys = readers.signing_keys()
    if keys.active_since is None or keys.expires_at is None:
        return Card("Signing key", "None", ("Nothing is signed until a key is active.",), BAD)
    ahead = timedelta(seconds=settings.SIGNING_KEY_PUBLISH_AHEAD_SECONDS)
    now = clock.now()
    if keys.next_since is None:
        note = f"The next key is published on {keys.expires_at - 2 * ahead:%-d %B %Y}"
    else:
        note = f"The next key signs from {max(keys.expires_at, keys.next_since + ahead):%-d %B %Y, %H:%M} on"
    # Rotation runs hourly.
    state = BAD if now > keys.expires_at + timedelta(hours=3) else GOOD
    notes = (note,) if state == GOOD else ("It should have been replaced: does Celery run?",)
    return Card("Signing key", f"{_age(keys.active_since)} old", notes, state)


def _tasks() -> Card:
    states = task_runs.task_states()
    late = [state for state in states if state.is_late]
    if not late:
        return Card("Periodic tasks", "On time", (f"All {len(states)} succeeded when they should.",), GOOD)
    shown = sorted(late, key=lambda state: state.since)[:3]
    words = [
        f"{state.task}: {'not for' if state.succeeded_at else 'never, for'} {_age(state.since)}" for state in shown
    ]
    notes = [*words, *([f"and {len(late) - 3} more"] if len(late) > 3 else [])]
    return Card("Periodic tasks", f"{len(late)} of {len(states)} late", tuple(notes), BAD)


def _near_limit() -> Card:
    title, limit = "Projects near the limit of people", settings.UNVERIFIED_APP_PEOPLE
    projects = readers.projects_near_limit()
    if not projects:
        return Card(title, "None", (f"No project’s apps without a review have nearly {limit:,} people.",), GOOD)
    links = tuple((project.name, reverse("admin:oidc_project_change", args=[project.pk])) for project in projects)
    notes = (f"Their apps without a review have nearly {limit:,} people, or more",)
    return Card(title, _count(len(projects), readers.MOST_PROJECTS), notes, ATTENTION, links)


def _counters() -> Card:
    if not settings.REDIS_URL:
        return Card("Redis", "Not used", ("Limits are counted in the process.",), NEUTRAL)
    try:
        cache.get("health")
    except RedisError:
        return Card("Redis", "Does not answer", ("Each process counts limits by itself.",), BAD)
    return Card("Redis", "Answers", ("Limits are counted for all processes together.",), GOOD)


PANELS = (
    Panel("Sign-ins to apps, 24 hours", "console_signinevent", _sign_ins),
    Panel("API errors, 24 hours", "api_requestlog", _errors),
    Panel("Review queue", "review_appreview", _reviews),
    Panel("Cases", "review_reviewcase", _cases),
    Panel("Outbox", "accounts_outbox", _mail),
    Panel("Events to apps", "oidc_delivery", _deliveries),
    Panel("Signing key", "oidc_signingkey", _signing_key),
    Panel("Periodic tasks", "operations_taskrun", _tasks),
    Panel("Projects near the limit of people", "oidc_project", _near_limit),
    Panel("Redis", "operations_taskrun", _counters, lambda: reverse("health_ready")),
)
