"""How many people use a project's apps."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from devportal.console.access import get_membership
from devportal.console.pagination import paginate
from devportal.console.people import counts as counting
from devportal.console.shortcuts import console_page, render_page
from oidc.authorization.user_cap import annotate_people
from oidc.models import Client


@console_page()
def people(request: HttpRequest, project_id: str) -> HttpResponse:
    """GET …/people: the project's limit, numbers for each client, and the trend; nobody is named."""
    membership = get_membership(request, project_id)
    page = paginate(annotate_people(Client.objects.filter(project=membership.project)), request)
    context: dict[str, Any] = {
        "apps": [counting.app_people(client) for client in page.rows],
        "limit": counting.limit_usage(membership.project),
        "trend": counting.trend_chart(membership.project),
    }
    return render_page(request, "console/people.html", membership, page=page, **context)
