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
from django.db.models import QuerySet
from django.db.models.functions import Coalesce

from api.models import ApiKey, LeakReport
from core import clock
from core.audit import Event, report
from core.telemetry import metrics
from oidc.clients.lookup import report_client_event
from oidc.models import ApiCredential, ClientSecret, Project
from oidc.projects.roles import report_project_event
from oidc.signals import credential_leaked

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
    models: tuple[Any, ...] = (ApiKey, ClientSecret, ApiCredential)
    return {
        found for model in models for found in model.objects.filter(digest__in=digests).values_list("digest", flat=True)
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
    key = ApiKey.objects.filter(digest=found.digest).select_related("project").first()
    if key is not None:
        _lock_project(key.project_id)
        return _key_leaked(key, found)
    secret = ClientSecret.objects.filter(digest=found.digest).select_related("client__project").first()
    if secret is not None:
        _lock_project(secret.client.project_id)
        return _secret_leaked(secret, found)
    credential = ApiCredential.objects.filter(digest=found.digest).select_related("api").first()
    return Result.UNKNOWN if credential is None else _credential_leaked(credential, found)


def _lock_project(pk: int) -> None:
    """Lock a project, deleted or not, before its credential (docs/architecture.md#locking).

    The notices refer to its members and clients: a deletion of one of them waits here, or has finished before.
    """
    list(Project.objects.select_for_update(no_key=True).filter(pk=pk).values_list("pk"))


def _mark(row: "QuerySet[Any]", ended: str, revoke: bool) -> Result:
    """Note that the credential in `row` leaked. With `revoke`, also set its column `ended`.

    Conditional updates decide which one of several reports at once counts.
    """
    moment = clock.now()
    live = row.filter(**{ended: None}).exclude(expires_at__lte=moment)
    if revoke and live.update(**{ended: moment, "leaked_at": Coalesce("leaked_at", moment)}):
        return Result.REVOKED
    if not revoke and live.filter(leaked_at=None).update(leaked_at=moment):
        return Result.FLAGGED
    return Result.ENDED if row.filter(leaked_at=None).update(leaked_at=moment) else Result.KNOWN


def _key_leaked(key: ApiKey, found: LeakReport) -> Result:
    result = _mark(ApiKey.objects.filter(pk=key.pk), "revoked_at", settings.LEAKED_CREDENTIALS != FLAG)
    if result is not Result.KNOWN:
        details = _details(found) | {"name": key.name}
        report_project_event(f"api_key.leaked_{result}", key.project, None, key.public_id, details=details)
    if result in (Result.REVOKED, Result.FLAGGED):
        credential_leaked.send(
            sender=ApiKey,
            project=key.project,
            client=None,
            credential="api_key",
            label=key.name,
            revoked=result is Result.REVOKED,
            source=found.source,
            url=found.url,
        )
    return result


def _secret_leaked(secret: ClientSecret, found: LeakReport) -> Result:
    result = _mark(ClientSecret.objects.filter(pk=secret.pk), "ended_at", settings.LEAKED_CREDENTIALS != FLAG)
    if result is not Result.KNOWN:
        details = _details(found) | {"last_four": secret.last_four}
        report_client_event(f"client_secret.leaked_{result}", secret.client, None, details=details)
    if result in (Result.REVOKED, Result.FLAGGED):
        credential_leaked.send(
            sender=ClientSecret,
            project=secret.client.project,
            client=secret.client,
            credential="client_secret",
            label=secret.last_four,
            revoked=result is Result.REVOKED,
            source=found.source,
            url=found.url,
        )
    return result


def _credential_leaked(credential: ApiCredential, found: LeakReport) -> Result:
    """Flag a credential of one of the company's own APIs, and tell the operators in the log.

    It is never revoked here, because that would end all calls to the API. It answers only about tokens that its holder
    has already.
    """
    result = _mark(ApiCredential.objects.filter(pk=credential.pk), "revoked_at", revoke=False)
    if result is not Result.KNOWN:
        details = _details(found) | {"api": credential.api.slug, "last_four": credential.last_four}
        report(Event(f"api_credential.leaked_{result}", target=credential.public_id, details=details))
    if result is Result.FLAGGED:
        log.error(
            "The credential %s of the API %s was reported as leaked. Rotate it in the admin, under API credentials.",
            credential.public_id,
            credential.api.slug,
        )
    return result


def _details(found: LeakReport) -> dict[str, str]:
    return {"source": found.source, "url": found.url}
