"""Reports of apps: the form for people, and what reviewers see about the people who reported."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.db.models import Count, Q
from django.dispatch import receiver
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.data_export.archive import moment, rows_of
from accounts.models import Account
from accounts.sessions.authentication import account_of
from accounts.signals import exporting
from core import clock
from core.limits import Rate, RateLimited, hit, usage
from core.limits.middleware import limited_by_person
from devportal.review.cases.cases import open_case
from devportal.review.models import AppReport, ReviewCase
from devportal.review.rules.timeline import MAX_TEXT_LENGTH, clean_text
from oidc.clients.lookup import find_client
from oidc.domains.branding import client_context, has_public_page
from oidc.models import Client, Connection


def find_reportable(client_id: str, account: Account) -> Client | None:
    """Return an app that this person can report: one with a public page, or one that they have ever authorized.

    Returns None for any other app, so that nobody finds out which client ids exist.
    """
    client = find_client(client_id)
    if client is None or client.project.is_deleted:
        return None
    if has_public_page(client) or Connection.objects.filter(client=client, account=account).exists():
        return client
    return None


def report_of(client: Client, account: Account) -> AppReport | None:
    """Return this person's report in the open case of an app, or None."""
    case = {"case__client": client, "case__kind": ReviewCase.Kind.REPORT, "case__closed_at": None}
    return AppReport.objects.filter(reporter=account, **case).first()


@transaction.atomic
def report_app(client: Client, account: Account, reason: str, text: str) -> AppReport:
    """Store a report in the open case of its app, or open one. A second report replaces the person's first one.

    The app's developers never see it, also not on their activity page. Raises IncompleteSubmission if the text is too
    long.
    """
    said = clean_text(text)
    case = _locked_case(client)
    values = {"reason": reason, "text": said, "at": clock.now()}
    report, _ = AppReport.objects.update_or_create(case=case, reporter=account, defaults=values)
    return report


def _locked_case(client: Client) -> ReviewCase:
    """Return the open case with its row locked, so that two simultaneous reports of one person become one."""
    while True:
        case = open_case(ReviewCase.Kind.REPORT, client.project, client)
        locked = ReviewCase.objects.select_for_update(no_key=True).filter(pk=case.pk, closed_at=None).first()
        if locked is not None:  # otherwise it was just closed, and the report belongs to the next one
            return locked


@receiver(exporting)
def export_reports(sender: Any, account: Account, **kwargs: Any) -> dict[str, Any]:
    """Return the person's reports of apps, for the data export."""
    rows = AppReport.objects.filter(reporter=account).select_related("case__client")
    return {
        "reported_apps": (
            {
                "at": moment(row.at),
                "app": row.case.client.name if row.case.client else None,
                "reason": row.get_reason_display(),
                "text": row.text,
            }
            for row in rows_of(rows)
        )
    }


DAY = 24 * 3600


class ReportForm(forms.Form):
    reason = forms.ChoiceField(
        label="What is wrong?",
        choices=AppReport.Reason.choices,
        widget=forms.RadioSelect,
        error_messages={"required": "Choose what is wrong."},
    )
    text = forms.CharField(
        label="What happened",
        help_text="Describe what you saw, where and when. Do not include passwords and codes.",
        max_length=MAX_TEXT_LENGTH,
        required=False,
        widget=forms.Textarea(attrs={"rows": 6}),
    )


def _find(request: HttpRequest, client_id: str) -> Client:
    client = find_reportable(client_id, account_of(request))
    if client is None:
        raise Http404
    return client


@limited_by_person
@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def report(request: HttpRequest, client_id: str) -> HttpResponse:
    """/apps/report/<client id>: the form. People can change their report while its case is open."""
    client, account = _find(request, client_id), account_of(request)
    before = report_of(client, account)
    if request.method == "POST":
        form = ReportForm(request.POST)
        if form.is_valid() and _is_within_limits(request, client, form):
            report_app(client, account, form.cleaned_data["reason"], form.cleaned_data["text"])
            return redirect("app_report_sent", client_id)
    else:
        form = ReportForm(initial={"reason": before.reason, "text": before.text} if before else None)
    context = {"client": client_context(client), "client_id": client_id, "form": form, "before": before}
    return render(request, "review/app_report.html", context)


def _is_within_limits(request: HttpRequest, client: Client, form: ReportForm) -> bool:
    """Count the report; return False, with an error in the form, if there are too many (docs/limits.md)."""
    by_address = Rate("reports, address", settings.REPORTS_PER_ADDRESS_AND_APP_PER_DAY, DAY)
    try:
        hit(Rate("reports", settings.REPORTS_PER_PERSON_PER_DAY, DAY), account_of(request).pk)
        hit(by_address, usage.address(request), client.pk)
    except RateLimited:
        form.add_error(None, "There were too many reports from you or your network today. Please try again tomorrow.")
        return False
    return True


@never_cache
@login_required
@require_safe
def sent(request: HttpRequest, client_id: str) -> HttpResponse:
    """/apps/report/<client id>/sent: thanks, and what happens next."""
    client = _find(request, client_id)
    if report_of(client, account_of(request)) is None:
        return redirect("app_report", client_id)
    return render(request, "review/app_report_sent.html", {"client": client_context(client), "client_id": client_id})


# See docs/review.md#reports.


@dataclass(frozen=True)
class Reporter:
    """A person who reported an app. `used_until` is None if they still use the app."""

    since: datetime
    used_from: datetime | None
    used_until: datetime | None
    earlier: int
    led_to_something: int


def reporters_of(reports: Sequence[AppReport], client: Client | None) -> dict[int, Reporter]:
    """Return the reporters by report, in two SQL statements, without people whose account is deleted.

    `reports` must have their reporters loaded. Earlier reports are those about any app in other cases.
    """
    # 0 is no primary key. It keeps the statements the same when there are no reports.
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
    started, ended = (used.first_authorized_at, used.removed_at) if used else (None, None)
    return Reporter(since, started, ended, earlier, acted)
