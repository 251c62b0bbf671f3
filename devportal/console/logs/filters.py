"""Filters of the logs and lists, from the query string."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from urllib.parse import urlencode

from django.db.models import Model, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from core import clock
from core.database.batches import parse_key
from core.database.postgres.plans import planned_for_values
from core.database.storable import is_key
from devportal.console.access import Membership
from devportal.console.export import MOST_ROWS, Columns, export, requested_format
from devportal.console.filter_bar import FilterBar, Select, Selects, build_bar
from devportal.console.fixes import Fix
from devportal.console.navigation import render_page
from devportal.console.pagination import AFTER, BEFORE, Page, paginate, query_of_page
from oidc.models import Client, Project

MAX_LENGTH = 255  # characters
RANGE = "range"
# The time ranges to choose from, counted back from now.
RANGES = {
    "15m": ("Last 15 minutes", timedelta(minutes=15)),
    "1h": ("Last hour", timedelta(hours=1)),
    "24h": ("Last 24 hours", timedelta(hours=24)),
    "7d": ("Last 7 days", timedelta(days=7)),
}

# The entries that are searched for one page, unless a filter has an index or the person has chosen the time.
SEARCHED = 50_000
BOUNDED = {"request_id", "status", "from", "to"}


@dataclass
class LogFilters:
    """Parsed filters: `given` for the form, `where` for the queryset, and `errors` by field."""

    given: dict[str, str] = field(default_factory=dict)
    where: Q = field(default_factory=Q)
    errors: dict[str, str] = field(default_factory=dict)

    @property
    def is_any(self) -> bool:
        """Whether any filter is set."""
        return any(self.given.values())

    @property
    def applied(self) -> dict[str, str]:
        """The filters that apply: the ones that are given and valid."""
        return {name: text for name, text in self.given.items() if text and name not in self.errors}

    def query(self, **changes: str) -> str:
        """Return the applied filters as a query string with its `?`, or "". A change to "" removes a filter."""
        changed = self.applied | changes
        kept = {name: text for name, text in changed.items() if text}
        return f"?{urlencode(kept)}" if kept else ""


def parse_filters(request: HttpRequest, conditions: Mapping[str, Callable[[str], Q]]) -> LogFilters:
    """Parse the filters. A condition raises ValueError with a message for an invalid value.

    If `from` or `to` is given, `range` is ignored.
    """
    found = LogFilters()
    for name, condition in conditions.items():
        text = request.GET.get(name, "").strip()
        if name == RANGE and (found.given.get("from") or found.given.get("to")):
            text = ""
        found.given[name] = text[:MAX_LENGTH]
        if not text:
            continue
        try:
            if len(text) > MAX_LENGTH:
                raise ValueError("This is too long.")
            found.where &= condition(text)
        except ValueError as error:
            found.errors[name] = str(error)
    return found


def choice_filter(choices: Mapping[str, Q]) -> Callable[[str], Q]:
    """Return a condition for a filter with these choices."""

    def condition(text: str) -> Q:
        if text not in choices:
            raise ValueError("This is not one of the choices.")
        return choices[text]

    return condition


MOST_CLIENTS = 200  # to choose from in the log of a project


def clients_to_choose(project: Project) -> list[Client]:
    """Return the clients that the log of a project can be filtered by."""
    return list(Client.objects.filter(project=project).order_by("name", "pk")[:MOST_CLIENTS])


def client_filter(clients: Sequence[Client] | None, column: str = "client") -> dict[str, Callable[[str], Q]]:
    """Return the filter of a project's log by client, and none for the log of one client."""
    if clients is None:
        return {}
    return {"client": choice_filter({client.client_id: Q(**{column: client}) for client in clients})}


def client_select(clients: Sequence[Client]) -> tuple[str, str, Mapping[str, str]]:
    """Return the select of that filter."""
    return "client", "App", {client.client_id: client.name for client in clients}


