"""Report this app: a form for people who are signed in, and what becomes of it."""

from django import forms
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.authentication import account_of
from devportal.console.app_pages import reports
from devportal.console.models import AppReport
from devportal.console.reviews.timeline import MAX_TEXT_LENGTH
from devportal.lib.ratelimit import Rate, RateLimited, hit, keys
from devportal.lib.ratelimit.forms import limited_by_person
from oidc.clients.presentation import client_context
from oidc.models import Client

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
    client = reports.find_reportable(client_id, account_of(request))
    if client is None:
        raise Http404
    return client


@limited_by_person
@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def report(request: HttpRequest, client_id: str) -> HttpResponse:
    """/apps/report/<client id>: the form; what one has reported already can be changed while its case is open."""
    client, account = _find(request, client_id), account_of(request)
    before = reports.report_of(client, account)
    if request.method == "POST":
        form = ReportForm(request.POST)
        if form.is_valid() and _is_within_limits(request, client, form):
            reports.report_app(client, account, form.cleaned_data["reason"], form.cleaned_data["text"])
            return redirect("app_report_sent", client_id)
    else:
        form = ReportForm(initial={"reason": before.reason, "text": before.text} if before else None)
    context = {"client": client_context(client), "client_id": client_id, "form": form, "before": before}
    return render(request, "console/app_report.html", context)


def _is_within_limits(request: HttpRequest, client: Client, form: ReportForm) -> bool:
    """Count the report; False if there are too many, which the form says (docs/limits.md)."""
    by_address = Rate("reports, address", settings.REPORTS_PER_ADDRESS_AND_APP_PER_DAY, DAY)
    try:
        hit(Rate("reports", settings.REPORTS_PER_PERSON_PER_DAY, DAY), account_of(request).pk)
        hit(by_address, keys.address(request), client.pk)
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
    if reports.report_of(client, account_of(request)) is None:
        return redirect("app_report", client_id)
    return render(request, "console/app_report_sent.html", {"client": client_context(client), "client_id": client_id})
