"""Audit events: every package reports them with one signal, and devportal/operations/audit.py stores them."""

from dataclasses import dataclass, field
from typing import Any

from django.dispatch import Signal

happened = Signal()


@dataclass(frozen=True)
class Event:
    """An audit event. Never put a secret into it.

    `actor` is an account's primary key, or None when the service itself or an app acted. `project` and `target` are
    public ids. `before` and `after` hold the fields that changed, by name. If `target` is a person's email address,
    `person` is the primary key of their account, if they have one, so that the event is anonymized with the account.
    """

    action: str
    actor: int | None = None
    project: str | None = None
    target: str = ""
    details: dict[str, Any] = field(default_factory=dict)
    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)
    person: int | None = None


def report(event: Event) -> None:
    """Send `event` to the receivers of `happened`."""
    happened.send(sender=Event, event=event)


def changes(before: dict[str, Any], after: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return `before` and `after` reduced to the fields that differ, for an Event."""
    differing = [name for name in after if before.get(name) != after[name]]
    return {name: before.get(name) for name in differing}, {name: after[name] for name in differing}
