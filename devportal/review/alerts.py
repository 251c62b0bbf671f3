"""Mails to reviewers about new and overdue submissions and cases."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse

from accounts.models import Account
from core import clock
from core.http.split_hosts import address_of
from devportal.review import targets
from devportal.review.cases import case_conflict
from devportal.review.conflicts import Conflict, project_conflict, review_conflict
from devportal.review.models import AppReview, ReviewCase
from devportal.review.notifications import case_admin_url, mail_reviewer, queue_url, review_admin_url, who_wants
from devportal.review.snapshots import sensitive_among
from devportal.review.workflow import has_conflict_of_interest

# The maximum number of submissions that one run claims. The next run reports the rest.
BATCH = 500
# The maximum number of apps that a mail names. The admin has the complete list.
MAX_NAMED = 20
# The templates of the mails.
NEW, LATE, SECOND = "reviewer_new", "reviewer_late", "reviewer_second_approval"
# The maximum number of reviewers who get a mail about one first approval.
MOST_REVIEWERS = 50


def announce_submissions() -> int:
    """Mail the reviewers about new submissions that nobody has begun to review; return their number."""
    rows = AppReview.objects.waiting().filter(status=AppReview.Status.SUBMITTED)
    return _mail_submission_digest(rows, "announced_at", "mails_new", NEW)


def announce_late_reviews() -> int:
    """Mail the reviewers about submissions that have become late, once for each; return their number."""
    rows = AppReview.objects.waiting().filter(submitted_at__lt=targets.late_before())
    return _mail_submission_digest(rows, "late_notified_at", "mails_late", LATE)


@transaction.atomic
def _mail_submission_digest(waiting: "QuerySet[AppReview]", column: str, wish: str, template: str) -> int:
    rows_to_mail = waiting.filter(**{column: None}).select_related("client__project")
    claimed = list(rows_to_mail.select_for_update(skip_locked=True, no_key=True, of=("self",))[:BATCH])
    if not claimed:
        return 0
    AppReview.objects.filter(pk__in=[row.pk for row in claimed]).update(**{column: clock.now()})
    for reviewer in who_wants(wish):
        # The assignee of a resubmitted app got a mail immediately (notifications.py).
        news = [row for row in claimed if template != NEW or row.revision == 1 or row.assignee_id != reviewer.pk]
        if context := _submissions_for(reviewer, news):
            mail_reviewer(reviewer, template, context)
    return len(claimed)


def mail_first_approval(review: AppReview, actor: Account, decided: Collection[int]) -> None:
    """Mail the other reviewers that a review waits for a second approval, without saying what was decided.

    Runs in the caller's transaction. Reviewers who decided before, by primary key, are informed that this decision
    differs from theirs.
    """
    context: dict[str, Any] = {
        "app": review.snapshot.get("name") or review.client.name,
        "scopes": sensitive_among(review.snapshot["scopes"]),
        "link": review_admin_url(review),
    }
    for reviewer in who_wants("mails_new").exclude(pk=actor.pk)[:MOST_REVIEWERS]:
        if not has_conflict_of_interest(reviewer, review.client.project, review):
            differs = {"has_decided": reviewer.pk in decided}
            mail_reviewer(reviewer, SECOND, context | differs)


def _submissions_for(reviewer: Account, rows: Sequence[AppReview]) -> dict[str, Any] | None:
    """Return the context of a reviewer's mail, or None if this reviewer may not decide on any of `rows`."""
    found = AppReview.objects.filter(pk__in=[row.pk for row in rows]).annotate(conflict=review_conflict(reviewer.pk))
    allowed = set(found.filter(conflict="").values_list("pk", flat=True))
    theirs = [row for row in rows if row.pk in allowed]
    return _submission_context(theirs[:MAX_NAMED], len(theirs[MAX_NAMED:])) if theirs else None


def _submission_context(named: Iterable[AppReview], more: int = 0) -> dict[str, Any]:
    """Return the context of the two mails: names of apps and how long they wait, and no other text of developers."""
    now = clock.now()
    apps = [
        {
            "name": row.snapshot.get("name") or row.client.name,
            "label": row.label,
            "waits": targets.in_words(now - (row.submitted_at or now)),
            "link": review_admin_url(row),
        }
        for row in named
    ]
    link = apps[0]["link"] if len(apps) == 1 and not more else queue_url()
    return {
        "apps": apps,
        "more": more,
        "number": len(apps) + more,
        "link": link,
        "target_days": settings.REVIEW_TARGET_DAYS,
    }


# Cases work like submissions: each one is mailed once when it is opened, and once more when it is late. An appeal is
# mailed immediately (notifications.py), and a regular re-review is not urgent.

Kind = ReviewCase.Kind
# The templates of the two mails.
CASES_OPENED, CASES_LATE = "reviewer_cases", "reviewer_cases_late"


def announce_cases() -> int:
    """Mail the reviewers about newly opened cases; return their number."""
    return _mail_case_digest(_open().exclude(kind__in=[Kind.APPEAL, Kind.RE_REVIEW]), "announced_at", CASES_OPENED)


def announce_late_cases() -> int:
    """Mail the reviewers about cases that have become late, once for each; return their number."""
    rows = _open().exclude(kind=Kind.RE_REVIEW).filter(opened_at__lt=targets.case_late_before())
    return _mail_case_digest(rows, "late_notified_at", CASES_LATE)


def _open() -> "QuerySet[ReviewCase]":
    rows = ReviewCase.objects.filter(closed_at=None, project__deleted_at=None)
    return rows.order_by("opened_at", "pk")


@transaction.atomic
def _mail_case_digest(rows: "QuerySet[ReviewCase]", column: str, template: str) -> int:
    rows_to_mail = rows.filter(**{column: None}).select_related("client", "project")
    claimed = list(rows_to_mail.select_for_update(skip_locked=True, no_key=True, of=("self",))[:BATCH])
    if not claimed:
        return 0
    ReviewCase.objects.filter(pk__in=[row.pk for row in claimed]).update(**{column: clock.now()})
    for reviewer in who_wants("mails_cases"):
        if context := _cases_for(reviewer, claimed):
            mail_reviewer(reviewer, template, context)
    return len(claimed)


def _cases_for(reviewer: Account, rows: Sequence[ReviewCase]) -> dict[str, Any] | None:
    """Return the context of a reviewer's mail, or None if this reviewer may not work on any of `rows`."""
    found = ReviewCase.objects.filter(pk__in=[row.pk for row in rows])
    conflicts = dict(found.annotate(conflict=project_conflict(reviewer.pk, "project")).values_list("pk", "conflict"))
    theirs = [row for row in rows if not case_conflict(reviewer, row, conflicts.get(row.pk, Conflict.TOOK_PART))]
    return _case_context(theirs[:MAX_NAMED], len(theirs[MAX_NAMED:])) if theirs else None


def _case_context(named: Iterable[ReviewCase], more: int = 0) -> dict[str, Any]:
    """Return the context of the two mails: names of apps and projects, and kinds of cases, but no text of people."""
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
    link = cases[0]["link"] if is_one else address_of(reverse("admin:review_reviewcase_changelist"))
    number = len(cases) + more
    return {"cases": cases, "more": more, "number": number, "link": link, "target_days": settings.CASE_TARGET_DAYS}
