"""The usage page of a project, and its CSV file."""

from django.conf import settings
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase

from devportal.console.access import get_membership
from devportal.console.shortcuts import console_page, render_page
from devportal.console.usage import csv_export, report
from devportal.console.usage.query import UsageQuery


@console_page()
def usage(request: HttpRequest, project_id: str) -> HttpResponseBase:
    """GET …/usage?range=…&endpoint=…&client=…&key=…: chart and tables."""
    seat = get_membership(request, project_id)
    asked = UsageQuery.of(request)
    found = report.usage_report(seat.project, asked)
    return render_page(
        request,
        "console/usage.html",
        seat,
        report=found,
        chips=report.active_filters(asked, found),
        asked=asked,
        ranges=report.range_choices(asked),
        usage_days=settings.USAGE_DAYS,
        most_rows=report.MAX_ROWS,
    )


@console_page()
def usage_csv(request: HttpRequest, project_id: str) -> HttpResponseBase:
    """GET …/usage.csv with the same filters."""
    seat = get_membership(request, project_id)
    asked = UsageQuery.of(request)
    response = StreamingHttpResponse(csv_export.csv_lines(seat.project, asked), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{csv_export.file_name(seat.project, asked)}"'
    return response
