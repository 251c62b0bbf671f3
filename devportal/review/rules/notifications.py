"""Notices to developers about reviews, mails to reviewers, and which of these a reviewer wants."""

import logging
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.urls import reverse

from accounts.mail import outbox
from accounts.mail.rendering import Mail
from accounts.models import Account
from accounts.roles import REVIEWER, is_reviewer
from core.http.split_hosts import address_of
from devportal.console.models import Notice
from devportal.console.notices import raising as notices
from devportal.console.notices.kinds import NoticeKind
from devportal.console.notices.mailing import preview
from devportal.console.notices.texts import Part, register_parts
from devportal.review.models import AppReview, ReviewCase, ReviewEntry, ReviewerSettings
from devportal.review.rules.conflicts import conflict_of
from devportal.review.rules.reasons import reason_texts
from devportal.review.rules.snapshots import label_of, sensitive_among
from oidc.models import Client, Project, ProjectMember

log = logging.getLogger(__name__)

Kind = ReviewEntry.Kind
Side = ReviewEntry.Side
Role = ProjectMember.Role

# Entries that only reviewers read, and entries that are mailed to the assignee.
REVIEWERS_ONLY = frozenset({Kind.FIRST_APPROVAL})
TO_ASSIGNEE = frozenset({Kind.ASSIGNED, Kind.RESUBMITTED, Kind.WITHDRAWN, Kind.COMMENT})


def notify(entry: ReviewEntry) -> None:
    """Raise the notice of a timeline entry, and mail the assignee, in the caller's transaction."""
    by_developer = entry.side == Side.DEVELOPER
    kind = notice_kind(entry.kind, entry.details)
    # A developer's message is mailed only to the reviewer. Other members read it in the console.
    if kind is not None and not (entry.kind == Kind.COMMENT and by_developer):
        # Texts of developers are for reviewers, so notices to developers do not contain them.
        text = "" if by_developer else entry.text
        details = _details(entry.client, entry.reasons, text, entry.details)
        actor = entry.author_id if by_developer else None
        notices.notify(entry.project, kind, client=entry.client, details=details, actor=actor)
    review = entry.review
    if review is None or entry.kind not in TO_ASSIGNEE:
        return
    assignee = review.assignee
    if assignee is not None and assignee.pk != entry.author_id and _may_still_decide(assignee, review):
        mail_reviewer(assignee, f"reviewer_{entry.kind}", mail_context(entry, review))


def _may_still_decide(assignee: Account, review: AppReview) -> bool:
    """Return whether the assignee is still a reviewer, and has got no conflict of interest since the assignment."""
    return is_reviewer(assignee) and not conflict_of(assignee, review.client.project, review)


def mail_reviewer(reviewer: Account, template: str, context: dict[str, Any]) -> None:
    """Queue an email to a reviewer. One whose email address no mail server accepts does not stop anything."""
    try:
        outbox.queue_mail(reviewer.email, template, context)
    except ValidationError:
        log.warning("Account %s gets no emails to reviewers: mail can't be sent to its email address.", reviewer.pk)


def notice_kind(kind: str, details: Mapping[str, Any] | None = None) -> NoticeKind | None:
    """Return the kind of the notice to developers about a step, None if they get none."""
    if kind == Kind.ASSIGNED or kind in REVIEWERS_ONLY:
        return None
    if kind == Kind.APPROVAL_WITHDRAWN and details and details.get("still_verified"):
        return NoticeKind.REVIEW_SCOPES_WITHDRAWN
    return NoticeKind(f"review_{kind}")


def mail_context(entry: ReviewEntry, review: AppReview) -> dict[str, Any]:
    """Return the context of the mail templates to reviewers."""
    return {
        "app": entry.details.get("name") or (entry.client.name if entry.client else ""),
        "project": entry.project.name,
        "reasons": reason_texts(entry.reasons),
        "text": entry.text,
        "link": admin_url(review),
    }


def _details(client: Client | None, reasons: Iterable[str], text: str, details: Mapping[str, Any]) -> dict[str, Any]:
    """Return the details of a notice: the name of the app as it was submitted, codes, and the reviewer's words."""
    name = {"client": details.get("name") or client.name} if client else {}
    return {"reasons": list(reasons), "text": text, "scopes": details.get("scopes", {}), **name}


def admin_url(row: AppReview | ReviewCase) -> str:
    """Return the URL of a review or a case in the admin."""
    return address_of(reverse(f"admin:review_{row._meta.model_name}_change", args=[row.pk]))


def preview_mail(
    kind: str,
    project: Project,
    client: Client | None = None,
    reasons: Iterable[str] = (),
    text: str = "",
    details: dict[str, Any] | None = None,
) -> Mail:
    """Return the email to the developers that a step would send, if no other notice were in it."""
    notice = notice_kind(kind, details)
    assert notice is not None, "developers get no notice of this step"
    values = _details(client, reasons, text, details or {})
    return preview(Notice(project=project, client=client, kind=notice, details=values))


