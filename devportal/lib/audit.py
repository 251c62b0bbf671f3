"""One signal with which every floor reports what happened; the console records it (floor 4)."""

from dataclasses import dataclass, field
from typing import Any

from django.dispatch import Signal

happened = Signal()


@dataclass(frozen=True)
class Event:
    """Something that happened: never with a secret in it.

    `actor` is an account's primary key, or None when the service itself or an app acted.
    """

    action: str
    actor: int | None = None
    project: str | None = None
    target: str = ""
    details: dict[str, Any] = field(default_factory=dict)


def report(event: Event) -> None:
    """Tell whoever listens that `event` happened."""
    happened.send(sender=Event, event=event)
