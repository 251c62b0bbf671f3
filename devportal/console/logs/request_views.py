"""The request log page of a project."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from api.models import RequestLog
from devportal.console.access import get_membership
from devportal.console.logs import request_log as log
from devportal.console.logs.filters import select_options
from devportal.console.pagination import paginate
from devportal.console.shortcuts import console_page, render_page


@console_page()
def requests(request: HttpRequest, project_id: str) -> HttpResponse:
    """GET …/requests?status=…&code=…&path=…&who=…&request_id=…&from=…&to=…: newest first."""
    seat = get_membership(request, project_id)
    asked = log.read_filters(request)
    page = paginate(RequestLog.objects.filter(asked.where, project=seat.project), request)
    return render_page(
        request,
        "console/requests.html",
        seat,
        page=page,
        lines=log.request_log_entries(seat.project, page.rows),
        asked=asked,
        selects=[
            ("status", "Status", select_options(log.STATUSES, asked.given["status"])),
            ("code", "Error", select_options(log.CODES, asked.given["code"])),
            ("path", "Endpoint", select_options(log.ENDPOINTS, asked.given["path"])),
        ],
        log_days=settings.REQUEST_LOG_DAYS,
        key_prefix=settings.API_KEY_PREFIX,
    )
