"""What the pages of reviews and cases show of an app or a project as it is now, with links to its admin pages."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from devportal.console.reviews.live_app import live_app, live_project
from devportal.lib.admin.theme import may_view
from oidc.models import Client, Project, ProjectDomain


def live_context(
    request: HttpRequest,
    project: Project,
    client: Client | None,
    *,
    logo_url: str,
    with_people: bool,
    domains: Sequence[ProjectDomain] | None = None,
) -> dict[str, Any]:
    """Return the context of the partials `live_app.html` and `live_project.html`.

    `logo_url` shows the app's logo to reviewers, whether or not it has one. `with_people`: with owners and events, for
    reviewers without a conflict of interest; the others get no links either. `domains`: the project's, where known.
    """
    context: dict[str, Any] = {
        "live": None,
        "live_project": None,
        "live_logo": logo_url if client is not None and client.logo else "",
        "live_links": _links(request, project, client) if with_people else [],
        "with_people": with_people,
    }
    if client is not None:
        return context | {"live": live_app(client, with_people=with_people, known=domains)}
    return context | {"live_project": live_project(project, with_people=with_people)}


def _links(request: HttpRequest, project: Project, client: Client | None) -> list[tuple[str, str]]:
    """Return links to the pages and lists of an app and its project that this person may view."""
    found = [("oidc_client", "Client", _change("oidc_client", client.pk))] if client is not None else []
    found += [
        ("oidc_project", "Project", _change("oidc_project", project.pk)),
        ("oidc_client", "Clients of the project", _list("oidc_client", project__id__exact=project.pk)),
        ("oidc_projectdomain", "Domains", _list("oidc_projectdomain", project__id__exact=project.pk)),
        ("console_auditevent", "Audit trail of the project", _list("console_auditevent", q=project.public_id)),
    ]
    return [(title, url) for model, title, url in found if may_view(model)(request)]


def _change(model: str, key: int) -> str:
    return reverse(f"admin:{model}_change", args=[key])


def _list(model: str, **query: Any) -> str:
    return f"{reverse(f'admin:{model}_changelist')}?{urlencode(query)}"
