"""The sign-in analytics of a client and of a project, and their files."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from devportal.console.access import get_client, get_membership
from devportal.console.analytics import apis, store
from devportal.console.analytics.report import (
    MAX_ROWS,
    AnalyticsQuery,
    ClientRow,
    Loss,
    SignInReport,
    sign_in_report,
)
from devportal.console.export import Columns, export, requested_format
from devportal.console.logs.links import ANY_REFUSAL, LogLink, sign_in_log
from devportal.console.navigation import console_page, render_page
from oidc.models import Client, Project
from oidc.sign_in_log.steps import ENTRIES, Step

# Sort client by client, so that the first lines don't wait for the rest.
_CLIENTS_AT_ONCE = 20


def _single_counts(query: AnalyticsQuery, clients: Sequence[Client]) -> Iterator[tuple[Client, Any]]:
    """Yield the counts of each client by hour or day, step and error, in this order."""
    since, until = query.bounds
    by_key = {client.pk: client for client in clients}
    keys = sorted(by_key)
    for place in range(0, len(keys), _CLIENTS_AT_ONCE):
        found = store.single_counts(query.span.unit, keys[place : place + _CLIENTS_AT_ONCE], since, until)
        for row in found.iterator(chunk_size=1000):
            yield by_key[row.client_id], row


def _columns(unit: str) -> "Columns[tuple[Client, Any]]":
    return {
        f"{unit}_utc": lambda row: getattr(row[1], unit),
        "client_id": lambda row: row[0].client_id,
        "client": lambda row: row[0].name,
        "step": lambda row: row[1].step,
        "error": lambda row: row[1].error,
        "count": lambda row: row[1].count,
    }


def _file(request: HttpRequest, query: AnalyticsQuery, project: Project, client: Client | None) -> HttpResponseBase:
    """Return the requested file, named after the client or project, the time range and its end.

    `table=apis` is the table by API.
    """
    clients = [client] if client else list(Client.objects.filter(project=project).order_by("name", "pk"))
    name = client.client_id if client else project.public_id
    until = f"{query.span.name}-until-{query.bounds[1]:%Y%m%dT%H%MZ}"
    file_format = requested_format(request)
    if request.GET.get("table") == "apis":
        report = apis.api_report(project, query, [each.pk for each in clients], client)
        return export(f"apis-{name}-{until}", file_format, apis.COLUMNS, report.rows if report else [])
    rows = _single_counts(query, clients)
    return export(f"sign-ins-{name}-{until}", file_format, _columns(query.span.unit), rows)


@console_page()
def client_analytics(request: HttpRequest, project_id: str, client_id: str) -> HttpResponseBase:
    """GET …/activity/analytics?range=…: funnel, charts and tables of one client. `?format=csv` downloads the counts."""
    membership, client = get_client(request, project_id, client_id)
    query = AnalyticsQuery.of(request)
    if requested_format(request):
        return _file(request, query, membership.project, client)
    log = sign_in_log(membership.project, client)
    report = sign_in_report(query, [client.pk], log)
    return render_page(
        request,
        "console/client_analytics.html",
        membership,
        client,
        **_context(query, log, report=report),
        apis=apis.api_report(membership.project, query, [client.pk], client),
    )


@console_page()
def project_analytics(request: HttpRequest, project_id: str) -> HttpResponseBase:
    """GET …/analytics/sign-ins?range=…: the sums of all clients of a project, and the figures by client."""
    membership = get_membership(request, project_id)
    query = AnalyticsQuery.of(request)
    if requested_format(request):
        return _file(request, query, membership.project, None)
    clients = Client.objects.filter(project=membership.project).order_by("name", "pk")
    log = sign_in_log(membership.project)
    keys = list(clients.values_list("pk", flat=True))
    report = sign_in_report(query, keys, log)
    return render_page(
        request,
        "console/project_analytics.html",
        membership,
        **_context(query, log, report=report),
        apis=apis.api_report(membership.project, query, keys),
        first_client=clients.first() if report.is_empty else None,
        clients=[(row, _links_of(membership.project, row, query)) for row in report.clients],
        most_rows=MAX_ROWS,
    )


def _context(query: AnalyticsQuery, log: LogLink, *, report: SignInReport) -> dict[str, Any]:
    bounds = query.bounds
    return {
        "query": query,
        "report": report,
        "stages": [
            (stage, log.url(*bounds, step=stage.step) if stage.step else "", _linked(log, query, stage.losses))
            for stage in report.stages
        ],
        "turned_away": _linked(log, query, report.turned_away),
        "refused_later": _linked(log, query, report.refused_later),
        "repeated": _linked(log, query, report.repeated),
        "refreshed_url": log.url(*bounds, step=Step.REFRESHED) if report.refreshed else "",
        "revoked_url": log.url(*bounds, step=Step.REVOKED) if report.revoked else "",
        "bar": query.bar,
        "reuse_seconds": settings.REFRESH_REUSE_SECONDS,
    }


def _links_of(project: Project, row: ClientRow, query: AnalyticsQuery) -> dict[str, str]:
    """Return the URLs of the entries that the figures of a client count, by the figure's name."""
    log = sign_in_log(project, row.client)
    steps = {"signed_in": Step.EXCHANGED, "cancelled": Step.CANCELLED, "refused": ANY_REFUSAL}
    return {name: log.url(*query.bounds, step=step) if getattr(row, name) else "" for name, step in steps.items()}


def _linked(log: LogLink, query: AnalyticsQuery, losses: Sequence[Loss]) -> list[tuple[Loss, str]]:
    """Return losses with the URL of their entries in the sign-in log, or "" if there are none."""
    return [
        (loss, log.url(*query.bounds, step=loss.step, error=loss.error) if loss.step in ENTRIES else "")
        for loss in losses
    ]
