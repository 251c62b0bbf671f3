"""The report of the sign-in analytics, and its time range from the query parameters."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.conf import settings
from django.http import HttpRequest

from core import clock
from devportal.console.analytics import store
from devportal.console.analytics.funnel import FunnelChart, FunnelRow
from devportal.console.charts import BarChart, Series, format_change
from devportal.console.filter_bar import FilterBar, range_bar
from devportal.console.logs.links import ANY_END, ANY_REFUSAL, COUNTED_AS, LogLink
from devportal.console.usage import TIME_RANGES, TimeRange, format_percent
from oidc.models import Client
from oidc.sign_in_log.steps import Step

_DAY = timedelta(days=1)
_QUARTER = TimeRange("90d", "90 days", "90 days", "day", _DAY, 90, 90 * _DAY)
RANGES = (*(span for span in TIME_RANGES if span.unit != "minute"), _QUARTER)
_BY_NAME = {span.name: span for span in RANGES}
LEAST_DAYS = 7  # of people, who are counted by day


@dataclass(frozen=True)
class AnalyticsQuery:
    """The time range up to `now`."""

    span: TimeRange
    now: datetime

    @classmethod
    def of(cls, request: HttpRequest) -> "AnalyticsQuery":
        """Parse the query parameters. An unknown range counts as the default of 7 days."""
        return cls(_BY_NAME.get(request.GET.get("range", ""), _BY_NAME["7d"]), clock.now())

    @property
    def bounds(self) -> tuple[datetime, datetime]:
        """The start (inclusive) and end (exclusive)."""
        return self.span.bounds(self.now)

    @property
    def is_whole_days(self) -> bool:
        """Whether the range begins and ends at midnight (UTC), so that counts by day are enough."""
        return self.span.whole > _DAY

    @property
    def starts(self) -> list[datetime]:
        """The starts of the bars that have started."""
        since, _ = self.bounds
        return [start for place in range(self.span.bars) if (start := since + place * self.span.step) <= self.now]

    @property
    def days(self) -> list[datetime]:
        """The days (UTC) for the counts of people: those of the range, at least seven."""
        today = self.now.replace(hour=0, minute=0, second=0, microsecond=0)
        number = max(self.span.whole // _DAY, LEAST_DAYS)
        return [today - (number - 1 - place) * _DAY for place in range(number)]

    @property
    def address(self) -> str:
        """The query string."""
        return f"?range={self.span.name}"

    @property
    def is_before_kept(self) -> bool:
        """Whether all counts of the period before are still kept."""
        days = settings.SIGN_IN_HOUR_DAYS if self.span.unit == "hour" else settings.SIGN_IN_COUNT_DAYS
        return 2 * self.span.whole <= days * _DAY

    @property
    def bar(self) -> FilterBar:
        """The choice of the time range."""
        return range_bar([(span.name, f"Last {span.words}", span is self.span) for span in RANGES])


Counts = Mapping[tuple[str, str], int]  # by step and error

AT_CONSENT = (
    "access_denied"  # the error sent to the app after Cancel on the consent page; other pages send other errors
)


@dataclass(frozen=True)
class Loss:
    """One reason why requests ended: its text, the count, and step and error for a link to the log."""

    text: str
    count: int
    step: str = ""
    error: str = ""


@dataclass(frozen=True)
class Stage:
    """One stage of the funnel: its name, meaning, count, the total, and the losses before it.

    `step` is the step by which the sign-in log is filtered for this stage, "" if the log has no entries of it.
    """

    name: str
    meaning: str
    count: int
    of: int
    lost: int = 0
    losses: Sequence[Loss] = ()
    step: str = ""

    @property
    def share(self) -> str:
        return format_percent(self.count, self.of)

    @property
    def lost_share(self) -> str:
        return format_percent(self.lost, self.of)


def total(counts: Counts, *steps: Step) -> int:
    """Return how often these steps were taken in total."""
    return sum(times for (step, _), times in counts.items() if step in steps)


def losses_of(counts: Counts, text: str, *steps: Step, only: str = "", but: str = "") -> list[Loss]:
    """Return the losses of these steps by error, most frequent first. `only` and `but` include or exclude an error."""
    found = [
        Loss(text, times, step, error)
        for (step, error), times in counts.items()
        if step in steps and (not only or error == only) and error != but
    ]
    return sorted(found, key=lambda loss: (-loss.count, loss.error))


def build_funnel(counts: Counts) -> list[Stage]:
    """Return the stages. Requests without any result are counted as people who left or have not finished yet."""
    silent = total(counts, Step.SILENT)
    started = total(counts, Step.STARTED) + silent
    skipped = total(counts, Step.SKIPPED)
    asked = total(counts, Step.SHOWN) + skipped
    allowed = total(counts, Step.ALLOWED) + skipped
    issued, exchanged = total(counts, Step.ISSUED), total(counts, Step.EXCHANGED)
    before = losses_of(counts, "cancelled", Step.CANCELLED, but=AT_CONSENT) + losses_of(counts, "refused", Step.REFUSED)
    at_consent = losses_of(counts, "cancelled", Step.CANCELLED, only=AT_CONSENT)
    late = losses_of(counts, "attempts refused", Step.NOT_EXCHANGED)
    hidden = f", {silent:,} of them without a page (prompt=none)" if silent else ""
    return [
        Stage("Started", f"Valid requests{hidden}.", started, started),
        _stage("Consent", f"Saw the consent page, or didn't need it ({skipped:,}).", asked, started, started, before),
        _stage("Allowed", "Pressed Allow, or had allowed before.", allowed, asked, started, at_consent),
        replace(_stage("Code issued", "The app was sent a code.", issued, allowed, started, []), step=Step.ISSUED),
        replace(
            _stage(
                "Signed in",
                "The app fetched tokens for it.",
                exchanged,
                issued,
                started,
                late,
                "never fetched, or not yet",
            ),
            step=Step.EXCHANGED,
        ),
    ]


def _stage(
    name: str,
    meaning: str,
    count: int,
    before: int,
    started: int,
    losses: list[Loss],
    text: str = "left, or not finished yet",
) -> Stage:
    """Return a stage. `text` describes the losses that have no recorded reason."""
    lost = max(before - count, 0)
    rest = max(lost - sum(loss.count for loss in losses), 0)
    return Stage(name, meaning, count, started, lost, [*losses, *([Loss(text, rest)] if rest else [])])


MAX_ROWS = 25
CountsByTime = Mapping[tuple[datetime, str, str], int]  # by hour or day, step and error

_PEOPLE = (Step.NEW_PERSON, Step.RETURNING)
# Layers of the bars, from bottom to top: label, style, and choice of the sign-in log's filter `step`.
_ENDS = (
    ("Signed in", "good", Step.EXCHANGED.value),
    ("Cancelled", "limited", Step.CANCELLED.value),
    ("Refused", "server-error", ANY_REFUSAL),
)
_STEP_OF = {kind: step for _, kind, step in _ENDS}
_ENDING = {step.value: place for place, (_, _, name) in enumerate(_ENDS) for step in COUNTED_AS[name][1]}


@dataclass(frozen=True)
class ClientRow:
    """The figures of one client of a project."""

    client: Client
    started: int
    signed_in: int
    cancelled: int
    refused: int
    new_people: int

    @property
    def share(self) -> str:
        return format_percent(self.signed_in, self.started)


@dataclass(frozen=True)
class SignInReport:
    """The data of a page."""

    query: AnalyticsQuery
    stages: list[Stage]
    funnel: FunnelChart
    ends: BarChart
    people: BarChart
    turned_away: list[Loss]
    refreshed: int
    revoked: int
    refused_later: list[Loss]
    repeated: list[Loss]  # refreshes with a token that was superseded a moment before
    clients: list[ClientRow]
    new_people: int
    returning: int
    change: str  # of the sign-ins, from the period before
    is_empty: bool

    @property
    def started(self) -> Stage:
        return self.stages[0]

    @property
    def signed_in(self) -> Stage:
        return self.stages[-1]


def sign_in_report(query: AnalyticsQuery, clients: Sequence[int], log: LogLink) -> SignInReport:
    """Return the report about clients, given by primary key. `log` is the sign-in log of these clients.

    Takes one statement for the days, one for the hours if they are shown, one for the period before if its counts are
    still kept, and one more for several clients.
    """
    since, until = query.bounds
    days, span = query.days, query.span
    by_day = store.sums("day", clients, days[0], days[-1] + _DAY, () if query.is_whole_days else _PEOPLE)
    by_bar = by_day
    if span.unit == "hour":
        by_bar = store.sums("hour", clients, since, until, _ENDING if query.is_whole_days else ())
    counts = Counter[tuple[str, str]]()
    for (_, step, error), times in (by_day if query.is_whole_days else by_bar).items():
        counts[step, error] += times
    stages = build_funnel(counts)
    people = _people(query, by_day)
    counts_before = store.sums(span.unit, clients, since - span.whole, since, _ENDING) if query.is_before_kept else {}
    ends, change = _ends(query, by_bar, counts_before, log)
    new, returning = _people_within(query, people)
    unit = "day" if query.is_whole_days else "hour"
    return SignInReport(
        query,
        stages,
        _funnel(query, stages, log),
        ends,
        people,
        losses_of(counts, "refused", Step.TURNED_AWAY),
        total(counts, Step.REFRESHED),
        total(counts, Step.REVOKED),
        losses_of(counts, "refreshes refused", Step.NOT_REFRESHED)
        + losses_of(counts, "revocations refused", Step.NOT_REVOKED)
        + losses_of(counts, "sign-outs refused", Step.NOT_SIGNED_OUT),
        losses_of(counts, "refreshes repeated", Step.REPEATED),
        _by_client(store.busiest(unit, clients, since, until, MAX_ROWS)) if len(clients) > 1 else [],
        new,
        returning,
        change,
        is_empty=not counts,
    )


def _funnel(query: AnalyticsQuery, stages: Sequence[Stage], log: LogLink) -> FunnelChart:
    links = [log.url(*query.bounds, step=stage.step) if stage.step and stage.count else "" for stage in stages]
    rows = [FunnelRow(stage.name, stage.count, stage.share, url) for stage, url in zip(stages, links, strict=True)]
    return FunnelChart("funnel", f"From request to tokens, last {query.span.words}", rows)


def _ends(
    query: AnalyticsQuery, counts: CountsByTime, counts_before: CountsByTime, log: LogLink
) -> tuple[BarChart, str]:
    """Return the chart of ended sign-ins, and the change of the successful ones from the period before."""
    span, starts = query.span, query.starts
    since, _ = query.bounds
    values, before = (
        _by_end(found, start, query) for found, start in ((counts, since), (counts_before, since - span.whole))
    )
    bands = [Series(name, kind, numbers) for (name, kind, _), numbers in zip(_ENDS, values, strict=True)]

    def link(start: datetime, end: datetime, band: Series | None) -> str:
        return log.url(start, end, step=_STEP_OF[band.kind] if band else ANY_END)

    all_before = [sum(numbers) for numbers in zip(*before, strict=True)]
    title = f"Ends of sign-ins, last {span.words}"
    chart = BarChart("ends", title, starts, span.step, bands, link=link, before=all_before if any(all_before) else ())
    return chart, format_change(values[0], before[0])


def _by_end(counts: CountsByTime, since: datetime, query: AnalyticsQuery) -> list[list[int]]:
    """Return the counts of each of _ENDS in the bars from `since` on."""
    values = [[0] * len(query.starts) for _ in _ENDS]
    for (start, step, _), times in counts.items():
        place = (start - since) // query.span.step
        if step in _ENDING and place < len(query.starts):
            values[_ENDING[step]][place] += times
    return values


def _people(query: AnalyticsQuery, counts: CountsByTime) -> BarChart:
    days = query.days
    returning, new = ([counts.get((day, step, ""), 0) for day in days] for step in (Step.RETURNING, Step.NEW_PERSON))
    bands = [Series("Returning", "good", returning), Series("New", "second", new)]
    return BarChart("people", f"People a day, last {len(days)} days", days, _DAY, bands)


def _people_within(query: AnalyticsQuery, people: BarChart) -> tuple[int, int]:
    """Return the numbers of new and returning people in the chart; for 24 hours those of its last day."""
    returning, new = (band.values if query.is_whole_days else band.values[-1:] for band in people.bands)
    return sum(new), sum(returning)


def _by_client(figures: Sequence[dict[str, int]]) -> list[ClientRow]:
    clients = Client.objects.only("client_id", "name").in_bulk([row["client_id"] for row in figures])
    # A client may have been deleted in the meantime.
    return [
        ClientRow(clients[row["client_id"]], **{name: row[name] for name in store.FIGURES})
        for row in figures
        if row["client_id"] in clients
    ]
