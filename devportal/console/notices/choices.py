"""The switches of a member: which topics they want in the console, and which by mail."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from devportal.console.models import NoticeSettings
from devportal.console.notices.kinds import DEFAULTS, Topic, Wish
from oidc.models import Project


def wish_of(topic: Topic, role: str, stored: Mapping[str, Any]) -> Wish:
    """Return what a member wants: their stored choice (`NoticeSettings.choices`), or the default of their role."""
    default, own = DEFAULTS[topic][role], stored.get(topic.value, {})
    return Wish(own.get("console", default.console), own.get("mail", default.mail))


def stored_choices(project_id: int, account_id: int) -> dict[str, Any]:
    """Return the stored choices of a member, {} if they never made any."""
    rows = NoticeSettings.objects.filter(project=project_id, account=account_id)
    found: dict[str, Any] = rows.values_list("choices", flat=True).first() or {}
    return found


@transaction.atomic
def save_choices(project: Project, account_id: int, role: str, wishes: Mapping[Topic, Wish]) -> None:
    """Store a member's choices. Choices that equal the default are not stored, so they follow a change of role."""
    differing = {
        topic.value: {"console": wish.console, "mail": wish.mail}
        for topic, wish in wishes.items()
        if wish != DEFAULTS[topic][role]
    }
    NoticeSettings.objects.update_or_create(project=project, account_id=account_id, defaults={"choices": differing})
