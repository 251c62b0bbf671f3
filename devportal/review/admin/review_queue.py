"""Lists of reviews: the open ones oldest first, the others newest first."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from types import MappingProxyType
from typing import Any, cast

from django.db.models import Q, QuerySet
from django.http import HttpRequest

from core.admin.model_admin import BoundedPaginator, KeysetChangeList
from core.database.storable import FIRST_MOMENT, LAST_MOMENT, is_key
from devportal.review.models import AppReview, AppReviewQuerySet
from devportal.review.rules.notifications import reviewers
from devportal.review.rules.targets import late_before
from devportal.review.submission.differences import reveal
from oidc.apis.scopes import group_by_api, known_scopes
from oidc.models import Project

_MICROSECOND = timedelta(microseconds=1)

Place = tuple[datetime, int]


class AgePaginator(BoundedPaginator):
    """Paginator of the lists that are sorted by age."""

    template_name = "admin/review/queue_pages.html"


@dataclass(frozen=True)
class AgePage:
    """Rows, oldest first, and the positions of the previous and next pages ("" if there is no such page)."""

    rows: list[Any]
    after: str
    before: str


def format_place(place: Place) -> str:
    """Return a position as text: the time in microseconds, and the primary key."""
    return f"{(place[0] - FIRST_MOMENT) // _MICROSECOND}.{place[1]}"


def parse_place(text: str | None) -> Place | None:
    """Return the position in a query parameter, or None (the first page) if it is missing or invalid."""
    moment, _, key = (text or "").partition(".")
    if not (is_key(moment) and is_key(key)):
        return None
    since = min(int(moment), (LAST_MOMENT - FIRST_MOMENT) // _MICROSECOND)
    return FIRST_MOMENT + since * _MICROSECOND, int(key)


def name_with_notes(project: Project, *notes: str) -> str:
    """Return a project's name for a list, with these notes and whether it is suspended."""
    said = [*filter(None, notes), *(["suspended"] if project.is_suspended else [])]
    return f"{reveal(project.name)} ({', '.join(said)})" if said else reveal(project.name)


@dataclass(frozen=True)
class Link:
    """A link to a list or a filter value."""

    title: str
    url: str
    is_here: bool = False


AFTER, BEFORE = "after", "before"


class AgeChangeList(KeysetChangeList):
    """One of several lists, chosen by `which`. Some show the oldest row first, with links to earlier and later rows.

    A search, and a link from the page of an app or project, cover all rows.
    """

    titles: Sequence[tuple[str, str]] = ()  # the lists
    empty_texts: Mapping[str, str] = MappingProxyType({})  # what an empty list would hold
    by_age: Collection[str] = ()
    moment = ""  # the column with the time
    verb = ""  # what happened then
    # Conditions that split the rows so that an index holds each part in time order. The keys of each part are read in
    # that order and merged, which reads only a few pages of rows, however many there are.
    parts_by_age: Sequence[Mapping[str, Any]] = ({},)
    which: str | None = None
    _age_page: AgePage | None = None

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        if self.which is None:
            self.read_choices()
        rows: QuerySet[Any] = super().get_queryset(request, exclude_parameters)
        if self.which in ("mine", "nobodys"):
            rows = rows.filter(assignee=request.user.pk if self.which == "mine" else None)
        return rows

    def read_choices(self) -> None:
        """Read which list is asked for. Django builds links before it asks for rows, so this comes first."""
        known, asked = [name for name, _ in self.titles], self.take("which")
        self.after, self.before = (parse_place(self.take(name)) for name in (AFTER, BEFORE))
        narrowed = self.query or any(name.startswith(("client", "project")) for name in self.params)
        self.which = asked if asked in known else "all" if narrowed else known[0]

    def take(self, name: str) -> str | None:
        """Return a parameter and remove it, because Django would look for a column with this name."""
        self.filter_params.pop(name, None)
        value: str | None = self.params.pop(name, None)
        return value

    @property
    def empty_text(self) -> str:
        text = None if self.is_narrowed or self.which is None else self.empty_texts.get(self.which)
        return super().empty_text if text is None else text

    @property
    def lists(self) -> list[Link]:
        """Links to the lists, with the chosen filters kept."""
        return [Link(title, self.get_query_string({"which": name}), name == self.which) for name, title in self.titles]

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        if self.which in self.by_age:
            self.paginator = AgePaginator(self.result_list, self.list_per_page)

    def _page(self) -> list[Any]:
        if self.which not in self.by_age:
            return super()._page()
        self._age_page = page = self._read_page(self.queryset, self.list_per_page)
        return page.rows

    def _read_page(self, rows: "QuerySet[Any]", size: int) -> AgePage:
        """Return the rows after a position, or before one, or the oldest rows."""
        after = self.after
        if self.before is not None:
            found = self._keys_of(rows.filter(self._beyond(self.before, "lt")), size + 1, backwards=True)
            if len(found) > size:
                return _page_of(rows, found[:size][::-1], is_more=True, is_first=False)
            after = None  # at most one page: all rows are on the first one
        wanted = rows if after is None else rows.filter(self._beyond(after, "gt"))
        found = self._keys_of(wanted, size + 1)
        return _page_of(rows, found[:size], is_more=len(found) > size, is_first=after is None)

    def _beyond(self, place: Place, comparison: str) -> Q:
        moment, key = place
        # The second condition implies the first one, which lets the database start from an index by time.
        near = Q(**{f"{self.moment}__{comparison}e": moment})
        return near & (Q(**{f"{self.moment}__{comparison}": moment}) | Q(**{f"pk__{comparison}": key}))

    def _keys_of(self, rows: "QuerySet[Any]", size: int, *, backwards: bool = False) -> list[Place]:
        sign = "-" if backwards else ""
        plain = rows.order_by(f"{sign}{self.moment}", f"{sign}pk").values_list(self.moment, "pk")
        keys = (key for part in self.parts_by_age for key in plain.filter(**part)[:size])
        return sorted(keys, reverse=backwards)[:size]

    @property
    def later_url(self) -> str:
        """The URL of the page with later rows, or "" if there are none."""
        place = self._age_page.after if self._age_page else None
        return self.get_query_string({AFTER: place}) if place else ""

    @property
    def earlier_url(self) -> str:
        """The URL of the page with earlier rows, or "" on the first page."""
        place = self._age_page.before if self._age_page else None
        return self.get_query_string({BEFORE: place}) if place else ""

    @property
    def oldest_url(self) -> str:
        return self.get_query_string() if self.earlier_url else ""

    def get_query_string(self, new_params: Any = None, remove: Any = None) -> str:
        """Return the query string with the chosen list added."""
        return str(super().get_query_string({"which": self.which} | (new_params or {}), remove))


