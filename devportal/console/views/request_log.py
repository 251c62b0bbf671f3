"""Each request that a project's keys and apps made."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from api.models import RequestLog
from devportal.console.access import get_seat
from devportal.console.logs import requests as log
from devportal.console.logs.narrowing import options
from devportal.console.pages import console_page, show
from devportal.console.paging import page_of


@console_page()
def requests(request: HttpRequest, project_id: str) -> HttpResponse:
    """GET …/requests?status=…&code=…&path=…&who=…&request_id=…&from=…&to=…: newest first."""
    seat = get_seat(request, project_id)
    asked = log.asked(request)
    page = page_of(RequestLog.objects.filter(asked.where, project=seat.project), request)
    return show(
        request,
        "console/requests.html",
        seat,
        page=page,
        lines=log.lines(seat.project, page.rows),
        asked=asked,
        selects=[
            ("status", "Status", options(log.STATUSES, asked.given["status"])),
            ("code", "Error", options(log.CODES, asked.given["code"])),
            ("path", "Endpoint", options(log.ENDPOINTS, asked.given["path"])),
        ],
        log_days=settings.REQUEST_LOG_DAYS,
        key_prefix=settings.API_KEY_PREFIX,
    )
