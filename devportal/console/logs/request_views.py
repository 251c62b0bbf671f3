"""The request log of a project: the list, and the page of one call."""

from functools import partial

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from api.models import RequestLog
from devportal.console.access import get_membership
from devportal.console.fixes import project_page
from devportal.console.logs import request_log as log
from devportal.console.logs.call_fixes import Call, call_fix_for
from devportal.console.logs.curl import call_as_curl
from devportal.console.logs.error_docs import api_error
from devportal.console.logs.pages import find_entry, render_entry, render_log, render_missing
from devportal.console.shortcuts import console_page
from devportal.lib.postgres.replica import page_from_replica


@page_from_replica
@console_page()
def requests(request: HttpRequest, project_id: str) -> HttpResponse:
    """GET …/requests?status=…&code=…&path=…&who=…&request_id=…&range=…&from=…&to=…: newest first."""
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


@page_from_replica
@console_page()
def request_detail(request: HttpRequest, project_id: str, entry_id: str) -> HttpResponse:
    """GET …/requests/<id>: all that is known of one call. A filter in the query leads back to the narrowed log."""
    membership = get_membership(request, project_id)
    project, query = membership.project, log.read_filters(request).query()
    log_url = project_page(project, "requests") + query
    row = find_entry(RequestLog.objects.filter(project=project), entry_id)
    if row is None:
        return render_missing(request, membership, None, log_url=log_url, log_days=settings.REQUEST_LOG_DAYS)
    (line,) = log.request_log_entries(project, [row])
    if line.client is not None:
        line.client.project = project
    return render_entry(
        request,
        "console/request_detail.html",
        membership,
        line=line,
        log_url=log_url,
        fix=call_fix_for(Call(row, project, line.client, line.key)),
        error=api_error(row.code),
        curl=call_as_curl(row),
    )
