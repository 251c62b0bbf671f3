"""Add a domain to a project, request a check, remove it, or declare it for the operator."""

from functools import partial

from django.conf import settings
from django.db import transaction

from accounts.models import Account
from core import clock
from core.tasks import queue_task
from oidc.clients.domain_names import clean_domain_name
from oidc.domains import checking
from oidc.domains.results import Change, announce_change, refresh_reviewed_hosts
from oidc.models import Client, Project, ProjectDomain
from oidc.projects.lifecycle import QuotaExceeded
from oidc.projects.roles import Gone, Role, lock_for_change, report_project_event
from oidc.tasks import check_domain
from oidc.values.redirect_uris import split_web_address


class AlreadyListed(Exception):
    """The project already has this domain. The argument is its name."""


def add_domain(project: Project, typed: str, actor: Account) -> ProjectDomain:
    """Add an unproven domain to a project. Raises ValidationError, AlreadyListed, QuotaExceeded, Gone."""
    name = clean_domain_name(typed)
    with lock_for_change(project, actor, Role.DEVELOPER) as me:
        rows = ProjectDomain.objects.filter(project=me.project)
        if rows.filter(name=name).exists():
            raise AlreadyListed(name)
        if rows.count() >= settings.DOMAINS_PER_PROJECT:
            raise QuotaExceeded(f"A project can have at most {settings.DOMAINS_PER_PROJECT} domains.")
        domain = ProjectDomain.objects.create(project=me.project, name=name, added_at=clock.now(), added_by=actor)
        report_project_event("domain.added", me.project, actor, name)
    return domain


def request_check(domain: ProjectDomain, actor: Account) -> bool:
    """Request a check of a domain's proof, which starts after the commit; return False for an operator's domain.

    A worker checks it. In the embedded environment, this process does so before it continues. Raises Gone.
    """
    with lock_for_change(domain.project_id, actor, Role.DEVELOPER) as me:
        row = _current(domain, me.project)
        if row.method == ProjectDomain.Method.OPERATOR:
            return False
        row.check_at = clock.now()
        row.save(update_fields=["check_at"])
        transaction.on_commit(partial(_start_check, row.pk, actor.pk), robust=True)
    return True


def _start_check(pk: int, actor: int) -> None:
    if settings.CELERY_TASK_ALWAYS_EAGER:
        checking.check(pk, actor)
    else:
        queue_task(check_domain, pk, actor)


def remove_domain(domain: ProjectDomain, actor: Account) -> None:
    """Remove a domain from its project. Hosts that only it proved no longer count. Raises Gone."""
    with lock_for_change(domain.project_id, actor, Role.DEVELOPER) as me:
        row = _current(domain, me.project)
        ProjectDomain.objects.filter(pk=row.pk).delete()
        report_project_event("domain.removed", me.project, actor, row.name, before={"proven_by": row.method})
        refresh_reviewed_hosts(me.project, row)
        announce_change(me.project, row, Change.REMOVED)


def _current(domain: ProjectDomain, project: Project) -> ProjectDomain:
    """Read a domain again while the project is locked. Raises Gone."""
    row = ProjectDomain.objects.filter(pk=domain.pk, project=project).first()
    if row is None:
        raise Gone
    return row


def declare_domain(project: Project, name: str) -> None:
    """Declare a domain as proven for the operator. Its proof is never checked. The caller has locked the project.

    A domain that a developer has added becomes the operator's. The caller refreshes the reviewed hosts.
    """
    now = clock.now()
    row = ProjectDomain.objects.filter(project=project, name=name).first()
    row = row or ProjectDomain(project=project, name=name, added_at=now)
    if row.method == ProjectDomain.Method.OPERATOR and row.is_proven:
        return
    row.method, row.proven_at, row.problems = ProjectDomain.Method.OPERATOR, now, []
    row.checked_at = row.found_at = row.check_at = row.missing_since = row.lost_at = None
    row.save()


def apps_on(domain: ProjectDomain) -> list[Client]:
    """Return the project's reviewed apps that have a URL on this domain, or whose approval covers it."""
    rows = Client.objects.filter(project=domain.project_id).exclude(verified_at=None).order_by("name", "pk")
    return [
        client
        for client in rows
        if domain.name in client.approved_domains.split() or any(map(domain.covers, _hosts(client)))
    ]


def _hosts(client: Client) -> set[str]:
    """Return the hosts of all URLs that a client registered, and the hosts that its approval covers."""
    pages = (client.home_page_url, client.privacy_policy_url, client.terms_url)
    addresses = (*client.registered_redirect_uris, *client.registered_post_logout_redirect_uris, *pages)
    parts = map(split_web_address, addresses)
    return {part.hostname or "" for part in parts if part} | set(client.approved_hosts.split())
