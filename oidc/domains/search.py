"""Search for projects and clients by what staff know of them: ids, names, domains and developers' email addresses."""

from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from core.database.words import with_words
from core.email_addresses import address_to_find
from core.names import skeleton
from oidc.clients.lookup import find_client
from oidc.models import Client, Project, ProjectDomain, ProjectMember
from oidc.models.projects import PROJECT_PREFIX

# The most projects or clients that each part of a search finds, the newest first. Others need a more exact term.
MOST_FOUND = 200
# How many labels of a domain may stand before the one that a project claims.
MOST_LABELS = 10
HELP = "An id, words of a name, a whole domain, or a developer's whole email address"


def find_projects(term: str) -> set[int]:
    """Return the primary keys of the projects with this id, these words in their name, this domain or this member."""
    if term.startswith(PROJECT_PREFIX):
        return set(Project.objects.filter(public_id=term).values_list("pk", flat=True))
    if "@" in term:
        return _newest(ProjectMember.objects.filter(account__email=address_to_find(term)), "project")
    return _newest(with_words(Project.objects.all(), "name", term), "pk") | _with_domain(term)


def find_clients(term: str) -> set[int]:
    """Return the primary keys of the clients with this id, with such a name, or of a project that the term finds."""
    if term.startswith(settings.CLIENT_ID_PREFIX):
        client = find_client(term)
        return {client.pk} if client else set()
    found = _newest(Client.objects.filter(project__in=find_projects(term)), "pk")
    if "@" not in term and not term.startswith(PROJECT_PREFIX):
        found |= _newest(with_words(Client.objects.all(), "name", term), "pk")
        if start := skeleton(term):  # indexed, and finds lookalikes too
            found |= _newest(Client.objects.filter(name_reading__startswith=start), "pk")
    return found


def _with_domain(term: str) -> set[int]:
    """Return the projects that claim this domain, or a domain that it belongs to."""
    labels = address_to_find(term).rstrip(".").split(".")
    if len(labels) < 2:
        return set()
    names = [".".join(labels[start:]) for start in range(min(len(labels) - 1, MOST_LABELS))]
    return _newest(ProjectDomain.objects.filter(name__in=names), "project")


def _newest(rows: "QuerySet[Any]", column: str) -> set[int]:
    return set(rows.order_by("-pk").values_list(column, flat=True)[:MOST_FOUND])
