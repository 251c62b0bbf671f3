"""Reported credentials: look-up by hash, and revoking or flagging them (docs/security.md#leaked-keys-and-secrets).

A report is stored first (api/leak_reports.py) and handled a moment later, so that a stranger's request takes the same
work whether the credential is real or not.
"""

import logging
from collections.abc import Collection
from datetime import timedelta
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Coalesce

from api.keys import API_KEYS
from api.models import LeakReport
from core import clock
from core.telemetry import metrics
from oidc.apis.credentials import API_CREDENTIALS
from oidc.clients.secrets import CLIENT_SECRETS
from oidc.models import Project
from oidc.projects.credentials import CredentialKind
from oidc.signals import credential_leaked

KINDS: tuple[CredentialKind[Any], ...] = (API_KEYS, CLIENT_SECRETS, API_CREDENTIALS)
REVOKE, FLAG = "revoke", "flag"  # the values of LEAKED_CREDENTIALS
BATCH = 1000  # reports that one run of the task handles
# A report that can't be handled is tried again after 30 seconds, a minute and so on, up to an hour; about a day in all.
FIRST_RETRY, LAST_RETRY, MOST_ATTEMPTS = timedelta(seconds=30), timedelta(hours=1), 30

log = logging.getLogger(__name__)


class Source(StrEnum):
    """Where a report came from."""

    GITHUB = "github"
    WEB_FORM = "web form"


class Result(StrEnum):
    """What became of a reported credential."""

    REVOKED = "revoked"
    FLAGGED = "flagged"
    ENDED = "ended"  # it was revoked or expired before
    KNOWN = "known"  # an earlier report did everything
    UNKNOWN = "unknown"  # there is no such credential
    FAILED = "failed"  # given up after MOST_ATTEMPTS


def known_digests(digests: Collection[str]) -> set[str]:
    """Return the ones of `digests` that belong to a credential of this service, also if it has ended."""
    return {
        found
        for kind in KINDS
        for found in kind.model._default_manager.filter(digest__in=digests).values_list("digest", flat=True)
    }


def handle_reports() -> int:
    """Handle the reports that are due, each in a transaction; return how many. Safe to run concurrently."""
    handled = 0
    due = LeakReport.objects.filter(due_at__lte=clock.now()).order_by("due_at", "pk")
    for pk in list(due.values_list("pk", flat=True)[:BATCH]):
        try:
            handled += _handle(pk)
        except Exception:
            log.exception("A report of a leaked credential could not be handled.")
            _postpone(pk)
    return handled


@transaction.atomic
def _postpone(pk: int) -> None:
    """Let a report wait for its next attempt, or give it up."""
    row = LeakReport.objects.select_for_update().filter(pk=pk).first()
    if row is None:
        return
    row.attempts += 1
    if row.attempts < MOST_ATTEMPTS:
        row.due_at = clock.now() + min(FIRST_RETRY * 2 ** (row.attempts - 1), LAST_RETRY)
        row.save(update_fields=["attempts", "due_at"])
        return
    row.delete()
    metrics.LEAK_REPORTS.count(row.source, Result.FAILED)
    log.error("A report of a leaked credential was given up. Revoke the credential whose digest is %s.", row.digest)


def _handle(pk: int) -> bool:
    with transaction.atomic():
        row = LeakReport.objects.select_for_update().filter(pk=pk).first()
        if row is None:  # another worker has handled it
            return False
        result = _end(row)
        row.delete()
    metrics.LEAK_REPORTS.count(row.source, result)
    return True


def _end(found: LeakReport) -> Result:
    """Revoke or flag the credential of a report."""
    for kind in KINDS:
        row = kind.model._default_manager.filter(digest=found.digest).select_related(*kind.related).first()
        if row is not None:
            return _leaked(kind, row, found)
    return Result.UNKNOWN


def _lock_project(pk: int) -> None:
    """Lock a project, deleted or not, before its credential (docs/architecture.md#locking).

    The notices refer to its members and clients: a deletion of one of them waits here, or has finished before.
    """
    list(Project.objects.select_for_update(no_key=True).filter(pk=pk).values_list("pk"))


def _leaked(kind: CredentialKind[Any], row: Any, found: LeakReport) -> Result:
    """Revoke or flag a credential, and report it.

    A credential of one of the company's own APIs is never revoked here, because that would end all calls to the API. It
    answers only about tokens that its holder has already. The operators are told in the log.
    """
    project, client, target = kind.belongs_to(row)
    if project is not None:
        _lock_project(project.pk)
    revoke = project is not None and settings.LEAKED_CREDENTIALS != FLAG
    result = _mark(kind.model._default_manager.filter(pk=row.pk), revoke)
    names = kind.names(row)
    if result is not Result.KNOWN:
        kind.report(f"leaked_{result}", row, None, details={"source": found.source, "url": found.url} | names)
    if result not in (Result.REVOKED, Result.FLAGGED):
        return result
    if project is None:
        log.error(
            "The credential %s of the API %s was reported as leaked. Rotate it in the admin, under API credentials.",
            target,
            names["api"],
        )
    else:
        credential_leaked.send(
            sender=kind.model,
            project=project,
            client=client,
            credential=kind.name,
            label=next(iter(names.values())),
            revoked=result is Result.REVOKED,
            source=found.source,
            url=found.url,
        )
    return result


def _mark(row: Any, revoke: bool) -> Result:
    """Note that the credential in `row` leaked. With `revoke`, also revoke it.

    Conditional updates decide which one of several reports at once counts.
    """
    moment = clock.now()
    live = row.live()
    if revoke and live.update(revoked_at=moment, leaked_at=Coalesce("leaked_at", moment)):
        return Result.REVOKED
    if not revoke and live.filter(leaked_at=None).update(leaked_at=moment):
        return Result.FLAGGED
    return Result.ENDED if row.filter(leaked_at=None).update(leaked_at=moment) else Result.KNOWN
