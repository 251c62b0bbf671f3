"""What the result of a check makes of a domain's proof: proven, missing, lost, found again (docs/domains.md#proofs).

Pure rules: nothing here asks the network or the database.
"""

from datetime import datetime, timedelta
from enum import StrEnum

from django.conf import settings

from oidc.domains.problems import Problem
from oidc.domains.proofs import Look, Seen
from oidc.models import ProjectDomain

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
