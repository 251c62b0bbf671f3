"""Previews of the mails that a reviewer's steps send, for their confirmation pages."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest

from accounts.mail.rendering import Mail
from core.admin.actions import Preview
from devportal.review import notifications
from devportal.review.admin.action_handlers import project_of
from devportal.review.models import AppReview, ReviewEntry
from devportal.review.second_approval import first_approval, needs_second_approval
from oidc.models import Project

Kind = ReviewEntry.Kind
Previews = Callable[[HttpRequest, Any, Any], list[Preview]]


def _to(project: Project, mail: Mail) -> list[Preview]:
    addresses = notifications.developer_addresses(project)
    if not addresses:
        return []
    return [Preview(f"Mail to {', '.join(addresses)}", f"Subject: {mail.subject}\n\n{mail.text}", mail.html)]


def decision_preview(kind: str) -> Previews:
    """Return the preview of a decision's mail."""

    def preview(request: HttpRequest, review: AppReview, form: Any) -> list[Preview]:
        said, scopes = form.cleaned_data, getattr(form, "scopes", None)
        mail = notifications.preview_decision(kind, review, said.get("reasons", ()), said.get("text", ""), scopes)
        return _to(review.client.project, mail)

    return preview


def approval_preview(request: HttpRequest, review: AppReview, form: Any) -> list[Preview]:
    """Return the preview of an approval's mail. The first of two approvals sends none (docs/review.md#two-approvals).

    The preview of a second approval does not depend on the first one, so that it does not reveal what was decided.
    """
    if needs_second_approval(review) and first_approval(review) is None:
        return []
    return decision_preview(Kind.APPROVED)(request, review, form)


def withdrawal_preview(request: HttpRequest, review: AppReview, form: Any) -> list[Preview]:
    """Return the preview of the mail about a withdrawn approval."""
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
    return _to(client.project, mail)


def project_preview(kind: str) -> Previews:
    """Return a function that previews the mail of a step that concerns a whole project."""

    def preview(request: HttpRequest, row: Any, form: Any) -> list[Preview]:
        said, project = form.cleaned_data, project_of(row)
        return _to(project, notifications.preview_mail(kind, project, None, said.get("reasons", ()), said["text"]))

    return preview
