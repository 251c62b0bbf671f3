"""Notices as text: title, paragraphs, and what else an email contains, such as a reviewer's message."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.urls import reverse

from core.messages import fill_in
from devportal.console.models import Notice
from devportal.console.navigation import CLIENT_PAGES
from devportal.console.notices.kinds import NoticeKind, Topic
from devportal.console.notices.table import TABLE, Definition

BY_SERVICE = "by_service"  # in `details`: the service or its operators did it, not a member
_CLIENT_PAGES = {page.url_name for page in CLIENT_PAGES}
_FORMER = "Someone who is no longer a member"


@dataclass(frozen=True)
class Part:
    """A part of an email after the body: a lead, and either a list or a quotation."""

    lead: str
    items: Sequence[str] = ()
    quote: str = ""


# Turns the codes and values in `details` into parts.
Parts = Callable[[Mapping[str, Any]], list[Part]]
_parts: dict[NoticeKind, Parts] = {}


def register_parts(kinds: Iterable[NoticeKind], parts: Parts) -> None:
    """Let `parts` return the further parts of these kinds. Higher layers register the ones that only they can write."""
    _parts.update(dict.fromkeys(kinds, parts))


def definition_of(notice: Notice) -> Definition:
    """Return the row of the table for a notice."""
    return TABLE[NoticeKind(notice.kind)]


def topic_of(kind: str) -> Topic:
    """Return the topic whose switches a kind follows."""
    return TABLE[NoticeKind(kind)].topic


def title_of(notice: Notice) -> str:
    """Return the title, one line."""
    return fill_in(definition_of(notice).title, _values(notice))


def body_of(notice: Notice) -> list[str]:
    """Return the paragraphs of the body."""
    # The text is split before names are filled in, because they may contain anything.
    return [fill_in(paragraph, _values(notice)) for paragraph in definition_of(notice).body.split("\n\n")]


def then_of(notice: Notice) -> str:
    """Return the last sentences of an email, or ""."""
    return fill_in(definition_of(notice).then, _values(notice))


def parts_of(notice: Notice) -> list[Part]:
    """Return what stands after the body in an email."""
    parts = _parts.get(NoticeKind(notice.kind))
    return parts(notice.details) if parts else []


def target_of(notice: Notice) -> str:
    """Return the path of the page that the notice is about, or of the nearest one if the client is deleted."""
    page, project_id = definition_of(notice).page, notice.project.public_id
    if page not in _CLIENT_PAGES:
        return reverse(f"console:{page}", args=[project_id])
    if notice.client is None:
        return reverse("console:clients" if notice.client_name else "console:project", args=[project_id])
    return reverse(f"console:{page}", args=[project_id, notice.client.client_id])


def _values(notice: Notice) -> dict[str, Any]:
    shown = {name: _value(name, value) for name, value in notice.details.items()}
    by_service = settings.SERVICE_NAME if notice.details.get(BY_SERVICE) else _FORMER
    return {
        "client": notice.client_name or notice.project.name,
        "actor": notice.actor.email if notice.actor else by_service,
        "person": notice.person.email if notice.person else _FORMER,
        **shown,
        "project": notice.project.name,
        "service": settings.SERVICE_NAME,
    }


def _value(name: str, value: Any) -> Any:
    return datetime.fromisoformat(value) if name.endswith("_at") else value
