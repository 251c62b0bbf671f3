"""Mails about reviews, cases and appeals, and which of them a reviewer wants."""

from collections.abc import Iterable
from typing import Any

from django.db.models import Q, QuerySet
from django.urls import reverse

from accounts.mail import outbox
from accounts.mail.rendering import Mail, render_mail
from accounts.models import Account
from accounts.roles import REVIEWER
from core.http.split_hosts import address_of
from devportal.review.conflicts import conflict_of
from devportal.review.models import AppReview, ReviewCase, ReviewEntry, ReviewerSettings
from devportal.review.reasons import reason_texts
from devportal.review.snapshots import label_of
from oidc.models import Client, Project, ProjectMember
from oidc.projects.members import developer_addresses

Kind = ReviewEntry.Kind
Side = ReviewEntry.Side
Role = ProjectMember.Role

# Entries that only reviewers read, entries that are mailed to developers, and entries that are mailed to the assignee.
REVIEWERS_ONLY = frozenset({Kind.FIRST_APPROVAL})
TO_DEVELOPERS = frozenset(Kind.values) - {Kind.ASSIGNED} - REVIEWERS_ONLY
TO_ASSIGNEE = frozenset({Kind.ASSIGNED, Kind.RESUBMITTED, Kind.WITHDRAWN, Kind.COMMENT})


def notify(entry: ReviewEntry) -> None:
    """Queue the mails of a timeline entry in the outbox, in the caller's transaction."""
    context = mail_context(entry)
    # A developer's message is mailed only to the reviewer. Other members read it in the console.
    if entry.kind in TO_DEVELOPERS and not (entry.kind == Kind.COMMENT and entry.side == Side.DEVELOPER):
        for address in developer_addresses(entry.project):
            outbox.queue_mail(address, f"review_{entry.kind}", context)
    assignee = entry.review.assignee if entry.review else None
    if entry.kind in TO_ASSIGNEE and assignee and assignee.is_active and assignee.pk != entry.author_id:
        outbox.queue_mail(assignee.email, f"reviewer_{entry.kind}", context | {"link": review_admin_url(entry.review)})


def mail_context(entry: ReviewEntry) -> dict[str, Any]:
    """Return the context of the mail templates."""
    return _context(entry.project, entry.client, entry.kind, entry.reasons, entry.text, entry.details)


def _context(
    project: Project, client: Client | None, kind: str, reasons: Iterable[str], text: str, details: dict[str, Any]
) -> dict[str, Any]:
    name = details.get("name") or (client.name if client else "")
    scopes = details.get("scopes", {})
    return {
        "app": name,
        "project": project.name,
        "kind": kind,
        "reasons": reason_texts(reasons),
        "text": text,
        "approved": [label_of(scope) for scope, yes in scopes.items() if yes],
        "refused": [label_of(scope) for scope, yes in scopes.items() if not yes],
        "still_verified": details.get("still_verified", False),
        "link": console_url(project, client),
    }


def console_url(project: Project, client: Client | None) -> str:
    """Return the URL of the console page for a developer."""
    if client is None:
        return address_of(reverse("console:project", args=[project.public_id]))
    return address_of(reverse("console:review", args=[project.public_id, client.client_id]))


def review_admin_url(review: AppReview | None) -> str:
    """Return the URL of a review in the admin."""
    return address_of(reverse("admin:review_appreview_change", args=[review.pk if review else 0]))


def queue_url() -> str:
    """Return the URL of the review queue in the admin."""
    return address_of(reverse("admin:review_appreview_changelist"))


def preview_decision(
    kind: str,
    review: AppReview,
    reasons: Iterable[str] = (),
    text: str = "",
    scopes: dict[str, bool] | None = None,
) -> Mail:
    """Return the mail to the developers that a decision would send."""
    details = {"name": review.snapshot.get("name", ""), "scopes": scopes or {}}
    return preview_mail(kind, review.client.project, review.client, reasons, text, details)


