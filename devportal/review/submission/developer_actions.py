"""Developers' steps in app review: saving a draft, submitting, withdrawing, resubmitting, answering."""

from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Any

from django.core.exceptions import ValidationError
from django.core.files.base import ContentFile
from django.db import transaction
from django.dispatch import receiver

from accounts.models import Account
from core import clock
from core.audit import changes
from core.changed_meanwhile import ChangedMeanwhile
from core.tasks import queue_task
from devportal.review.evidence.tasks import check_pages
from devportal.review.models import AppReview, ReviewEntry, ReviewRevision
from devportal.review.rules.snapshots import (
    CIRCUMSTANCES,
    UNSENT,
    Snapshot,
    approved_snapshot,
    baseline_snapshot,
    circumstances_of,
    draft_digest,
    initial_snapshot,
    open_review,
    requestable_scopes,
    reviewed_scopes,
    working_snapshot,
    working_snapshot_of,
)
from devportal.review.rules.timeline import Kind, answers_to, clean_text, points_of, record_entry, required_text
from devportal.review.rules.workflow import (
    FROZEN_MESSAGE,
    IllegalReviewStep,
    IncompleteSubmission,
    Side,
    Status,
    begin_step,
    lock_for_step,
    lock_rights,
    may_be_given,
    require_developer,
)
from devportal.review.submission import logos
from devportal.review.submission.for_reviewers import ForReviewers, keep_test_account, write_for_reviewers
from devportal.review.submission.requirements import missing_among, submission_requirements
from devportal.review.submission.second_approval import NO_FIRST_APPROVAL, drop_first_approval
from oidc.domains import branding
from oidc.models import Client
from oidc.projects.roles import report_project_event
from oidc.signals import renaming_client

# The maximum number of submissions of one app per day.
MAX_SUBMISSIONS = 10
# The maximum number of messages of one person in one review per hour, because each may send an email.
MAX_COMMENTS = 20


def draft_of(client: Client, actor: Account) -> AppReview:
    """Return the editable review, or a new draft if none is open. Raises ReviewNotAllowed, IllegalReviewStep."""
    with transaction.atomic():
        actor = lock_rights(client.project_id, actor)
        locked = lock_for_step(client.pk)
        require_developer(actor, locked.project)
        review = open_review(locked)
        if review is not None:
            return begin_step(review, actor, "edit")[0]
        last = locked.reviews.order_by("-number").first()
        number = last.number + 1 if last else 1
        snapshot = initial_snapshot(locked)
        review = AppReview(client=locked, number=number, snapshot=snapshot, created_at=clock.now())
        review.save()
        return review


@receiver(renaming_client)
def keep_name_in_review(sender: Any, client: Client, **kwargs: Any) -> None:
    """Refuse another name while the app is with the reviewers, who decide on the submitted one."""
    review = open_review(client)
    if review is not None and review.is_frozen:
        raise ValidationError(FROZEN_MESSAGE)


def save_submission(
    client: Client,
    actor: Account,
    values: Mapping[str, str],
    *,
    scopes: Mapping[str, str] | None = None,
    logo: ContentFile[bytes] | None = None,
    remove_logo: bool = False,
    for_reviewers: ForReviewers | None = None,
    seen: str = "",
) -> AppReview:
    """Save the draft. Omitted values stay. `scopes` maps each requested scope to its justification.

    Until an app is reviewed, the app's values change immediately, because people see it as not reviewed. Afterwards
    only the draft changes, and the approved values stay (docs/review.md#for-developers). `logo` comes from
    `oidc.domains.branding.clean_logo`. `seen` is the `draft_digest` of the values that the person saw; with "", changes
    since then are replaced. Raises ValidationError by field, ChangedMeanwhile, ReviewNotAllowed, IllegalReviewStep.
    """
    kept, submitted = branding.clean_branding(values), for_reviewers or ForReviewers()
    with logos.stored_logo(logo) as stored, transaction.atomic():
        review = draft_of(client, actor)
        before, working = dict(review.snapshot), working_snapshot_of(review.client, review)
        review.snapshot = working | kept
        if stored or remove_logo:
            review.snapshot["logo"] = stored
        if scopes is not None:
            review.snapshot["scopes"] = _checked(review.client, scopes)
        review.snapshot = write_for_reviewers(review.snapshot, submitted)
        if seen and seen != draft_digest(working) and draft_digest(review.snapshot) != draft_digest(working):
            raise ChangedMeanwhile
        review.save(update_fields=["snapshot"])
        if submitted.test_account or submitted.remove_test_account:
            keep_test_account(review, actor, submitted.test_account)
        if not review.client.is_verified:
            apply_snapshot(review.client, review.snapshot)
        was, now = changes(_audited(before), _audited(review.snapshot))
        if now:
            _report_edit(review, actor, was, now)
        logos.delete_if_unused(review.client, before.get("logo", ""))
    return review


