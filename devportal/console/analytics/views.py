"""The sign-in analytics of a client and of a project, with their CSV files."""

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
from devportal.console.export import FORMATS, download, write_csv
from devportal.console.logs.links import ANY_REFUSAL, LogLink, sign_in_log
from devportal.console.navigation import console_page, render_page
from oidc.models import Client, Project
from oidc.sign_in_log.steps import ENTRIES, Step

# Sort client by client, so that the first lines don't wait for the rest.
_CLIENTS_AT_ONCE = 20
_HEADER = ("client_id", "client", "step", "error", "count")


def csv_lines(query: AnalyticsQuery, clients: Sequence[Client]) -> Iterator[str]:
    """Return the lines of the CSV file: one for each client, hour or day, step and error, in this order."""
    since, until = query.bounds
    unit, by_key = query.span.unit, {client.pk: client for client in clients}
    keys = sorted(by_key)

    def rows() -> Iterator[list[Any]]:
        for place in range(0, len(keys), _CLIENTS_AT_ONCE):
            found = store.single_counts(unit, keys[place : place + _CLIENTS_AT_ONCE], since, until)
            for row in found.iterator(chunk_size=1000):
                client = by_key[row.client_id]
                yield [getattr(row, unit), client.client_id, client.name, row.step, row.error, row.count]

    return write_csv([f"{unit}_utc", *_HEADER], rows())


def file_name(name: str, query: AnalyticsQuery, what: str = "sign-ins") -> str:
    """Return the file name, with the id of the client or project, time range and end."""
    _, until = query.bounds
    return f"{what}-{name}-{query.span.name}-until-{until:%Y%m%dT%H%MZ}.csv"


@console_page()
def client_analytics(request: HttpRequest, project_id: str, client_id: str) -> HttpResponseBase:
    """GET …/analytics?range=…: funnel, charts and tables of one client."""
    membership, client = get_client(request, project_id, client_id)
    query = AnalyticsQuery.of(request)
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
    """GET …/sign-ins?range=…: the sums of all clients of a project, and the figures by client."""
    membership = get_membership(request, project_id)
    query = AnalyticsQuery.of(request)
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


@console_page()
def client_analytics_csv(request: HttpRequest, project_id: str, client_id: str) -> HttpResponseBase:
    """GET …/analytics.csv with the same range. `table=apis` is the table by API."""
    membership, client = get_client(request, project_id, client_id)
    query = AnalyticsQuery.of(request)
    if _is_by_api(request):
        report = apis.api_report(membership.project, query, [client.pk], client)
        return _file_by_api(query, report, client.client_id)
    return _file(query, [client], client.client_id)


@console_page()
def project_analytics_csv(request: HttpRequest, project_id: str) -> HttpResponseBase:
    """GET …/sign-ins.csv with the same range. `table=apis` is the table by API."""
    project = get_membership(request, project_id).project
    query, clients = AnalyticsQuery.of(request), _clients(project)
    if _is_by_api(request):
        report = apis.api_report(project, query, [client.pk for client in clients])
        return _file_by_api(query, report, project.public_id)
    return _file(query, clients, project.public_id)


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
        "ranges": query.choices(),
        "sign_in_log_days": settings.SIGN_IN_LOG_DAYS,
        "hour_days": settings.SIGN_IN_HOUR_DAYS,
        "count_days": settings.SIGN_IN_COUNT_DAYS,
        "reuse_seconds": settings.REFRESH_REUSE_SECONDS,
    }


def _links_of(project: Project, row: ClientRow, query: AnalyticsQuery) -> dict[str, str]:
    """Return the URLs of the entries that the figures of a client count, by the figure's name."""
    log = sign_in_log(project, row.client)
    steps = {"signed_in": Step.EXCHANGED, "cancelled": Step.CANCELLED, "refused": ANY_REFUSAL}
    return {name: log.url(*query.bounds, step=step) if getattr(row, name) else "" for name, step in steps.items()}


def _clients(project: Project) -> list[Client]:
    return list(Client.objects.filter(project=project).order_by("name", "pk").only("client_id", "name", "project"))


def _linked(log: LogLink, query: AnalyticsQuery, losses: Sequence[Loss]) -> list[tuple[Loss, str]]:
    """Return losses with the URL of their entries in the sign-in log, or "" if there are none."""
    return [
        (loss, log.url(*query.bounds, step=loss.step, error=loss.error) if loss.step in ENTRIES else "")
        for loss in losses
    ]


def _file(query: AnalyticsQuery, clients: Sequence[Client], name: str) -> HttpResponseBase:
    return download(file_name(name, query), FORMATS["csv"], csv_lines(query, clients))


def _is_by_api(request: HttpRequest) -> bool:
    return request.GET.get("table") == "apis"


def _file_by_api(query: AnalyticsQuery, report: apis.ApiReport | None, name: str) -> HttpResponseBase:
    return download(file_name(name, query, "apis"), FORMATS["csv"], apis.csv_lines(report))
