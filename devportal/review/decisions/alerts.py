"""Emails to reviewers about new and overdue submissions and cases."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse

from accounts.models import Account
from core import clock
from core.http.split_hosts import address_of
from devportal.review.cases.cases import case_conflict
from devportal.review.models import AppReview, ReviewCase
from devportal.review.rules import targets
from devportal.review.rules.conflicts import Conflict, project_conflict, review_conflict
from devportal.review.rules.notifications import admin_url, mail_reviewer, who_wants

Kind = ReviewCase.Kind
# The maximum number of rows that one run claims. The next run reports the rest.
BATCH = 500
# The maximum number of apps or cases that an email names. The admin has the complete list.
MAX_NAMED = 20
# The template of the email about new submissions.
NEW = "reviewer_new"


def announce_submissions() -> int:
    """Mail the reviewers about new submissions that no one has started to review; return their number."""
    rows = _waiting().filter(status=AppReview.Status.SUBMITTED)
    return _mail_digest(rows, "announced_at", "mails_new", NEW)


def announce_late_reviews() -> int:
    """Mail the reviewers about submissions that have become late, once for each; return their number."""
    rows = _waiting().filter(submitted_at__lt=targets.late_before())
    return _mail_digest(rows, "late_notified_at", "mails_late", "reviewer_late")


# An appeal is mailed immediately (notifications.py), and a regular re-review is not urgent.


def announce_cases() -> int:
    """Mail the reviewers about newly opened cases; return their number."""
    rows = _open_cases().exclude(kind__in=[Kind.APPEAL, Kind.RE_REVIEW])
    return _mail_digest(rows, "announced_at", "mails_cases", "reviewer_cases")


def announce_late_cases() -> int:
    """Mail the reviewers about cases that have become late, once for each; return their number."""
    rows = _open_cases().exclude(kind=Kind.RE_REVIEW).filter(opened_at__lt=targets.case_late_before())
    return _mail_digest(rows, "late_notified_at", "mails_cases", "reviewer_cases_late")


def _waiting() -> "QuerySet[AppReview]":
    return AppReview.objects.waiting().select_related("client__project")


def _open_cases() -> "QuerySet[ReviewCase]":
    rows = ReviewCase.objects.filter(closed_at=None, project__deleted_at=None)
    return rows.order_by("opened_at", "pk").select_related("client", "project")


@transaction.atomic
def _mail_digest(rows: "QuerySet[Any]", column: str, wish: str, template: str) -> int:
    """Claim rows by setting `column`, and mail each reviewer the ones that they may decide on."""
    rows_to_mail = rows.filter(**{column: None})
    claimed = list(rows_to_mail.select_for_update(skip_locked=True, no_key=True, of=("self",))[:BATCH])
    if not claimed:
        return 0
    rows.model._default_manager.filter(pk__in=[row.pk for row in claimed]).update(**{column: clock.now()})
    for reviewer in who_wants(wish):
        if rows.model is ReviewCase:
            if cases := _cases_for(reviewer, claimed):
                mail_reviewer(reviewer, template, _case_context(cases))
        elif submissions := _submissions_for(reviewer, claimed, template):
            mail_reviewer(reviewer, template, _submission_context(submissions))
    return len(claimed)


def _submissions_for(reviewer: Account, rows: Sequence[AppReview], template: str) -> list[AppReview]:
    """Return the submissions that this reviewer may decide on."""
    found = AppReview.objects.filter(pk__in=[row.pk for row in rows]).annotate(conflict=review_conflict(reviewer.pk))
    allowed = set(found.filter(conflict="").values_list("pk", flat=True))
    # The assignee of a resubmitted app got an email immediately (notifications.py).
    news = [row for row in rows if template != NEW or row.revision == 1 or row.assignee_id != reviewer.pk]
    return [row for row in news if row.pk in allowed]


def _cases_for(reviewer: Account, rows: Sequence[ReviewCase]) -> list[ReviewCase]:
    """Return the cases that this reviewer may work on."""
    found = ReviewCase.objects.filter(pk__in=[row.pk for row in rows])
    conflicts = dict(found.annotate(conflict=project_conflict(reviewer.pk, "project")).values_list("pk", "conflict"))
    return [row for row in rows if not case_conflict(reviewer, row, conflicts.get(row.pk, Conflict.TOOK_PART))]


def _submission_context(rows: Sequence[AppReview]) -> dict[str, Any]:
    """Return the context of the emails: names of apps and how long they wait, and no other text of developers."""
    now = clock.now()
    apps = [
        {
            "name": row.snapshot.get("name") or row.client.name,
            "label": row.label,
            "waits": targets.in_words(now - (row.submitted_at or now)),
            "link": admin_url(row),
        }
        for row in rows[:MAX_NAMED]
    ]
    return {"apps": apps, "target_days": settings.REVIEW_TARGET_DAYS} | _numbers(apps, len(rows), "appreview")


def _case_context(rows: Sequence[ReviewCase]) -> dict[str, Any]:
    """Return the context of the emails: names of apps and projects, and kinds of cases, but no text of people."""
    now = clock.now()
    cases = [
        {
            "name": row.client.name if row.client else row.project.name,
            "kind": row.get_kind_display(),
            "waits": targets.in_words(now - row.opened_at),
            "link": admin_url(row),
        }
        for row in rows[:MAX_NAMED]
    ]
    return {"cases": cases, "target_days": settings.CASE_TARGET_DAYS} | _numbers(cases, len(rows), "reviewcase")


def _numbers(named: Sequence[dict[str, Any]], number: int, model: str) -> dict[str, Any]:
    """Return how many rows there are, and the link: to the only one, or to the list."""
    link = named[0]["link"] if number == 1 else address_of(reverse(f"admin:review_{model}_changelist"))
    return {"more": number - len(named), "number": number, "link": link}
