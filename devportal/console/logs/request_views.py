"""The request log page of a project."""

from functools import partial

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from api.models import RequestLog
from devportal.console.access import get_membership
from devportal.console.logs import request_log as log
from devportal.console.logs.pages import render_log
from devportal.console.shortcuts import console_page


@console_page()
def requests(request: HttpRequest, project_id: str) -> HttpResponse:
    """GET …/requests?status=…&code=…&path=…&who=…&request_id=…&from=…&to=…: newest first."""
    membership = get_membership(request, project_id)
    return render_log(
        request,
        "console/requests.html",
        membership,
        rows=RequestLog.objects.filter(project=membership.project),
        filters=log.read_filters(request),
        selects=log.SELECTS,
        entries=partial(log.request_log_entries, membership.project),
        log_days=settings.REQUEST_LOG_DAYS,
    )
