"""Check the proofs of domains, on request or when they are due, and store the results.

The network is asked outside any transaction. A result is stored with the project locked, and only if the domain still
exists with the same token.
"""

import logging
import time
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed

from django.db import transaction

from accounts.models import Account
from core import clock
from oidc.domains.proofs import ProofCheck, check_proofs
from oidc.domains.results import (
    CHECK_EVERY,
    CHECK_MISSING_EVERY,
    Change,
    announce_change,
    apply_check,
    refresh_reviewed_hosts,
    snapshot,
)
from oidc.models import Project, ProjectDomain
from oidc.projects.roles import Gone, lock_project, report_project_event

log = logging.getLogger(__name__)

AT_ONCE = 8  # domains that one run checks at the same time
BATCH = 40  # domains that are read from the database at once
RUN_SECONDS = 200  # after which a run starts no further batch; the next run continues

_COLUMNS = [
    "method", "proven_at", "checked_at", "found_at", "check_at", "missing_since", "lost_at", "problems",
]  # fmt: skip
_ACTIONS = {Change.MISSING: "domain.missing", Change.LOST: "domain.lost"}  # all others: domain.proven


def check(pk: int, asked_by: int | None = None) -> None:
    """Check the proof of one domain and store the result. Call it outside any transaction.

    `asked_by` is the primary key of the account that requested the check.
    """
    domain = ProjectDomain.objects.filter(pk=pk).exclude(method=ProjectDomain.Method.OPERATOR).first()
    if domain is not None:
        store_check(domain, check_proofs(domain), asked_by)


def check_due() -> int:
    """Check the proofs that are due, the most overdue first; return how many were checked.

    A failure with one domain is logged and does not affect the others.
    """
    until = time.monotonic() + RUN_SECONDS
    checked = 0
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="domains") as pool:
        while time.monotonic() < until and (batch := _next_batch()):
            _check_each(batch, pool)
            checked += len(batch)
    return checked


def _next_batch() -> list[ProjectDomain]:
    """Return domains that are due. Those of deleted projects are postponed: the project may be restored."""
    due = ProjectDomain.objects.filter(check_at__lte=clock.now()).order_by("check_at", "pk")
    while rows := list(due.select_related("project")[:BATCH]):
        asleep = [row.pk for row in rows if row.project.is_deleted]
        if asleep:
            ProjectDomain.objects.filter(pk__in=asleep).update(check_at=clock.now() + CHECK_EVERY)
        if awake := [row for row in rows if not row.project.is_deleted]:
            return awake
    return []


def _check_each(batch: Iterable[ProjectDomain], pool: ThreadPoolExecutor) -> None:
    checks: dict[Future[ProofCheck], ProjectDomain] = {pool.submit(check_proofs, domain): domain for domain in batch}
    for each in as_completed(checks):
        domain = checks[each]
        try:
            store_check(domain, each.result())
        except Exception:
            log.exception("The domain %s of project %d could not be checked.", domain.name, domain.project_id)
            # Postponed, so that a few failing domains never hold up all others.
            ProjectDomain.objects.filter(pk=domain.pk).update(check_at=clock.now() + CHECK_MISSING_EVERY)


def store_check(domain: ProjectDomain, result: ProofCheck, asked_by: int | None = None) -> Change | None:
    """Store the result of a check with all its consequences; return how the proof changed, None if it did not.

    `domain` is as it was before the check. Nothing is stored if the domain was removed, got another token or was
    declared by the operator in the meantime, or if another check has found the proof and this one has not.
    """
    try:
        with transaction.atomic():
            project = lock_project(domain.project_id)
            row = ProjectDomain.objects.filter(pk=domain.pk, project=project, token=domain.token).first()
            if row is None or row.method == ProjectDomain.Method.OPERATOR:
                return None
            if row.found_at != domain.found_at and not result.is_found:
                return None
            before = snapshot(row)
            change = apply_check(row, result, clock.now())
            row.save(update_fields=_COLUMNS)
            if change is not None:
                _follow(project, row, before, change, asked_by)
            return change
    except Gone:  # the project was deleted
        return None


def _follow(project: Project, row: ProjectDomain, before: ProjectDomain, change: Change, asked_by: int | None) -> None:
    actor = Account.objects.filter(pk=asked_by).first() if asked_by else None
    fields = {"before": {"proven_by": before.method}, "after": {"proven_by": row.method}}
    action = _ACTIONS.get(change, "domain.proven")
    report_project_event(action, project, actor, row.name, **(fields if before.method != row.method else {}))
    refresh_reviewed_hosts(project, before)
    announce_change(project, row, change)
