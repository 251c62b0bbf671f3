"""How many people use a project's apps."""

from django.http import HttpRequest, HttpResponse

from devportal.console import people as counting
from devportal.console.access import get_seat
from devportal.console.pages import console_page, show
from devportal.console.paging import page_of
from oidc.models import Client


@console_page()
def people(request: HttpRequest, project_id: str) -> HttpResponse:
    """GET …/people: numbers for each client, and the trend; nobody is named."""
    seat = get_seat(request, project_id)
    page = page_of(counting.clients_with_people(Client.objects.filter(project=seat.project)), request)
    apps = [counting.fullness(client) for client in page.rows]
    return show(request, "console/people.html", seat, page=page, apps=apps, trend=counting.trend(seat.project))
