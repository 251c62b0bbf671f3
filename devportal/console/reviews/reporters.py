"""What reviewers know of the people who reported an app: account, use of the app, earlier reports.

See docs/review.md#reports.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q

from devportal.console.models import AppReport, ReviewCase
from oidc.models import Client, Connection


@dataclass(frozen=True)
class Reporter:
    """A person who reported an app, at the time of the page: `used_until` is None for people who still use the app."""

    since: datetime
    used_from: datetime | None
    used_until: datetime | None
    earlier: int
    led_to_something: int


def reporters_of(reports: Sequence[AppReport], client: Client | None) -> dict[int, Reporter]:
    """Return the reporters by report, in two SQL statements; people without an account any more are left out.

    `reports` have their reporters loaded. Earlier reports are those about any app in other cases.
    """
    # 0 is nobody's key: the statements are the same without any report.
    people = {0, *(report.reporter_id for report in reports if report.reporter_id is not None)}
    used = {row.account_id: row for row in Connection.objects.filter(client=client, account__in=people)}
    acted = Q(case__outcome=ReviewCase.Outcome.ACTED)
    cases = {report.case_id for report in reports}
    others = AppReport.objects.filter(reporter__in=people).exclude(case__in=cases).order_by().values("reporter")
    counted = {
        row["reporter"]: (row["earlier"], row["acted"])
        for row in others.annotate(earlier=Count("pk"), acted=Count("pk", filter=acted))
    }
    return {
        report.pk: _reporter(report.reporter.created_at, used.get(report.reporter.pk), counted.get(report.reporter.pk))
        for report in reports
        if report.reporter is not None
    }


def _reporter(since: datetime, used: Connection | None, counted: tuple[int, int] | None) -> Reporter:
    earlier, acted = counted or (0, 0)
    begun, ended = (used.first_authorized_at, used.removed_at) if used else (None, None)
    return Reporter(since, begun, ended, earlier, acted)
