"""Results of a check: how the state of a domain's proof changes, and what that means for the project's apps."""

import copy
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from django.conf import settings

from core import clock
from oidc.clients.domain_names import domains_of
from oidc.clients.reviewed_hosts import REVIEWED_COLUMNS, home_host, set_reviewed_hosts
from oidc.domains.proofs import Problem, ProofCheck, ProofResult
from oidc.models import Client, Project, ProjectDomain
from oidc.signals import domain_changed

CHECK_EVERY = timedelta(days=7)
CHECK_MISSING_EVERY = timedelta(days=1)  # while a proof is missing, until it is found or lost

Method = ProjectDomain.Method


class Change(StrEnum):
    """How a check, or a person, changed a domain's proof."""

    PROVEN = "proven"  # for the first time
    REGAINED = "regained"  # after it was lost
    FOUND = "found"  # after it was missing; it counted all the time
    NARROWED = "narrowed"  # proven by file instead of DNS, so that subdomains are no longer covered
    WIDENED = "widened"  # proven by DNS instead of file
    MISSING = "missing"
    LOST = "lost"
    REMOVED = "removed"


def apply_check(domain: ProjectDomain, result: ProofCheck, now: datetime) -> Change | None:
    """Apply the result of a check at `now` to `domain`, which the caller saves; return how the proof changed."""
    domain.checked_at = now
    method = _method(domain, result)
    if method is not None:
        return _found(domain, method, now)
    domain.problems = [problem.as_json() for problem in _problems(result)]
    return _not_found(domain, result, now)


def _method(domain: ProjectDomain, result: ProofCheck) -> str | None:
    """Return the method by which a check has proven the domain, None if it found no proof."""
    if result.dns.found:
        return Method.DNS
    if result.file is None or not result.file.found:
        return None
    # While name servers fail, a file keeps the proof by DNS valid.
    keeps = domain.is_proven and domain.method == Method.DNS and result.dns.is_temporary
    return Method.DNS if keeps else Method.FILE


def _found(domain: ProjectDomain, method: str, now: datetime) -> Change | None:
    was_proven, was_missing, before = domain.is_proven, domain.missing_since is not None, domain.method
    was_lost = domain.lost_at is not None
    domain.method = method
    domain.found_at = now
    domain.missing_since = domain.lost_at = None
    domain.check_at = now + CHECK_EVERY
    domain.problems = []
    if not was_proven:
        domain.proven_at = now
        return Change.REGAINED if was_lost else Change.PROVEN
    if before != method:
        return Change.NARROWED if method == Method.FILE else Change.WIDENED
    return Change.FOUND if was_missing else None


def _not_found(domain: ProjectDomain, result: ProofCheck, now: datetime) -> Change | None:
    if domain.proven_at is None:
        domain.check_at = None  # until someone requests another check
        return None
    if domain.lost_at is not None:
        domain.check_at = now + CHECK_EVERY
        return None
    domain.check_at = now + CHECK_MISSING_EVERY
    if not _is_miss(domain, result, now):
        return None
    if domain.missing_since is None:
        domain.missing_since = now
        return Change.MISSING
    if now < lost_from(domain.missing_since):
        return None
    domain.lost_at, domain.check_at = now, now + CHECK_EVERY
    return Change.LOST


def _is_miss(domain: ProjectDomain, result: ProofCheck, now: datetime) -> bool:
    """Return whether a check shows that the proof is gone.

    A temporary failure shows nothing until the grace period is over. Only the method that proved the domain counts: a
    project that proved its domain by DNS may have no web server.
    """
    if not _of_method(domain, result).is_temporary:
        return True
    last = domain.found_at or domain.proven_at or now
    return now >= last + CHECK_EVERY + _grace()


def _of_method(domain: ProjectDomain, result: ProofCheck) -> ProofResult:
    return result.file if domain.method == Method.FILE and result.file is not None else result.dns


def _grace() -> timedelta:
    return timedelta(days=settings.DOMAIN_GRACE_DAYS)


def lost_from(missing_since: datetime) -> datetime:
    """Return when a missing proof becomes lost, unless it is found before."""
    return missing_since + _grace()


def _problems(result: ProofCheck) -> list[Problem]:
    found = [(Method.DNS, result.dns), (Method.FILE, result.file)]
    return [Problem(proof, each.code, each.parameters) for proof, each in found if each is not None]


def announce_change(project: Project, domain: ProjectDomain, change: Change) -> None:
    """Send `oidc.signals.domain_changed` after the proof of a domain changed. The caller has locked the project.

    Receivers in higher layers take part in the transaction.
    """
    domain_changed.send(sender=ProjectDomain, project=project, domain=domain, change=change)


def snapshot(domain: ProjectDomain) -> ProjectDomain:
    """Return a copy of a domain, for `refresh_reviewed_hosts` after the domain was changed."""
    return copy.copy(domain)


def refresh_reviewed_hosts(project: Project, before: ProjectDomain | None = None) -> None:
    """Compute again where the project's reviewed clients count as reviewed. The caller has locked the project.

    `before` is a copy of the domain before it changed. Hosts that only this domain covered are no longer approved: apps
    count as not reviewed there until the host is proven again or a review covers it. If the home page is on such a
    host, the app loses its badge everywhere. This takes three statements, however many clients there are.
    """
    known = domains_of(project)
    # All rows are locked, so that a concurrent approval finishes first or uses the current domains.
    rows = Client.objects.select_for_update(no_key=True, of=("self",)).filter(project=project).order_by("pk")
    changed = []
    for client in rows:
        was = [getattr(client, column) for column in REVIEWED_COLUMNS]
        client.project = project
        if before is not None:
            client.approved_hosts = " ".join(_still_known(client.approved_hosts.split(), before, known))
            home = home_host(client)
            if home and not _still_known([home], before, known):
                client.home_unproven_since = client.home_unproven_since or clock.now()
        set_reviewed_hosts(client, known)
        if [getattr(client, column) for column in REVIEWED_COLUMNS] != was:
            changed.append(client)
    if changed:
        Client.objects.bulk_update(changed, REVIEWED_COLUMNS)


def _still_known(hosts: Sequence[str], before: ProjectDomain, known: Sequence[ProjectDomain]) -> list[str]:
    """Return the hosts, except the ones that `before` covered and no current domain covers, proven or lost."""

    def covered(domain: ProjectDomain, host: str) -> bool:
        return domain.proven_at is not None and domain.covers(host)

    return [host for host in hosts if not covered(before, host) or any(covered(domain, host) for domain in known)]
