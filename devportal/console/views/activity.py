"""The trail of a project."""

from django.http import HttpRequest, HttpResponse

from devportal.console import activity as trails
from devportal.console.access import get_seat
from devportal.console.pages import console_page, show
from devportal.console.paging import page_of
from oidc.models import ProjectMember


@console_page()
def activity(request: HttpRequest, project_id: str) -> HttpResponse:
    """GET …/activity?kind=…&by=…: who did what, newest first."""
    seat = get_seat(request, project_id)
    kind, who = request.GET.get("kind", ""), request.GET.get("by", "")
    members = list(ProjectMember.objects.filter(project=seat.project).select_related("account").order_by("pk"))
    rows = trails.by_person(trails.of_kind(trails.trail(seat.project), kind), who, members)
    page = page_of(rows, request)
    return show(
        request,
        "console/activity.html",
        seat,
        page=page,
        lines=trails.lines(seat, page.rows),
        kinds=trails.KINDS,
        members=members,
        kind=kind,
        who=who,
        is_narrowed=bool(kind or who),
    )