# The maximum number of reviewers who get an email about one appeal or first approval.
MOST_REVIEWERS = 50


def _decision_parts(details: Mapping[str, Any]) -> list[Part]:
    """Return what a reviewer decided and wrote, for the email."""
    scopes = details.get("scopes", {})
    approved = [label_of(scope) for scope, yes in scopes.items() if yes]
    refused = [label_of(scope) for scope, yes in scopes.items() if not yes]
    reasons = reason_texts(details.get("reasons", ()))
    parts = [
        Part("It can now also request these scopes:", approved),
        Part("Scopes that are not approved:", refused),
        Part("Reasons:", reasons),
        Part("The reviewer writes:", quote=details.get("text", "")),
    ]
    return [part for part in parts if part.items or part.quote]


def _scope_parts(details: Mapping[str, Any]) -> list[Part]:
    return [Part("The scope:", [label_of(details["scope"])])]


# Steps in which reviewers decide or write.
_BY_REVIEWERS = (
    NoticeKind.REVIEW_RENEWED,
    NoticeKind.REVIEW_COMMENT,
    NoticeKind.REVIEW_CHANGES_REQUESTED,
    NoticeKind.REVIEW_REJECTED,
    NoticeKind.REVIEW_APPROVED,
    NoticeKind.REVIEW_APPROVAL_WITHDRAWN,
    NoticeKind.REVIEW_SCOPES_WITHDRAWN,
    NoticeKind.REVIEW_SUSPENDED,
    NoticeKind.REVIEW_SUSPENSION_LIFTED,
    NoticeKind.APPEAL_ANSWERED,
    NoticeKind.SUSPENSION_APPEAL_ANSWERED,
)
register_parts(_BY_REVIEWERS, _decision_parts)
register_parts([NoticeKind.SCOPE_REVIEW_DUE], _scope_parts)


def mail_reviewers_about_appeal(case: AppReview | ReviewCase, text: str, without: Collection[int]) -> None:
    """Mail an appeal to the reviewers who may answer it. `without` are the keys of the ones who decided before."""
    review = case if isinstance(case, AppReview) else None
    project = case.client.project if isinstance(case, AppReview) else case.project
    context: dict[str, Any] = {
        "app": case.client.name if case.client else project.name,
        "project": project.name,
        "whole_project": case.client is None,
        "reasons": [],
        "text": text,
        "link": admin_url(case),
        "of_rejection": review is not None,
    }
    for reviewer in _reviewers_to_mail(project, review, without):
        mail_reviewer(reviewer, "reviewer_appealed", context)


def mail_first_approval(review: AppReview, actor: Account, decided: Collection[int]) -> None:
    """Mail the other reviewers that a review waits for a second approval, without saying what was decided.

    Runs in the caller's transaction. Reviewers who decided before, by primary key, are informed that this decision
    differs from theirs.
    """
    context: dict[str, Any] = {
        "app": review.snapshot.get("name") or review.client.name,
        "scopes": sensitive_among(review.snapshot["scopes"]),
        "link": admin_url(review),
    }
    for reviewer in _reviewers_to_mail(review.client.project, review, {actor.pk}):
        mail_reviewer(reviewer, "reviewer_second_approval", context | {"has_decided": reviewer.pk in decided})


def _reviewers_to_mail(project: Project, review: AppReview | None, without: Collection[int]) -> list[Account]:
    """Return the reviewers who may decide and want emails about submissions, except the ones with these keys."""
    others = who_wants("mails_new").exclude(pk__in=without)[:MOST_REVIEWERS]
    return [reviewer for reviewer in others if not conflict_of(reviewer, project, review)]


def reviewers() -> "QuerySet[Account]":
    """Return the accounts with the role, including superusers (`accounts.roles.is_reviewer`), by email address."""
    with_role = Q(pk__in=Account.groups.through.objects.filter(group__name=REVIEWER).values("account"))
    staff = Account.objects.filter(is_active=True, is_staff=True)
    return staff.filter(with_role | Q(is_superuser=True)).order_by("email")


def settings_of(account: Account) -> ReviewerSettings:
    """Return a reviewer's mail settings, or an unsaved row with the defaults."""
    return ReviewerSettings.objects.filter(account=account).first() or ReviewerSettings(account=account)


def who_wants(mail: str) -> "QuerySet[Account]":
    """Return the reviewers with a verified email address who want a kind of mail, named as in ReviewerSettings."""
    declined = ReviewerSettings.objects.filter(**{mail: False}).values("account")
    return reviewers().filter(email_verified=True).exclude(pk__in=declined)
