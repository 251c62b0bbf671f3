"""Mails to reviewers about cases: what was opened, and what waits for too long (docs/review.md#cases).

Two periodic tasks send them, as they do for reviews (alerts.py). Each case is told once when it is opened, and once
more when it is late. An appeal is mailed at once (case_mails.py), and a case of an app that is due again is
not urgent.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse

from accounts.mail import outbox
from accounts.models import Account
from devportal.console.models import ReviewCase
from devportal.console.reviews import targets
from devportal.console.reviews.case_mails import case_admin_url
from devportal.console.reviews.cases import case_conflict
from devportal.console.reviews.recipients import who_wants
from devportal.lib import clock
from devportal.lib.split_hosts import address_of

Kind = ReviewCase.Kind
# Cases that one run claims at most; the next run takes the rest.
BATCH = 500
# Most cases that a mail names, and most that are looked at for that.
MAX_NAMED, MAX_LOOKED_AT = 20, 40
# The templates of the two mails.
OPENED, LATE = "desk_cases", "desk_cases_late"


def announce_cases() -> int:
    """Mail the reviewers which cases were opened since the last time; return how many."""
    return _tell(_open().exclude(kind__in=[Kind.APPEAL, Kind.RE_REVIEW]), "announced_at", OPENED)


def announce_late_cases() -> int:
    """Mail the reviewers which cases have become late, each once; return how many."""
    rows = _open().exclude(kind=Kind.RE_REVIEW).filter(opened_at__lt=targets.case_late_before())
    return _tell(rows, "late_told_at", LATE)


def _open() -> "QuerySet[ReviewCase]":
    rows = ReviewCase.objects.filter(closed_at=None, project__deleted_at=None)
    return rows.order_by("opened_at", "pk")


@transaction.atomic
def _tell(rows: "QuerySet[ReviewCase]", told_at: str, template: str) -> int:
    untold = rows.filter(**{told_at: None}).select_related("client", "project")
    claimed = list(untold.select_for_update(skip_locked=True, no_key=True, of=("self",))[:BATCH])
    if not claimed:
        return 0
    ReviewCase.objects.filter(pk__in=[row.pk for row in claimed]).update(**{told_at: clock.now()})
    for reviewer in who_wants("mails_cases"):
        if context := _mail_context(reviewer, claimed):
            outbox.queue_mail(reviewer.email, template, context)
    return len(claimed)


def _mail_context(reviewer: Account, rows: Sequence[ReviewCase]) -> dict[str, Any] | None:
    """Return the context of a reviewer's mail; None if other reviewers have to work on all of `rows`."""
    theirs = [row for row in rows[:MAX_LOOKED_AT] if not case_conflict(reviewer, row)]
    named, more = theirs[:MAX_NAMED], len(theirs[MAX_NAMED:]) + len(rows[MAX_LOOKED_AT:])
    return mail_context(named, more) if named or more else None


def mail_context(named: Iterable[ReviewCase], more: int = 0) -> dict[str, Any]:
    """Return what the two mails hold: names of apps and projects and kinds of cases, and nothing that people wrote."""
    now = clock.now()
    cases = [
        {
            "name": row.client.name if row.client else row.project.name,
            "kind": row.get_kind_display(),
            "waits": targets.in_words(now - row.opened_at),
            "link": case_admin_url(row),
        }
        for row in named
    ]
    is_one = len(cases) == 1 and not more
    link = cases[0]["link"] if is_one else address_of(f"{reverse('admin:index')}console/reviewcase/")
    number = len(cases) + more
    return {"cases": cases, "more": more, "number": number, "link": link, "target_days": settings.CASE_TARGET_DAYS}
