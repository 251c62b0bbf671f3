"""Handlers of the admin actions of app review, and previews of the emails that they send."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from accounts.mail.rendering import Mail
from accounts.sessions.authentication import account_of
from core.admin.actions import ActionRefused, Preview
from core.admin.theme import may_view
from devportal.console.notices.raising import mailed_addresses
from devportal.review.decisions import reviewer_actions
from devportal.review.models import AppReview, ReviewCase, ReviewEntry
from devportal.review.rules import notifications, workflow
from devportal.review.submission import domain_lookups
from devportal.review.submission.second_approval import first_approval, needs_second_approval
from oidc.models import Project

Kind = ReviewEntry.Kind
Previews = Callable[[HttpRequest, Any, Any], list[Preview]]


def _to(project: Project, kind: str, mail: Mail) -> list[Preview]:
    notice = notifications.notice_kind(kind)
    addresses = mailed_addresses(project, notice) if notice else []
    if not addresses:
        return []
    return [Preview(f"Mail to {', '.join(addresses)}", f"Subject: {mail.subject}\n\n{mail.text}", mail.html)]


def decision_preview(kind: str) -> Previews:
    """Return the preview of a decision's mail."""

    def preview(request: HttpRequest, review: AppReview, form: Any) -> list[Preview]:
        said, client = form.cleaned_data, review.client
        details = {"name": review.name, "scopes": getattr(form, "scopes", {})}
        reasons, text = said.get("reasons", ()), said.get("text", "")
        return _to(
            client.project, kind, notifications.preview_mail(kind, client.project, client, reasons, text, details)
        )

    return preview


def approval_preview(request: HttpRequest, review: AppReview, form: Any) -> list[Preview]:
    """Return the preview of an approval's mail. The first of two approvals sends none (docs/review.md#two-approvals).

    The preview of a second approval does not depend on the first one, so that it does not reveal what was decided.
    """
    if needs_second_approval(review) and first_approval(review) is None:
        return []
    return decision_preview(Kind.APPROVED)(request, review, form)


def withdrawal_preview(request: HttpRequest, review: AppReview, form: Any) -> list[Preview]:
    """Return the preview of the email about a withdrawn approval."""
    client = review.client
    held = client.approved_scopes.split()
    gone = held if form.scopes is None else form.scopes
    details = {
        "name": client.name,
        "scopes": dict.fromkeys(sorted(gone), False),
        "still_verified": client.is_verified and form.scopes is not None,
    }
    said = form.cleaned_data
    kind = Kind.APPROVAL_WITHDRAWN
    mail = notifications.preview_mail(kind, client.project, client, said["reasons"], said["text"], details)
    return _to(client.project, kind, mail)


def project_preview(kind: str) -> Previews:
    """Return a function that previews the email of a step that concerns a whole project."""

    def preview(request: HttpRequest, row: Any, form: Any) -> list[Preview]:
        said, project = form.cleaned_data, project_of(row)
        return _to(
            project, kind, notifications.preview_mail(kind, project, None, said.get("reasons", ()), said["text"])
        )

    return preview


ActionHandler = Callable[[HttpRequest, Any, Any], str]


def report_refusals(do: ActionHandler) -> ActionHandler:
    """Decorate a handler so that exceptions of review steps become ActionRefused, with their message."""

    def doing(request: HttpRequest, row: Any, form: Any) -> str:
        try:
            return do(request, row, form)
        except (workflow.ReviewNotAllowed, workflow.IllegalReviewStep) as refusal:
            raise ActionRefused(str(refusal)) from refusal
        except ValidationError as refusal:
            raise ActionRefused(" ".join(refusal.messages)) from refusal

    return doing


def taking(step: Callable[..., Any], done: str) -> ActionHandler:
    """Return the handler that takes a step with the values of the form. `done` is the message."""

    @report_refusals
    def do(request: HttpRequest, row: Any, form: Any) -> str:
        step(row, account_of(request), **form.cleaned_data)
        return done

    return do