def _report_edit(review: AppReview, actor: Account, before: Snapshot, after: Snapshot) -> None:
    client = review.client
    report_project_event("review.edited", client.project, actor, client.client_id, before=before, after=after)


def _audited(snapshot: Snapshot) -> Snapshot:
    """Return the values of a draft that the developers edit, without messages, which the audit trail does not store."""
    return {field: value for field, value in snapshot.items() if field not in (UNSENT, CIRCUMSTANCES)}


def apply_snapshot(client: Client, snapshot: Snapshot) -> None:
    """Copy the values of a snapshot to the client, so that people see them."""
    for field in branding.FIELD_VALIDATORS:
        setattr(client, field, snapshot[field])
    if snapshot["logo"] != (client.logo.name or ""):
        client.logo.name, client.logo_hash = snapshot["logo"], ""  # a task computes the hash of a reviewed app's logo
    client.save(update_fields=[*branding.FIELD_VALIDATORS, "logo", "logo_hash"])


def _checked(client: Client, scopes: Mapping[str, str]) -> dict[str, str]:
    if unknown := set(scopes) - set(reviewed_scopes()):
        raise ValidationError({"scopes": f"No review is needed for {', '.join(sorted(unknown))}."})
    names = [scope.name for scope in requestable_scopes(client)]
    if off := set(scopes) - set(names):
        raise ValidationError({"scopes": f"The API of {', '.join(sorted(off))} is turned off."})
    return {scope: clean_text(scopes[scope]) for scope in names if scope in scopes}


def start_over(client: Client, actor: Account, seen: str = "") -> AppReview:
    """Discard the changes since the last approval. Raises ReviewNotAllowed, IllegalReviewStep.

    `seen` is the `draft_digest` of the values that the person saw, "" for the present ones: others are not discarded.
    """
    with transaction.atomic():
        review = draft_of(client, actor)
        review, _ = begin_step(review, actor, "start_over")
        if seen and seen != draft_digest(working_snapshot_of(review.client, review)):
            raise IllegalReviewStep("The draft was changed after you opened the page, so nothing is discarded yet.")
        before = review.snapshot
        review.snapshot = approved_snapshot(review.client)
        review.save(update_fields=["snapshot"])
        _report_edit(review, actor, *changes(_audited(before), review.snapshot))
        logos.delete_if_unused(review.client, before.get("logo", ""))
    return review


def submit(client: Client, actor: Account, text: str = "") -> AppReview:
    """Submit the draft with an optional note. Raises IncompleteSubmission, ReviewNotAllowed, IllegalReviewStep."""
    with transaction.atomic():
        return _send(draft_of(client, actor), actor, "submit", Kind.SUBMITTED, text, {})


def resubmit(client: Client, actor: Account, text: str = "", answers: Mapping[str, str] | None = None) -> AppReview:
    """Resubmit after changes were requested. `answers` maps the code of each point to what was done about it.

    Answers saved with the draft count as well. Raises IncompleteSubmission, ReviewNotAllowed, IllegalReviewStep.
    """
    with transaction.atomic():
        return _send(draft_of(client, actor), actor, "resubmit", Kind.RESUBMITTED, text, answers or {})


