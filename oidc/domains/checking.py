"""Looking for proofs of domains, one that somebody asks for or those that are due, and storing what was seen.

The network is asked outside of any transaction. What was seen is stored with the project locked, and only on a domain
that is still there with the same token.
"""

import logging
import time
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed

from django.db import transaction

from accounts.models import Account
from core import clock
from oidc.domains.proofs import Look, look
from oidc.domains.results import (
    CHECK_EVERY,
    CHECK_MISSING_EVERY,
    Change,
    announce_change,
    apply_look,
    refresh_reviewed_hosts,
    snapshot,
)
from oidc.models import Project, ProjectDomain
from oidc.projects.roles import Gone, lock_project, report_project_event

log = logging.getLogger(__name__)

AT_ONCE = 8  # domains that are looked at at the same time, by one run
BATCH = 40  # domains that are read at once
RUN_SECONDS = 200  # after which a run begins no further batch; the next run goes on

_COLUMNS = [
    "method", "proven_at", "checked_at", "found_at", "check_at", "missing_since", "lost_at", "problems",
]  # fmt: skip
_ACTIONS = {Change.MISSING: "domain.missing", Change.LOST: "domain.lost"}  # all others: domain.proven


def check(pk: int, asked_by: int | None = None) -> None:
    """Look for the proof of one domain and store what was seen. Call it outside of a transaction."""
    domain = ProjectDomain.objects.filter(pk=pk).exclude(method=ProjectDomain.Method.OPERATOR).first()
    if domain is not None:
        store_look(domain, look(domain), asked_by)


def check_due() -> int:
    """Look for the proofs that are due, those first that are so for longest; return how many were looked at.

    What fails with one domain is logged and stops no other.
    """
    until = time.monotonic() + RUN_SECONDS
    looked = 0
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="domains") as pool:
        while time.monotonic() < until and (batch := _next_batch()):
            _check_each(batch, pool)
            looked += len(batch)
    return looked


def _next_batch() -> list[ProjectDomain]:
    """Return the domains that are due, without those of deleted projects, which come back with their project."""
    due = ProjectDomain.objects.filter(check_at__lte=clock.now()).order_by("check_at", "pk")
    while rows := list(due.select_related("project")[:BATCH]):
        asleep = [row.pk for row in rows if row.project.is_deleted]
        if asleep:
            ProjectDomain.objects.filter(pk__in=asleep).update(check_at=clock.now() + CHECK_EVERY)
        if awake := [row for row in rows if not row.project.is_deleted]:
            return awake
    return []


def _check_each(batch: Iterable[ProjectDomain], pool: ThreadPoolExecutor) -> None:
    looks: dict[Future[Look], ProjectDomain] = {pool.submit(look, domain): domain for domain in batch}
    for each in as_completed(looks):
        domain = looks[each]
        try:
            store_look(domain, each.result())
        except Exception:
            log.exception("The domain %s of project %d could not be checked.", domain.name, domain.project_id)
            # It waits for its next time, so that a few of these never hold up all others.
            ProjectDomain.objects.filter(pk=domain.pk).update(check_at=clock.now() + CHECK_MISSING_EVERY)


def store_look(domain: ProjectDomain, seen: Look, asked_by: int | None = None) -> Change | None:
    """Store what a look at `domain` saw, with all that follows; return what changed of the proof.

    Nothing is stored for a domain that was removed, given another token or declared by the operator meanwhile.
    """
    try:
        with transaction.atomic():
            project = lock_project(domain.project_id)
            row = ProjectDomain.objects.filter(pk=domain.pk, project=project, token=domain.token).first()
            if row is None or row.method == ProjectDomain.Method.OPERATOR:
                return None
            before = snapshot(row)
            change = apply_look(row, seen, clock.now())
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
