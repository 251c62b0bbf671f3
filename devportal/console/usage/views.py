"""The usage page of a project, and its CSV file."""

from django.conf import settings
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase

from devportal.console.access import get_membership
from devportal.console.shortcuts import console_page, render_page
from devportal.console.usage import csv_export, report
from devportal.console.usage.query import UsageQuery
from devportal.lib.postgres.replica import page_from_replica


@page_from_replica
@console_page()
def usage(request: HttpRequest, project_id: str) -> HttpResponseBase:
    """GET …/usage?range=…&endpoint=…&client=…&key=…: chart and tables."""
    membership = get_membership(request, project_id)
    query = UsageQuery.of(request)
    found = report.usage_report(membership.project, query)
    return render_page(
        request,
        "console/usage.html",
        membership,
        report=found,
        chips=report.active_filters(query, found),
        query=query,
        ranges=report.range_choices(query),
        usage_days=settings.USAGE_DAYS,
        most_rows=report.MAX_ROWS,
    )


@console_page()
def usage_csv(request: HttpRequest, project_id: str) -> HttpResponseBase:
    """GET …/usage.csv with the same filters."""
    membership = get_membership(request, project_id)
    query = UsageQuery.of(request)
    response = StreamingHttpResponse(
        csv_export.csv_lines(membership.project, query), content_type="text/csv; charset=utf-8"
    )
    response["Content-Disposition"] = f'attachment; filename="{csv_export.file_name(membership.project, query)}"'
    return response
