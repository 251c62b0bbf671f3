"""The usage page of a project, and its CSV file."""

import csv
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase

from api import usage_counts
from api.models import LATENCY_FIELDS, ApiKey
from core.database.postgres.replica import page_from_replica
from devportal.console.access import get_membership
from devportal.console.shortcuts import console_page, render_page
from devportal.console.usage import report
from devportal.console.usage.query import UsageQuery
from oidc.models import Client, Project

_HEADER = ("endpoint", "status", "error", "client_id", "client", "key_id", "key", "requests")
# First characters of spreadsheet formulas (OWASP: CSV injection).
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001  (full-width ones, too)


def escape_cell(text: str) -> str:
    """Return a text escaped against CSV injection."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def iso_time(moment: datetime) -> str:
    """Return a time in UTC in ISO 8601."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Echo:
    """A file-like object whose `write` returns the text, for csv.writer."""

    def write(self, text: str) -> str:
        return text


def csv_lines(project: Project, query: UsageQuery) -> Iterator[str]:
    """Yield the lines of the CSV file: one for each kind of call and unit of time."""
    since, until = query.bounds()
    clients = dict(Client.objects.filter(project=project).values_list("client_id", "name"))
    keys = dict(ApiKey.objects.filter(project=project).values_list("public_id", "name"))
    writer: Any = csv.writer(Echo())
    yield writer.writerow([f"{query.span.unit}_utc", *_HEADER, *LATENCY_FIELDS])
    for start, row in usage_counts.iterate_rows(project, since, until, query.span.unit, **query.only):
        who = (row.client, clients.get(row.client, ""), row.credential, keys.get(row.credential, ""))
        latencies = (getattr(row, name) for name in LATENCY_FIELDS)
        texts = (row.endpoint, str(row.status), row.code, *who)
        yield writer.writerow([iso_time(start), *map(escape_cell, texts), row.count, *latencies])


def file_name(project: Project, query: UsageQuery) -> str:
    """Return the file name, with project, time range and end."""
    _, until = query.bounds()
    return f"usage-{project.public_id}-{query.span.name}-until-{until:%Y%m%dT%H%MZ}.csv"


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
    response = StreamingHttpResponse(csv_lines(membership.project, query), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{file_name(membership.project, query)}"'
    return response
