"""Reviewers' steps: assigning, starting, deciding, withdrawing an approval, and suspending a project."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from django.db import transaction

from accounts.models import Account
from core import clock
from core.audit import changes
from core.names import validate_name
from devportal.review.cases import cases
from devportal.review.decisions import checklist
from devportal.review.models import AppReview, ReviewCase, ReviewEntry
from devportal.review.rules.reasons import REASONS, SUSPENSION_REASONS, validate_reasons
from devportal.review.rules.snapshots import approved_snapshot, held_since, sensitive_among
from devportal.review.rules.timeline import Kind, action_of, clean_text, record_entry
from devportal.review.rules.workflow import (
    MEASURES,
    IllegalReviewStep,
    IncompleteSubmission,
    ReviewNotAllowed,
    Side,
    Status,
    begin_step,
    lock_for_step,
    lock_rights,
    may_be_given,
    require_measure,
    require_reviewer,
    require_revision,
    require_suspender,
    require_suspension,
)
from devportal.review.submission import logos, second_approval
from devportal.review.submission.developer_actions import apply_snapshot
from devportal.review.submission.domain_lookups import Lookup
from devportal.review.submission.requirements import cover_submission, domains_to_cover, why_not_approvable
from oidc.apis.scopes import format_scope
from oidc.clients import reviewed_hosts
from oidc.clients.domain_names import domains_of
from oidc.models import Client, Project
from oidc.projects.roles import report_project_event

Outcome = ReviewCase.Outcome

# The columns that an approval and its withdrawal write.
VERIFICATION = ("verified_at", "last_reviewed_at", "approved_scopes", "kept_scopes", *reviewed_hosts.REVIEWED_COLUMNS)


def _record(kind: str, actor: Account, review: AppReview, **more: Any) -> None:
    more["details"] = {"name": review.snapshot.get("name", "")} | more.get("details", {})
    record_entry(kind, Side.REVIEWER, actor, review.client.project, review.client, review, **more)


@transaction.atomic
def assign(review: AppReview, actor: Account, assignee: Account | None) -> AppReview:
    """Assign a review to a reviewer, or to nobody.

    Raises ReviewNotAllowed (for actor or assignee), IllegalReviewStep.
    """
    review, _ = begin_step(review, actor, "assign")
    if assignee is not None and not may_be_given(assignee, review.client.project, review):
        raise ReviewNotAllowed(f"{assignee} can't decide on this app.")
    if review.assignee == assignee:
        return review
    review.assignee = assignee
    review.save(update_fields=["assignee"])
    # The assignee's name is deleted with their account, so the audit trail holds only the actor.
    _record(Kind.ASSIGNED, actor, review, details={"name": review.name})
    return review


@transaction.atomic
def start(review: AppReview, actor: Account) -> AppReview:
    """Start the review of a submission. The actor becomes the assignee if there is none.

    Raises ReviewNotAllowed, IllegalReviewStep.
    """
    review, _ = begin_step(review, actor, "start")
    review.status = Status.IN_REVIEW
    review.assignee = review.assignee or actor
    review.save(update_fields=["status", "assignee"])
    _record(Kind.STARTED, actor, review)
    return review


def _decide(review: AppReview, actor: Account, status: str, reasons: list[str], text: str) -> None:
    review.status = status
    review.decided_at, review.decided_by = clock.now(), actor
    review.reasons, review.reason_text = reasons, text
    second_approval.drop_first_approval(review)
    if not review.is_open:
        review.test_account_encrypted = ""  # docs/review.md#the-test-account
    review.save()


@transaction.atomic
def request_changes(
    review: AppReview, actor: Account, *, revision: int, reasons: Iterable[str], text: str = ""
) -> AppReview:
    """Request changes, with reasons. Raises ReviewNotAllowed, IllegalReviewStep, IncompleteSubmission."""
    review, _ = begin_step(review, actor, "request_changes")
    require_revision(review, revision)
    codes, note = validate_reasons(reasons, text, REASONS), clean_text(text)
    _decide(review, actor, Status.CHANGES_REQUESTED, codes, note)
    _record(Kind.CHANGES_REQUESTED, actor, review, reasons=codes, text=note)
    return review


@transaction.atomic
def reject(review: AppReview, actor: Account, *, revision: int, reasons: Iterable[str], text: str = "") -> AppReview:
    """Reject a submission, with reasons. Earlier approvals stay.

    Raises ReviewNotAllowed, IllegalReviewStep, IncompleteSubmission.
    """
    review, _ = begin_step(review, actor, "reject")
    require_revision(review, revision)
    codes, note = validate_reasons(reasons, text, REASONS), clean_text(text)
    review.decisions = dict.fromkeys(review.snapshot["scopes"], False)
    _decide(review, actor, Status.REJECTED, codes, note)
    _record(Kind.REJECTED, actor, review, reasons=codes, text=note)
    return review


@transaction.atomic
def approve(
    review: AppReview,
    actor: Account,
    *,
    revision: int,
    scopes: Mapping[str, bool],
    checked: Collection[str],
    text: str = "",
    despite: str = "",
    failing: Collection[str] | None = None,
    domains: Collection[str] | None = None,
    measure: int | None = None,
    lookups: Iterable[Lookup] = (),
) -> AppReview:
    """Verify the app as submitted; `scopes` holds the decision on each requested scope.

    `checked` holds the codes of all checklist items that apply (checklist.py). `despite` says why the app is approved
    although facts of its evidence fail; only reviewers read it. `failing` are the codes of these facts, and `domains`
    the proven domains, that the reviewer saw, None for the present ones: others may not fail, and are not covered.
    `measure` is the newest measure that the reviewer saw (workflow.last_measure), None for the present one.
    `lookups` are the latest lookups of the domains, for the timeline. Logo, label, limit of people and scopes change
    with the commit. A scope that is no longer requested loses its approval, unless the app got it after the submission
    (cases.note_scope_that_needs_review). If two approvals are needed, the first one is noted and the review stays open
    (docs/review.md#two-approvals). Raises ReviewNotAllowed, IllegalReviewStep, IncompleteSubmission; ValidationError
    for a name that has become reserved.
    """
    review, _ = begin_step(review, actor, "approve")
    require_revision(review, revision)
    ticked = checklist.tick(review, actor, checked)
    _require_approvable(review, scopes, measure)
    note, client = clean_text(text), review.client
    noted = {"checked": ticked} | checklist.approved_despite(review, despite, failing)
    shown = domains_to_cover(review.snapshot, domains_of(client.project)) if domains is None else domains
    if second_approval.needs_second_approval(review):
        first = second_approval.note_or_complete(review, actor, scopes, note, noted, shown)
        if first is None:
            return review
        note, shown = note or first.text, first.domains.intersection(shown)
        review.second_approval_at = clock.now()
    before = approved_snapshot(client)
    _verify(client, review, scopes, shown)
    _decide(review, actor, Status.APPROVED, [], note)
    details = {"scopes": review.decisions, "domains": [found.as_details() for found in lookups]} | noted
    _finish_approval(review, actor, note, before, details)
    return review


def _require_approvable(review: AppReview, scopes: Mapping[str, bool], measure: int | None) -> None:
    if measure is not None:
        require_measure(review.client, measure)
    if set(scopes) != set(review.snapshot["scopes"]):
        raise IncompleteSubmission("Decide on each requested scope.")
    validate_name(review.snapshot["name"])
    if problem := why_not_approvable(review.client, review.snapshot):
        raise IncompleteSubmission(problem)


def _verify(client: Client, review: AppReview, scopes: Mapping[str, bool], shown: Collection[str]) -> None:
    review.decisions = {scope: bool(yes) for scope, yes in scopes.items()}
    apply_snapshot(client, review.snapshot)
    client.verified_at = client.verified_at or clock.now()
    kept = held_since(client, review.snapshot)
    client.approved_scopes = format_scope([*kept, *(scope for scope, yes in scopes.items() if yes)])
    client.kept_scopes = " ".join(scope for scope in client.kept_scopes.split() if scope in kept)
    client.last_reviewed_at = clock.now()
    cover_submission(client, review, shown)
    client.save(update_fields=VERIFICATION)


def _finish_approval(
    review: AppReview, actor: Account, note: str, before: dict[str, Any], details: dict[str, Any]
) -> None:
    """Record an approval that takes effect, and close the cases that it settles."""
    client = review.client
    was, now = changes(before, approved_snapshot(client))
    _record(Kind.APPROVED, actor, review, text=note, details=details, before=was, after=now)
    logos.delete_if_unused(client, before["logo"])
    settled = (ReviewCase.Kind.RE_REVIEW, ReviewCase.Kind.SECOND_APPROVAL)
    noted = cases.Noted(ReviewCase.Event.REVIEW_APPROVED, {"number": review.number})
    cases.settle(client, actor, Outcome.IN_ORDER, noted, *settled)
    cases.settle_scopes(client, actor, Outcome.IN_ORDER, noted, review.decisions)


@transaction.atomic
def withdraw_approval(
    client: Client,
    actor: Account,
    *,
    scopes: Collection[str] | None = None,
    reasons: Iterable[str],
    text: str = "",
) -> Client:
    """Withdraw the approval of `scopes`, or with None the whole approval, which makes the app unverified again.

    Refreshes and API requests lose the scopes immediately, because both read the client again. Users keep access,
    also beyond the limit of people. Raises ReviewNotAllowed, IllegalReviewStep, IncompleteSubmission.
    """
    actor = lock_rights(client.project_id, actor)
    client = lock_for_step(client.pk)
    require_reviewer(actor, client.project)
    codes, note = validate_reasons(reasons, text, SUSPENSION_REASONS), clean_text(text)
    held = set(client.approved_scopes.split())
    gone = held if scopes is None else held & set(scopes)
    if not gone and not (scopes is None and client.is_verified):
        raise IllegalReviewStep("There is no such approval to withdraw.")
    before = {"verified": client.is_verified, "approved_scopes": client.approved_scopes}
    # In the stored order: this process may not know a scope yet that another one has just approved.
    client.approved_scopes = " ".join(scope for scope in client.approved_scopes.split() if scope not in gone)
    client.kept_scopes = " ".join(scope for scope in client.kept_scopes.split() if scope not in gone)
    if scopes is None:
        client.verified_at = client.last_reviewed_at = None
        reviewed_hosts.set_reviewed_hosts(client)
    client.save(update_fields=VERIFICATION)
    after = {"verified": client.is_verified, "approved_scopes": client.approved_scopes}
    details = {"name": client.name, "scopes": dict.fromkeys(sorted(gone), False), "still_verified": client.is_verified}
    record_entry(
        Kind.APPROVAL_WITHDRAWN,
        Side.REVIEWER,
        actor,
        client.project,
        client,
        text=note,
        reasons=codes,
        details=details,
        before=before,
        after=after,
    )
    _settle_after_withdrawal(client, actor)
    return client


def _settle_after_withdrawal(client: Client, actor: Account) -> None:
    """Close the cases that asked whether the withdrawn approval should stay, and end first approvals."""
    second_approval.end_first_approvals(client.project)
    settled = [] if client.is_verified else [ReviewCase.Kind.RE_REVIEW]
    if not sensitive_among(client.approved_scopes.split()):
        settled.append(ReviewCase.Kind.SECOND_APPROVAL)
    noted = cases.Noted(ReviewCase.Event.APPROVAL_WITHDRAWN)
    cases.settle(client, actor, Outcome.ACTED, noted, *settled)
    cases.settle_scopes(client, actor, Outcome.ACTED, noted)


def _locked(project: Project, actor: Account) -> Project:
    row = Project.objects.select_for_update(no_key=True).filter(pk=project.pk).first()
    account = Account.objects.select_for_update(no_key=True).filter(pk=actor.pk).first()
    if row is None or account is None:
        raise IllegalReviewStep("This project is deleted.")
    require_suspender(account, row)
    return row


@transaction.atomic
def suspend_project(project: Project, actor: Account, *, reasons: Iterable[str], text: str = "") -> Project:
    """Suspend a project: its apps become unavailable and its API keys are refused (docs/review.md#what-decisions-do).

    Raises ReviewNotAllowed, IllegalReviewStep, IncompleteSubmission.
    """
    row = _locked(project, actor)
    codes, note = validate_reasons(reasons, text, SUSPENSION_REASONS), clean_text(text)
    if row.is_suspended:
        raise IllegalReviewStep("This project is already suspended.")
    row.suspended_at = clock.now()
    row.save(update_fields=["suspended_at"])
    second_approval.end_first_approvals(row)
    change: dict[str, Any] = {"before": {"suspended": False}, "after": {"suspended": True}}
    record_entry(Kind.SUSPENDED, Side.REVIEWER, actor, row, reasons=codes, text=note, **change)
    return row


@transaction.atomic
def lift_suspension(project: Project, actor: Account, *, text: str = "", suspended_at: str | None = None) -> Project:
    """Make a suspended project available again. Raises ReviewNotAllowed, IllegalReviewStep, IncompleteSubmission.

    `suspended_at` is the suspension that the reviewer saw (workflow.suspension_of), None for the present one.
    """
    row = _locked(project, actor)
    note = clean_text(text)
    if not row.is_suspended:
        raise IllegalReviewStep("This project is not suspended.")
    if suspended_at is not None:
        require_suspension(row, suspended_at)
    row.suspended_at = None
    row.save(update_fields=["suspended_at"])
    change: dict[str, Any] = {"before": {"suspended": True}, "after": {"suspended": False}}
    record_entry(Kind.SUSPENSION_LIFTED, Side.REVIEWER, actor, row, text=note, **change)
    return row


def record_operator_step(kind: str, project: Project, client: Client | None = None) -> None:
    """Add a step that the operator took with a provisioned file to the timeline and the audit trail.

    Call it in the transaction of the step. After a measure (workflow.MEASURES), reviewers whose page is older must read
    it again, and first approvals end. The operator informs the developers, so nobody gets an email.
    """
    details = {} if client is None else {"name": client.name}
    ReviewEntry.objects.create(
        project=project, client=client, at=clock.now(), side=Side.REVIEWER, kind=kind, details=details
    )
    report_project_event(action_of(kind), project, None, client.client_id if client else "", details=details)
    if kind in MEASURES:
        second_approval.end_first_approvals(project)
