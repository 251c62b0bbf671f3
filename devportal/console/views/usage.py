"""How much a project calls the API."""

from django.conf import settings
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase

from devportal.console.access import get_seat
from devportal.console.pages import console_page, show
from devportal.console.usage import csv_file, report
from devportal.console.usage.asked import Asked


@console_page()
def usage(request: HttpRequest, project_id: str) -> HttpResponseBase:
    """GET …/usage?range=…&endpoint=…&client=…&key=…: how much, by whom, and how it went."""
    seat = get_seat(request, project_id)
    asked = Asked.of(request)
    found = report.read(seat.project, asked)
    return show(
        request,
        "console/usage.html",
        seat,
        report=found,
        chips=report.chips(asked, found),
        asked=asked,
        ranges=report.ranges(asked),
        usage_days=settings.USAGE_DAYS,
        most_rows=report.MOST_ROWS,
    )


@console_page()
def usage_csv(request: HttpRequest, project_id: str) -> HttpResponseBase:
    """GET …/usage.csv with the same filters."""
    seat = get_seat(request, project_id)
    asked = Asked.of(request)
    response = StreamingHttpResponse(csv_file.lines(seat.project, asked), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{csv_file.file_name(seat.project, asked)}"'
    return response
