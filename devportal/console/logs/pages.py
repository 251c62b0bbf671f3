"""Shared rendering of the log pages: the list with its toolbar, and the page of one entry."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse

from core.database.storable import is_key
from devportal.console.access import Membership
from devportal.console.fixes import Fix
from devportal.console.logs.filters import LogFilters, Selects, build_toolbar
from devportal.console.pagination import paginate
from devportal.console.shortcuts import render_page
from oidc.models import Client

Row = TypeVar("Row", bound=Model)


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
    log_days: int,
    **context: Any,
) -> HttpResponse:
    """Render a page of the `rows` that match the filters. `entries` converts them for the template."""
    page = paginate(rows.filter(filters.where), request)
    return render_page(
        request,
        template,
        membership,
        client,
        page=page,
        lines=entries(page.rows),
        filters=filters,
        query=filters.query(),
        toolbar=build_toolbar(filters, selects, log_days),
        log_days=log_days,
        **context,
    )


def find_entry(rows: "QuerySet[Row]", entry_id: str) -> Row | None:
    """Return the entry of `rows` with the id in the URL, or None. Raises Http404 if it is not a valid id."""
    if not is_key(entry_id):
        raise Http404
    return rows.filter(pk=int(entry_id)).first()


def render_entry(
    request: HttpRequest,
    template: str,
    membership: Membership,
    client: Client | None = None,
    *,
    fix: Fix | None,
    **context: Any,
) -> HttpResponse:
    """Render the page of an entry with its fix. Members who may not apply the fix see who may."""
    may_fix = fix is not None and membership.is_at_least(fix.at_least)
    return render_page(request, template, membership, client, fix=fix, may_fix=may_fix, **context)


def render_missing(
    request: HttpRequest, membership: Membership, client: Client | None, *, log_url: str, log_days: int
) -> HttpResponse:
    """Render the page of an entry that is not in the log, or no longer."""
    return render_page(
        request, "console/log_missing.html", membership, client, status=404, log_url=log_url, log_days=log_days
    )