def assigning(step: Callable[..., Any], what: str) -> ActionHandler:
    """Return the handler that assigns a review or a case to the chosen reviewer, or to the person themselves."""

    @report_refusals
    def do(request: HttpRequest, row: Any, form: Any) -> str:
        account = account_of(request)
        assignee = form.cleaned_data.get("assignee", account)
        step(row, account, assignee)
        return f"The {what} is with {assignee or 'nobody'}." if form.fields else f"The {what} is yours."

    return do


def look_up_domains(request: HttpRequest, review: AppReview, form: Any) -> None:
    """Look up the domains of a submission before a step, if the person may take it (docs/review.md#domains)."""
    form.lookups = domain_lookups.look_up(review) if _may_decide(request, review) else []


def look_up_domains_for_approval(request: HttpRequest, review: AppReview, form: Any) -> None:
    """Look up the domains, and refuse the step if one that the page shows as proven is no longer found."""
    look_up_domains(request, review, form)
    if gone := domain_lookups.proofs_gone(form.lookups):
        raise ActionRefused(
            f"The proof of {gone} was not found just now, so nothing was approved. Read the evidence again, then "
            f"decide."
        )


def _may_decide(request: HttpRequest, review: AppReview) -> bool:
    return workflow.may_decide(account_of(request), review.client.project, review)


def _with_failures(said: str, form: Any) -> str:
    failed = domain_lookups.failures(form.lookups)
    return f"{said} These domains could not be looked up: {failed}." if failed else said


@report_refusals
def start(request: HttpRequest, review: AppReview, form: Any) -> str:
    reviewer_actions.start(review, account_of(request))
    return _with_failures("The review has started, and the developers were notified.", form)


@report_refusals
def approve(request: HttpRequest, review: AppReview, form: Any) -> str:
    values = {name: form.cleaned_data[name] for name in ("revision", "text", "domains", "measure")}
    values |= {"scopes": form.scopes, "checked": form.checked, "lookups": form.lookups}
    values |= {"despite": form.cleaned_data.get("despite", ""), "failing": form.cleaned_data.get("failing", [])}
    decided = reviewer_actions.approve(review, account_of(request), **values)
    if decided.status == AppReview.Status.IN_REVIEW:
        said = "Your approval is noted. It takes effect once a second reviewer decides the same on each scope."
    else:
        said = "The app is approved. People see it as reviewed from now on."
    return _with_failures(said, form)


@report_refusals
def withdraw(request: HttpRequest, review: AppReview, form: Any) -> str:
    values = {name: form.cleaned_data[name] for name in ("reasons", "text")}
    reviewer_actions.withdraw_approval(review.client, account_of(request), scopes=form.scopes, **values)
    return "The approval was withdrawn with immediate effect."


def project_of(row: AppReview | ReviewCase | Project) -> Project:
    if isinstance(row, ReviewCase):
        return row.project
    return row if isinstance(row, Project) else row.client.project


@report_refusals
def suspend(request: HttpRequest, row: Any, form: Any) -> str:
    reviewer_actions.suspend_project(project_of(row), account_of(request), **form.cleaned_data)
    said = "The project is suspended. This takes effect everywhere within 30 seconds."
    return _with_open_cases(request, project_of(row), said)


@report_refusals
def lift(request: HttpRequest, row: Any, form: Any) -> str:
    values = {name: form.cleaned_data[name] for name in ("text", "suspended_at")}
    reviewer_actions.lift_suspension(project_of(row), account_of(request), **values)
    said = "The suspension is lifted. This takes effect everywhere within 30 seconds."
    return _with_open_cases(request, project_of(row), said)


def _with_open_cases(request: HttpRequest, project: Project, said: str) -> str:
    """Add how many cases of the project stay open. A reviewer closes each of them, and says what was found."""
    number = ReviewCase.objects.filter(project=project, closed_at=None).count()
    if not number:
        return said
    more = "One case of the project stays open." if number == 1 else f"{number} cases of the project stay open."
    if not may_view("review_reviewcase")(request):
        return f"{said} {more}"
    url = f"{reverse('admin:review_reviewcase_changelist')}?{urlencode({'project__id__exact': project.pk})}"
    return format_html('{} {} <a href="{}">Cases of the project</a>', said, more, url)
