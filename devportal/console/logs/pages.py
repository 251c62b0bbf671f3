"""The frame that the pages of the logs share: filters, rows newest first, pages."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse

from devportal.console.access import Membership
from devportal.console.logs.filters import LogFilters, select_options
from devportal.console.pagination import paginate
from devportal.console.shortcuts import render_page
from oidc.models import Client

Row = TypeVar("Row", bound=Model)

# Filters with a few choices: name, label, choices with their labels.
Selects = Sequence[tuple[str, str, Mapping[str, str]]]


def render_log(
    request: HttpRequest,
    template: str,
    membership: Membership,
    client: Client | None = None,
    *,
    rows: "QuerySet[Row]",
    filters: LogFilters,
    selects: Selects,
    entries: "Callable[[Sequence[Row]], Sequence[Any]]",
    **context: Any,
) -> HttpResponse:
    """Render a page of those `rows` that match the filters; `entries` makes of them what the template shows."""
    page = paginate(rows.filter(filters.where), request)
    return render_page(
        request,
        template,
        membership,
        client,
        page=page,
        lines=entries(page.rows),
        filters=filters,
        selects=[(name, label, select_options(choices, filters.given[name])) for name, label, choices in selects],
        **context,
    )
