"""Filters of the logs and lists, from the query string, and the toolbar above a log."""

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
from devportal.console.fixes import Fix
from devportal.console.navigation import render_page
from devportal.console.pagination import AFTER, BEFORE, Page, paginate, query_of_page
from oidc.models import Client, Project

MAX_LENGTH = 255  # characters
RANGE = "range"
# The time ranges that can be chosen with one click, counted back from now.
RANGES = {
    "15m": ("15 min", timedelta(minutes=15)),
    "1h": ("1 h", timedelta(hours=1)),
    "24h": ("24 h", timedelta(hours=24)),
    "7d": ("7 d", timedelta(days=7)),
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


def select_options(choices: Mapping[str, Any], chosen: str) -> list[tuple[str, str, bool]]:
    """Return the options of a select: value, label, and whether it is selected."""
    return [(value, str(label), value == chosen) for value, label in choices.items()]


# Filters with a few choices: name, label, and choices with their labels.
Selects = Sequence[tuple[str, str, Mapping[str, str]]]
# Labels of the filters without choices.
_LABELS = {
    "q": "Text",
    "who": "By",
    "request_id": "Request id",
    "sub": "User id",
    "jti": "jti",
    "from": "From",
    "to": "Before",
}


@dataclass(frozen=True)
class Preset:
    """A link to a time range that keeps the other filters."""

    label: str
    link: str
    is_current: bool


@dataclass(frozen=True)
class Chip:
    """An applied filter, and the link that removes it."""

    label: str
    value: str
    link: str


@dataclass(frozen=True)
class Toolbar:
    """The toolbar above a log. Links are query strings. `?` alone is the log without filters."""

    presets: list[Preset]
    chips: list[Chip]
    selects: list[tuple[str, str, list[tuple[str, str, bool]]]]
    is_open: bool  # the form shows an error


def choose(selects: Selects, filters: LogFilters) -> list[tuple[str, str, list[tuple[str, str, bool]]]]:
    """Return the selects for a template: name, label, and options with whether each is selected."""
    return [(name, label, select_options(choices, filters.given[name])) for name, label, choices in selects]


def build_toolbar(filters: LogFilters, selects: Selects, days: int) -> Toolbar:
    """Return the toolbar of a log whose entries are kept for `days`."""
    return Toolbar(
        presets=_presets(filters, days),
        chips=_chips(filters, selects),
        selects=choose(selects, filters),
        is_open=bool(filters.errors),
    )


def _presets(filters: LogFilters, days: int) -> list[Preset]:
    applied = filters.applied
    has_span = bool(applied.get("from") or applied.get("to"))
    chosen = None if has_span else applied.get(RANGE, "")
    spans = {name: label for name, (label, _) in RANGES.items()} | {"": f"{days} d"}
    elsewhere = {"from": "", "to": ""}
    return [
        Preset(label, filters.query(**elsewhere, **{RANGE: name}) or "?", name == chosen)
        for name, label in spans.items()
    ]


def _chips(filters: LogFilters, selects: Selects) -> list[Chip]:
    labels = _LABELS | {name: label for name, label, _ in selects}
    choices = {name: choices for name, _, choices in selects}
    return [
        Chip(labels[name], choices.get(name, {}).get(text, text), filters.query(**{name: ""}) or "?")
        for name, text in filters.applied.items()
        if name != RANGE
    ]


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