def _page_of(rows: "QuerySet[Any]", places: list[Place], *, is_more: bool, is_first: bool) -> AgePage:
    by_key = rows.in_bulk([key for _, key in places])
    # A row that was decided in between is no longer on any page.
    shown = [place for place in places if place[1] in by_key]
    after = format_place(shown[-1]) if shown and is_more else ""
    before = format_place(shown[0]) if shown and not is_first else ""
    return AgePage([by_key[key] for _, key in shown], after, before)


Status = AppReview.Status
LISTS = (
    ("waiting", "Waiting"),
    ("mine", "Mine"),
    ("nobodys", "Nobody's"),
    ("developers", "With the developers"),
    ("all", "All"),
)
# What an empty list would hold.
EMPTY = {
    "waiting": "No submission waits for a reviewer. Apps appear here when their developers submit them.",
    "mine": "No waiting submission is assigned to you. Starting a review assigns it to you.",
    "nobodys": "No submission waits without an assignee.",
    "developers": "No developers were asked for changes. Their apps stay here until they submit them again.",
    "all": "No app was ever submitted for review.",
}
_BY_AGE = ("waiting", "mine", "nobodys")
# These lists already depend on the assignee, so the filter by assignee does not apply to them.
_BY_ASSIGNEE = ("mine", "nobodys")
# The maximum number of reviewers that the filter offers.
MAX_REVIEWERS = 20
# The figures above the list stop here: nobody needs the exact number beyond.
MAX_COUNTED = 500

_FIRST = Q(revision__lte=1, appealed_at=None)
KINDS: dict[str, tuple[str, Q]] = {
    "new": ("New", _FIRST & Q(is_change=False)),
    "changed": ("Changed", _FIRST & Q(is_change=True)),
    "resubmitted": ("Resubmitted", Q(revision__gt=1, appealed_at=None)),
    "appeal": ("Appeal", Q(appealed_at__isnull=False)),
}
# In a query, the value of a filter by API, before its slug. Scopes are named without it.
OF_API = "api:"
# The maximum number of APIs and scopes that the filter offers. With more, it offers APIs only.
MAX_ASKS = 20
# A first approval is noted, and a second reviewer has to decide (docs/review.md#two-approvals).
APPROVALS = {"second": ("Waits for a second approval", Q(status=Status.IN_REVIEW, first_approval_by__isnull=False))}
FILTERS = ("kind", "late", "asks", "approval", "assignee")


@dataclass(frozen=True)
class Count:
    """A figure above the list, counted up to MAX_COUNTED."""

    title: str
    number: int
    url: str

    @property
    def shown(self) -> str:
        return f"{MAX_COUNTED}+" if self.number > MAX_COUNTED else str(self.number)


def asked_choices() -> dict[str, tuple[str, Q]]:
    """Return the filters by API and by scope: the title and the condition by the value in the query.

    An API is offered if more than one of its scopes needs an approval.
    """
    found: dict[str, tuple[str, Q]] = {}
    for api, scopes in group_by_api(scope for scope in known_scopes().values() if scope.needs_approval):
        names = [scope.name for scope in scopes]
        if api is not None and len(names) > 1:
            found[f"{OF_API}{api.slug}"] = f"Asks for {api.name}", Q(snapshot__scopes__has_any_keys=names)
        found |= {name: (f"Asks for {name}", Q(snapshot__scopes__has_key=name)) for name in names}
    return found