def exact_filter(column: str) -> Callable[[str], Q]:
    """Return a condition that a column equals the text."""
    return lambda text: Q(**{column: text})


def text_filter(*columns: str) -> Callable[[str], Q]:
    """Return a condition that one of the columns contains the text, in any case."""
    return lambda text: Q(*((f"{column}__icontains", text) for column in columns), _connector=Q.OR)


def time_filter(lookup: str) -> Callable[[str], Q]:
    """Return a condition for a datetime, in UTC unless it has an offset."""

    def condition(text: str) -> Q:
        return Q(**{lookup: parse_time(text)})

    return condition


def time_filters(column: str) -> dict[str, Callable[[str], Q]]:
    """Return the filters by time. Each raises ValueError for an invalid value."""

    def since(text: str) -> Q:
        if text not in RANGES:
            raise ValueError(f"The time ranges are {', '.join(RANGES)}.")
        return Q(**{f"{column}__gte": clock.now() - RANGES[text][1]})

    return {"from": time_filter(f"{column}__gte"), "to": time_filter(f"{column}__lt"), RANGE: since}


# Filters of the logs of requests.
ENTRY_FILTERS: dict[str, Callable[[str], Q]] = {"request_id": exact_filter("request_id")} | time_filters("at")


def parse_time(text: str) -> datetime:
    """Parse a datetime in ISO 8601 or as forms send it. Raises ValueError with a message."""
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError("Enter a time as 2026-01-31 14:05, in UTC.") from None


def log_bar(filters: LogFilters, selects: Selects, whole: str) -> FilterBar:
    """Return the filter bar of a log. `whole` is the text of the time range with all entries."""
    applied = filters.applied
    if applied.get("from") or applied.get("to"):
        whole = "Chosen below “More”"
    chosen = applied.get(RANGE, "")
    ranges = {name: label for name, (label, _) in RANGES.items()} | {"": whole}
    span = Select(RANGE, "Time", [(name, label, name == chosen) for name, label in ranges.items()])
    return build_bar(filters, selects, search="Text" if "q" in filters.given else "", span=span)


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
    name: str,
    columns: "Columns[Row]",
    **context: Any,
) -> HttpResponseBase:
    """Render a page of the `rows` that match the filters. `entries` converts them for the template.

    With `?format=csv` or `json` the rows are downloaded: `name` is that of the file.
    """
    found = rows.filter(filters.where)
    if file_format := requested_format(request):
        return export(name, file_format, columns, found.order_by("-pk")[:MOST_ROWS].iterator(chunk_size=1000))
    page = _search(rows, filters, request)
    bar = log_bar(filters, selects, f"Last {log_days} days")
    if "refresh" in request.GET:
        bar = replace(bar, kept={"refresh": request.GET["refresh"]})
    return render_page(
        request,
        template,
        membership,
        client,
        page=page,
        lines=entries(page.rows),
        filters=filters,
        query=filters.query(),
        bar=bar,
        log_days=log_days,
        **context,
    )


def _search(rows: "QuerySet[Row]", filters: LogFilters, request: HttpRequest) -> "Page[Row]":
    """Return the page of the rows that match the filters. Without an index for them, it is found among SEARCHED rows.

    If that leaves rows unsearched, the link to older entries goes on with them.
    """
    found = rows.filter(filters.where)
    if not filters.applied:
        return paginate(found, request)
    with planned_for_values(rows.db):
        if AFTER in request.GET or BOUNDED & filters.applied.keys():
            return paginate(found, request)
        before = parse_key(request.GET.get(BEFORE))
        newest = rows if before is None else rows.filter(pk__lt=before)
        last = next(iter(newest.order_by("-pk").values_list("pk", flat=True)[SEARCHED - 1 : SEARCHED]), None)
        page = paginate(found if last is None else found.filter(pk__gte=last), request)
    if last is None or page.older:
        return page
    return replace(page, older=query_of_page(request, BEFORE, last), searched=SEARCHED)


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
