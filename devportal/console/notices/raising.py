"""Raising a notice: one row for each member who wants it, in the transaction of its cause."""

import logging
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from core import clock
from core.credentials import random_text
from devportal.console.models import Notice, NoticeCause, NoticeSettings
from devportal.console.notices.choices import wish_of
from devportal.console.notices.kinds import NoticeKind, Wish
from devportal.console.notices.texts import BY_SERVICE, topic_of
from oidc.models import Client, Project, ProjectMember

log = logging.getLogger(__name__)

# The most notices of one kind that a project gets in an hour. Members who repeat an action can't fill the table.
MOST_AN_HOUR = 20
_HOUR = timedelta(hours=1)


@transaction.atomic
def notify(
    project: Project,
    kind: NoticeKind,
    *,
    client: Client | None = None,
    details: Mapping[str, Any] | None = None,
    once: str = "",
    again_after: timedelta | None = None,
    actor: int | None = None,
    person: int | None = None,
) -> int:
    """Raise a notice for the members who want it; return how many get it.

    It belongs to the caller's transaction. `details` holds codes and values for the text, and no email addresses.

    `once` identifies the cause: it raises no second notice of this kind in this project. With `again_after` it raises
    another one if it was not reported for that long. Without `once`, it may be repeated MOST_AN_HOUR times an hour.

    `actor` is the account that caused it. Members get no notice in the console about what they did themselves, but a
    mail, because it could have been someone else with their session. `person` is the account that it is about.
    """
    if not _is_new(project, kind, once, again_after):
        return 0
    live = ProjectMember.objects.filter(project=project, project__deleted_at=None, account__is_active=True)
    members = dict(live.values_list("account_id", "role"))
    values = {name: _storable(value) for name, value in (details or {}).items()}
    if client is not None:
        values.setdefault("client", client.name)
    if actor not in members:
        values[BY_SERVICE], actor = True, None
    now, rows = clock.now(), []
    for account, wish in _wishes(project, kind, members):
        in_console = wish.console and account != actor
        if in_console or wish.mail:
            row = Notice(project=project, account_id=account, client=client, kind=kind.value, details=values, at=now)
            row.actor_id, row.person_id = actor, person
            row.in_console, row.waits_for_mail = in_console, wish.mail
            rows.append(row)
    Notice.objects.bulk_create(rows)
    return len(rows)


def _wishes(project: Project, kind: NoticeKind, members: Mapping[int, str]) -> Iterator[tuple[int, Wish]]:
    """Yield what each member wants of a kind. `members` are roles by the primary key of the account."""
    choices = dict(NoticeSettings.objects.filter(project=project).values_list("account_id", "choices"))
    for account, role in sorted(members.items()):
        yield account, wish_of(topic_of(kind), role, choices.get(account, {}))


def mailed_addresses(project: Project, kind: NoticeKind) -> list[str]:
    """Return the email addresses to which a notice of this kind would be mailed now."""
    members = ProjectMember.objects.filter(
        project=project, project__deleted_at=None, account__is_active=True, account__email_verified=True
    )
    found = {row.account_id: row for row in members.select_related("account")}
    wishes = _wishes(project, kind, {account: row.role for account, row in found.items()})
    return [found[account].account.email for account, wish in wishes if wish.mail]


def _is_new(project: Project, kind: NoticeKind, once: str, again_after: timedelta | None) -> bool:
    """Store the cause; return False if it raised a notice before, or was repeated too often in the last hour."""
    now = clock.now()
    causes = NoticeCause.objects.filter(project=project, kind=kind.value)
    if not once and causes.filter(at__gt=now - _HOUR).count() >= MOST_AN_HOUR:
        log.warning("Notices of kind %s in project %s are left out: too many in an hour.", kind, project.public_id)
        return False
    # Of two transactions with the same cause, the second one waits here for the first one.
    row, is_new = NoticeCause.objects.get_or_create(
        project=project, kind=kind.value, once=once or random_text(22), defaults={"at": now}
    )
    if not is_new:
        if again_after is None:
            return False
        # The row is also renewed while the cause lasts, so that it raises one notice, however long it takes.
        if not causes.filter(pk=row.pk, at__lte=now - again_after).update(at=now):
            causes.filter(pk=row.pk, at__lt=now).update(at=now)
            return False
    return True


def _storable(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def raised_before(kind: NoticeKind, causes: Collection[tuple[int, str]]) -> set[tuple[int, str]]:
    """Return which causes, given by the project's primary key and `once`, have raised a notice. One statement."""
    projects, texts = {project for project, _ in causes}, {once for _, once in causes}
    found = NoticeCause.objects.filter(kind=kind.value, project__in=projects, once__in=texts)
    return set(found.values_list("project_id", "once"))
