"""The activity page of a project."""

from django.http import HttpRequest, HttpResponse

from devportal.console.access import get_membership
from devportal.console.activity import feed as trails
from devportal.console.pagination import paginate
from devportal.console.shortcuts import console_page, render_page
from devportal.lib.postgres.replica import page_from_replica
from oidc.models import ProjectMember


@page_from_replica
@console_page()
def activity(request: HttpRequest, project_id: str) -> HttpResponse:
    """GET …/activity?kind=…&by=…: who did what, newest first."""
    membership = get_membership(request, project_id)
    kind, who = request.GET.get("kind", ""), request.GET.get("by", "")
    members = list(ProjectMember.objects.filter(project=membership.project).select_related("account").order_by("pk"))
    rows = trails.filter_by_person(trails.filter_by_category(trails.events_of(membership.project), kind), who, members)
    page = paginate(rows, request)
    return render_page(
        request,
        "console/activity.html",
        membership,
        page=page,
        lines=trails.activity_entries(membership, page.rows),
        kinds=trails.CATEGORIES,
        members=members,
        kind=kind,
        who=who,
        is_narrowed=bool(kind or who),
    )