def preview_mail(
    kind: str,
    project: Project,
    client: Client | None = None,
    reasons: Iterable[str] = (),
    text: str = "",
    details: dict[str, Any] | None = None,
) -> Mail:
    """Return the mail to the developers that a step outside of a review would send."""
    return render_mail(f"review_{kind}", _context(project, client, kind, reasons, text, details or {}))


# The maximum number of reviewers who get a mail about one appeal.
MOST_REVIEWERS = 50


def _case_context(project: Project, client: Client | None, text: str = "") -> dict[str, Any]:
    link = console_url(project, client)
    name = client.name if client else project.name
    whole = client is None
    return {"app": name, "project": project.name, "whole_project": whole, "reasons": [], "text": text, "link": link}


def case_admin_url(case: ReviewCase) -> str:
    """Return the URL of a case in the admin."""
    return address_of(reverse("admin:review_reviewcase_change", args=[case.pk]))


def mail_outcome(case: ReviewCase) -> None:
    """Mail the outcome of an appeal to the developers, in the caller's transaction."""
    context = _case_context(case.project, case.client, case.outcome_text)
    for address in developer_addresses(case.project):
        outbox.queue_mail(address, "appeal_answered", context)


def mail_re_review_due(client: Client) -> None:
    """Mail the developers that a re-review of their app is due, and what it will check."""
    for address in developer_addresses(client.project):
        outbox.queue_mail(address, "re_review_due", _case_context(client.project, client))


def mail_scope_review(client: Client, scope: str) -> None:
    """Mail the developers that reviewers have to decide on a scope that the app already has."""
    context = _case_context(client.project, client) | {"scope": label_of(scope)}
    for address in developer_addresses(client.project):
        outbox.queue_mail(address, "scope_review_due", context)


def mail_reviewers_about_appeal(case: AppReview | ReviewCase, text: str, without: int | None) -> None:
    """Mail an appeal to the reviewers who may answer it. `without` is the key of the reviewer who decided before."""
    is_review = isinstance(case, AppReview)
    project = case.client.project if isinstance(case, AppReview) else case.project
    link = review_admin_url(case) if isinstance(case, AppReview) else case_admin_url(case)
    context = _case_context(project, case.client, text) | {"link": link, "of_rejection": is_review}
    review = case if isinstance(case, AppReview) else None
    others = who_wants("mails_new").exclude(pk=without or 0)
    for reviewer in others[:MOST_REVIEWERS]:
        if not conflict_of(reviewer, project, review):
            outbox.queue_mail(reviewer.email, "reviewer_appealed", context)


def reviewers() -> "QuerySet[Account]":
    """Return the accounts with the role, including superusers (`accounts.roles.is_reviewer`), by email address."""
    with_role = Q(pk__in=Account.groups.through.objects.filter(group__name=REVIEWER).values("account"))
    staff = Account.objects.filter(is_active=True, is_staff=True)
    return staff.filter(with_role | Q(is_superuser=True)).order_by("email")


def settings_of(account: Account) -> ReviewerSettings:
    """Return a reviewer's mail settings, or an unsaved row with the defaults."""
    return ReviewerSettings.objects.filter(account=account).first() or ReviewerSettings(account=account)


def save_settings(account: Account, *, mails_new: bool, mails_late: bool, mails_cases: bool) -> None:
    """Store a reviewer's mail settings."""
    wanted = {"mails_new": mails_new, "mails_late": mails_late, "mails_cases": mails_cases}
    ReviewerSettings.objects.update_or_create(account=account, defaults=wanted)


def who_wants(mail: str) -> "QuerySet[Account]":
    """Return the reviewers with a verified email address who want a kind of mail, named as in ReviewerSettings."""
    declined = ReviewerSettings.objects.filter(**{mail: False}).values("account")
    return reviewers().filter(email_verified=True).exclude(pk__in=declined)