def _send(review: AppReview, actor: Account, step: str, kind: str, text: str, answers: Mapping[str, str]) -> AppReview:
    review, side = begin_step(review, actor, step)
    snapshot, points = working_snapshot(review.client), points_of(review)
    unsent = snapshot.pop(UNSENT, {})
    note = clean_text(text) or unsent.get("note", "")
    given = {code: clean_text(said) for code, said in ({**unsent.get("answers", {}), **answers}).items()}
    answered = answers_to(points, given)
    items = submission_requirements(review.client, snapshot | {UNSENT: {"answers": answered}}, points)
    if lacking := missing_among(items):
        raise IncompleteSubmission(f"Not ready to be submitted: {'; '.join(item.title.lower() for item in lacking)}.")
    sent = ReviewEntry.objects.filter(
        project=review.client.project_id,
        client=review.client_id,
        kind__in=[Kind.SUBMITTED, Kind.RESUBMITTED],
        at__gt=clock.now() - timedelta(days=1),
    )
    if sent.count() >= MAX_SUBMISSIONS:
        raise IllegalReviewStep(
            "This app was submitted too often today. Try again tomorrow. Until then, you can still send messages."
        )
    if review.revision == 0:
        review.is_change = review.client.is_verified
    else:
        review.assignee = _reviewer_again(review)
    waited = _time_with_reviewers(review)
    review.baseline = baseline_snapshot(review.client)
    review.snapshot = snapshot | {CIRCUMSTANCES: circumstances_of(review.client, snapshot["scopes"])}
    review.status = Status.SUBMITTED
    review.revision += 1
    review.submitted_at, review.submitted_by = clock.now() - waited, actor
    # The decision on the previous revision stays in the timeline.
    review.decided_at = review.decided_by = None
    review.reasons, review.reason_text, review.decisions = [], "", {}
    # The reviewers are notified of this revision again (alerts.py).
    review.announced_at = review.late_notified_at = None
    review.glance = review.glance_at = None
    review.save()
    _keep_revision(review, actor, answered)
    details = {"name": snapshot["name"]} | ({"answers": answered} if answered else {})
    record_entry(kind, side, actor, review.client.project, review.client, review, text=note, details=details)
    return review


def _keep_revision(review: AppReview, actor: Account, answers: Mapping[str, str]) -> None:
    """Store the values of a submission, and have its pages checked after the commit."""
    row = ReviewRevision.objects.create(
        review=review,
        number=review.revision,
        snapshot=review.snapshot,
        answers=answers,
        sent_at=clock.now(),
        sent_by=actor,
    )
    transaction.on_commit(partial(queue_task, check_pages, row.pk), robust=True)


def _time_with_reviewers(review: AppReview) -> timedelta:
    """Return how long the reviewers had the earlier revisions of a review. A resubmission keeps this age."""
    if review.submitted_at is None or review.decided_at is None:
        return timedelta(0)
    return review.decided_at - review.submitted_at


def _reviewer_again(review: AppReview) -> Account | None:
    """Return who gets a resubmission: the assignee, or else the reviewer who requested the changes, if they still may.

    Another reviewer can take it at any time.
    """
    known = [one for one in (review.assignee, review.decided_by) if one is not None]
    return next((one for one in known if may_be_given(one, review.client.project, review)), None)


def send_submission(client: Client, actor: Account, text: str = "") -> AppReview:
    """Submit or resubmit the saved draft, depending on the status.

    Raises IncompleteSubmission, ReviewNotAllowed, IllegalReviewStep.
    """
    review = open_review(client)
    again = review is not None and review.status == Status.CHANGES_REQUESTED
    return resubmit(client, actor, text) if again else submit(client, actor, text)


@transaction.atomic
def withdraw(review: AppReview, actor: Account) -> AppReview:
    """Withdraw a submission. Its values stay for the next draft, except for the test account.

    Raises ReviewNotAllowed, IllegalReviewStep.
    """
    review, side = begin_step(review, actor, "withdraw")
    review.status = Status.WITHDRAWN
    review.decided_at = clock.now()
    drop_first_approval(review)
    review.test_account_encrypted = ""
    review.save(update_fields=["status", "decided_at", "test_account_encrypted", *NO_FIRST_APPROVAL])
    record_entry(Kind.WITHDRAWN, side, actor, review.client.project, review.client, review, details=_name(review))
    return review


@transaction.atomic
def answer(review: AppReview, actor: Account, text: str) -> ReviewEntry:
    """Add a message to the timeline, from either side.

    Raises IncompleteSubmission, ReviewNotAllowed, IllegalReviewStep.
    """
    review, side = begin_step(review, actor, "answer")
    said = required_text(text)
    hour_ago = clock.now() - timedelta(hours=1)
    lately = ReviewEntry.objects.filter(review=review, author=actor, kind=Kind.COMMENT, at__gt=hour_ago)
    if side == Side.DEVELOPER and lately.count() >= MAX_COMMENTS:
        raise IllegalReviewStep("Too many messages within one hour. Try again later.")
    client = review.client
    return record_entry(Kind.COMMENT, side, actor, client.project, client, review, text=said, details=_name(review))


def _name(review: AppReview) -> dict[str, Any]:
    return {"name": review.name}