def is_late() -> Q:
    """Return the condition for reviews that have waited longer than REVIEW_TARGET_DAYS."""
    return Q(status__in=AppReview.FROZEN, submitted_at__lt=late_before())


class QueueChangeList(AgeChangeList):
    """The lists of reviews, narrowed by FILTERS."""

    titles, empty_texts, by_age = LISTS, EMPTY, _BY_AGE
    moment, verb = "submitted_at", "Sent"
    parts_by_age = [{"status": status} for status in AppReview.FROZEN]
    # Names and values of the filters.
    chosen: Mapping[str, str] = MappingProxyType({})

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[AppReview]:
        self.user_pk = request.user.pk
        rows = cast(AppReviewQuerySet, super().get_queryset(request, exclude_parameters))
        if self.which in _BY_AGE:
            rows = rows.waiting()
        if self.which == "developers":
            rows = rows.filter(status=Status.CHANGES_REQUESTED)
        for name, value in self.chosen.items():
            rows = rows.filter(self._condition(name, value))
        return rows

    def read_choices(self) -> None:
        taken = {name: self.take(name) for name in FILTERS}
        super().read_choices()
        names = [name for name in FILTERS if name != "assignee" or self.which not in _BY_ASSIGNEE]
        self.chosen = {name: value for name in names if self._is_known(name, value := taken[name]) and value}

    @staticmethod
    def _is_known(name: str, value: str | None) -> bool:
        if value is None:
            return False
        choices: dict[str, Any] = {"kind": KINDS, "asks": asked_choices(), "approval": APPROVALS, "late": {"1"}}
        return is_key(value) if name == "assignee" else value in choices[name]

    @staticmethod
    def _condition(name: str, value: str) -> Q:
        if name == "late":
            return is_late()
        if name == "asks":
            asked = asked_choices().get(value)
            # Reviewers don't read what the developers have changed since they sent it.
            return asked[1] & ~Q(status__in=AppReview.REDRAFTED) if asked else Q()
        return Q(assignee=int(value)) if name == "assignee" else (KINDS | APPROVALS)[value][1]

    @property
    def is_narrowed(self) -> bool:
        return bool(super().is_narrowed or self.chosen)

    def get_query_string(self, new_params: Any = None, remove: Any = None) -> str:
        """Return the query string with the chosen list and filters added."""
        return super().get_query_string(dict(self.chosen) | (new_params or {}), remove)

    # --- What can be chosen ---

    @cached_property
    def filters(self) -> list[tuple[str, list[Link]]]:
        """The filters by title. A link adds its value to the chosen ones, or removes it if it is already chosen."""
        kinds = [self._chip("kind", code, title) for code, (title, _) in KINDS.items()]
        more = [self._chip("late", "1", "Late")]
        more += self._asks()
        more += [self._chip("approval", code, title) for code, (title, _) in APPROVALS.items()]
        groups = [("Kind", kinds), ("Only", more)]
        if self.which not in _BY_ASSIGNEE:
            groups.append(("Assignee", self._assignees()))
        return groups

    @property
    def has_more_chosen(self) -> bool:
        """Whether a filter below "More" is chosen."""
        return bool(set(self.chosen) - {"kind"})

    def _asks(self) -> list[Link]:
        choices = asked_choices()
        offered = list(choices)
        if len(offered) > MAX_ASKS:
            offered = [value for value in offered if value.startswith(OF_API) or self.chosen.get("asks") == value]
        return [self._chip("asks", value, choices[value][0]) for value in offered]

    def _assignees(self) -> list[Link]:
        chips = [self._chip("assignee", str(one.pk), one.email) for one in reviewers()[:MAX_REVIEWERS]]
        if "assignee" in self.chosen and not any(chip.is_here for chip in chips):
            chips.append(self._chip("assignee", self.chosen["assignee"], "Someone else"))
        return chips

    def _chip(self, name: str, value: str, title: str) -> Link:
        is_here = self.chosen.get(name) == value
        return Link(title, self.get_query_string({name: None if is_here else value}), is_here)

    @cached_property
    def head(self) -> list[Count]:
        """How many reviews wait for reviewers, independent of the list and filters."""
        rows = AppReview.objects.waiting().order_by()
        counted = (
            ("waiting", rows, "?which=waiting"),
            ("late", rows.filter(is_late()), "?which=waiting&late=1"),
            ("mine", rows.filter(assignee=self.user_pk), "?which=mine"),
            ("appeals", rows.filter(KINDS["appeal"][1]), "?which=waiting&kind=appeal"),
        )
        return [Count(title, found[: MAX_COUNTED + 1].count(), url) for title, found, url in counted]
