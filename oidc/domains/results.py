"""Results of a check: how the state of a domain's proof changes, and what follows for the project's apps."""

import copy
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from django.conf import settings

from core import clock
from oidc.clients.reviewed_hosts import REVIEWED_COLUMNS, home_host, set_reviewed_hosts
from oidc.domains.names import domains_of
from oidc.domains.proofs import Look, Problem, Seen
from oidc.models import Client, Project, ProjectDomain
from oidc.signals import domain_changed

CHECK_EVERY = timedelta(days=7)
CHECK_MISSING_EVERY = timedelta(days=1)  # a proof that was not found, until it is found or lost

Method = ProjectDomain.Method


class Change(StrEnum):
    """What a look, or a person, changed of a domain's proof."""

    PROVEN = "proven"  # for the first time
    REGAINED = "regained"  # after it was lost
    FOUND = "found"  # it was missing, and counted all the while
    NARROWED = "narrowed"  # by file instead of by DNS, so that subdomains are not covered any more
    WIDENED = "widened"  # by DNS instead of by file
    MISSING = "missing"
    LOST = "lost"
    REMOVED = "removed"


def apply_look(domain: ProjectDomain, seen: Look, now: datetime) -> Change | None:
    """Write onto `domain`, which the caller saves, what a look saw at `now`; return what changed of the proof."""
    domain.checked_at = now
    method = _method(domain, seen)
    if method is not None:
        return _found(domain, method, now)
    domain.problems = [problem.as_json() for problem in _problems(seen)]
    return _not_found(domain, seen, now)


def _method(domain: ProjectDomain, seen: Look) -> str | None:
    """Return by what a look has proven the domain, None if by nothing."""
    if seen.dns.found:
        return Method.DNS
    if seen.file is None or not seen.file.found:
        return None
    # While name servers fail, the file vouches for what the record proved.
    keeps = domain.is_proven and domain.method == Method.DNS and seen.dns.is_temporary
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


def _not_found(domain: ProjectDomain, seen: Look, now: datetime) -> Change | None:
    if domain.proven_at is None:
        domain.check_at = None  # until somebody asks again
        return None
    if domain.lost_at is not None:
        domain.check_at = now + CHECK_EVERY
        return None
    domain.check_at = now + CHECK_MISSING_EVERY
    if not _is_miss(domain, seen, now):
        return None
    if domain.missing_since is None:
        domain.missing_since = now
        return Change.MISSING
    if now < lost_from(domain.missing_since):
        return None
    domain.lost_at, domain.check_at = now, now + CHECK_EVERY
    return Change.LOST


def _is_miss(domain: ProjectDomain, seen: Look, now: datetime) -> bool:
    """Return whether a look says that the proof is gone: name servers that fail say nothing, until the grace is over.

    What counts is the kind of proof that the domain has: who proved by DNS may have no web server at all.
    """
    if not _of_method(domain, seen).is_temporary:
        return True
    last = domain.found_at or domain.proven_at or now
    return now >= last + CHECK_EVERY + _grace()


def _of_method(domain: ProjectDomain, seen: Look) -> Seen:
    return seen.file if domain.method == Method.FILE and seen.file is not None else seen.dns


def _grace() -> timedelta:
    return timedelta(days=settings.DOMAIN_GRACE_DAYS)


def lost_from(missing_since: datetime) -> datetime:
    """Return the moment from which a proof that is still missing is lost."""
    return missing_since + _grace()


def _problems(seen: Look) -> list[Problem]:
    found = [(Method.DNS, seen.dns), (Method.FILE, seen.file)]
    return [Problem(proof, each.code, each.parameters) for proof, each in found if each is not None]


def announce_change(project: Project, domain: ProjectDomain, change: Change) -> None:
    """Have everything follow a change of proof that was just written; the project is locked.

    Receivers of `oidc.signals.domain_changed` on higher layers take part in the transaction.
    """
    domain_changed.send(sender=ProjectDomain, project=project, domain=domain, change=change)


def snapshot(domain: ProjectDomain) -> ProjectDomain:
    """Return a domain as it is now, for `refresh_reviewed_hosts` after it was changed."""
    return copy.copy(domain)


def refresh_reviewed_hosts(project: Project, before: ProjectDomain | None = None) -> None:
    """Compute again where the project's verified clients count as reviewed; the project is locked.

    `before` is the domain as it was. Hosts that only it spoke for are no longer approved: until they are proven again,
    or a review covers them, apps count there as unreviewed. If the home page is on one of them, the app carries no
    badge anywhere. Three statements, however many clients there are.
    """
    known = domains_of(project)
    # All of them, so that an approval at this moment comes before, or sees what the domains are now.
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
    """Return the hosts but those that `before` spoke for and no domain does any more, proven or lost."""

    def speaks(domain: ProjectDomain, host: str) -> bool:
        return domain.proven_at is not None and domain.covers(host)

    return [host for host in hosts if not speaks(before, host) or any(speaks(domain, host) for domain in known)]
