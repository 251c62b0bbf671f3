"""Previews of the mails that a reviewer's steps send, for their confirmation pages."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest

from devportal.console.admin.action_handlers import project_of
from devportal.console.models import AppReview, ReviewEntry
from devportal.console.reviews import notifications
from oidc.models import Project

Kind = ReviewEntry.Kind
Preview = Callable[[HttpRequest, Any, Any], list[tuple[str, str]]]


def _to(project: Project, mail: tuple[str, str]) -> list[tuple[str, str]]:
    addresses = notifications.developer_addresses(project)
    return [(f"Mail to {', '.join(addresses)}", f"Subject: {mail[0]}\n\n{mail[1]}")] if addresses else []


def decision_preview(kind: str) -> Preview:
    """Return the preview of a decision's mail."""

    def preview(request: HttpRequest, review: AppReview, form: Any) -> list[tuple[str, str]]:
        said, scopes = form.cleaned_data, getattr(form, "scopes", None)
        mail = notifications.preview_decision(kind, review, said.get("reasons", ()), said.get("text", ""), scopes)
        return _to(review.client.project, mail)

    return preview


def withdrawal_preview(request: HttpRequest, review: AppReview, form: Any) -> list[tuple[str, str]]:
    """Preview the mail of an approval that is withdrawn."""
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


def project_preview(kind: str) -> Preview:
    """Return the preview of the mail of a step that concerns a whole project."""

    def preview(request: HttpRequest, row: Any, form: Any) -> list[tuple[str, str]]:
        said, project = form.cleaned_data, project_of(row)
        return _to(project, notifications.preview_mail(kind, project, None, said.get("reasons", ()), said["text"]))

    return preview
