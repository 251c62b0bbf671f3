"""Appeals of developers: against a rejection, a withdrawn approval, or a suspension (docs/review.md#appeals)."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from accounts.models import Account
from core import clock
from devportal.review.cases import cases
from devportal.review.models import AppReview, ReviewCase, ReviewEntry
from devportal.review.rules.notifications import mail_reviewers_about_appeal
from devportal.review.rules.reasons import reason_texts
from devportal.review.rules.timeline import clean_text, record_entry
from devportal.review.rules.workflow import (
    IllegalReviewStep,
    IncompleteSubmission,
    Side,
    Status,
    begin_step,
    lock_for_step,
    may_decide,
    require_developer,
)
from oidc.models import Client, Project

Kind = ReviewEntry.Kind
APPEAL = ReviewCase.Kind.APPEAL
# A project or an app can have one appeal against a suspension or a withdrawal within this time.
APPEAL_EVERY = timedelta(days=30)
# The latest of these entries decides what can be appealed against.
_DECISIONS = (Kind.APPROVED, Kind.REJECTED, Kind.APPROVAL_WITHDRAWN)


@dataclass(frozen=True)
class AppealOffer:
    """A decision that developers may appeal against.

    `entry` is the decision, None if it is no longer stored. `until` is the end of the appeal period, None if there is
    no end. `case` is the open appeal. `again_at` is the time from which the next appeal is possible, None for now.
    """

    entry: ReviewEntry | None
    until: datetime | None = None
    case: ReviewCase | None = None
    again_at: datetime | None = None

    @property
    def is_rejection(self) -> bool:
        return self.entry is not None and self.entry.kind == Kind.REJECTED

    @property
    def is_suspension(self) -> bool:
        return self.entry is None or self.entry.kind == Kind.SUSPENDED

    @property
    def reasons(self) -> list[str]:
        """The texts of the decision's reasons."""
        return reason_texts(self.entry.reasons) if self.entry else []


# --- What there is to appeal against ---


def appeal_end(review: AppReview) -> datetime | None:
    """Return the end of a rejection's appeal period; None in any other state."""
    if review.status != Status.REJECTED or review.decided_at is None:
        return None
    return review.decided_at + timedelta(days=settings.APPEAL_DAYS)


def _newer(client: Any, number: Any) -> "QuerySet[AppReview]":
    """Return the later reviews of an app that prevent an appeal: all that were not withdrawn."""
    return AppReview.objects.filter(client=client, number__gt=number).exclude(status=Status.WITHDRAWN)


def _why_no_appeal(review: AppReview, has_newer: bool) -> str:
    """Return why a rejection can't be appealed against, or "" if it can."""
    end = appeal_end(review)
    if review.appealed_at is not None:
        return "You have already appealed once, and the answer is final. You can send a new version."
    if end is not None and clock.now() >= end:
        return f"An appeal is possible for {settings.APPEAL_DAYS} days. You can send a new version."
    if has_newer:
        return "You have started a new version since then. Finish that one instead."
    return ""


def offer_for_client(client: Client) -> AppealOffer | None:
    """Return the decision about an app that may be appealed against, or the open appeal; None if there is neither."""
    entries = ReviewEntry.objects.filter(project=client.project_id, client=client, kind__in=_DECISIONS)
    has_newer = Exists(_newer(OuterRef("client"), OuterRef("review__number")))
    entry: Any = entries.select_related("review").annotate(has_newer=has_newer).order_by("-pk").first()
    if entry is None or entry.kind == Kind.APPROVED:
        return None
    if entry.kind == Kind.APPROVAL_WITHDRAWN:
        return _offer_of_case(entry, client.project, client)
    if entry.review is None or entry.review.status != Status.REJECTED:
        return None
    if _why_no_appeal(entry.review, entry.has_newer):
        return None
    return AppealOffer(entry, until=appeal_end(entry.review))


def offer_for_project(project: Project) -> AppealOffer | None:
    """Return the suspension that may be appealed against, or the open appeal; None if there is neither."""
    if not project.is_suspended:
        return None
    entries = ReviewEntry.objects.filter(project=project, client=None, kind=Kind.SUSPENDED)
    return _offer_of_case(entries.order_by("-pk").first(), project)


def _offer_of_case(entry: ReviewEntry | None, project: Project, client: Client | None = None) -> AppealOffer:
    """Return the offer of an appeal that opens a case: one at a time, and one per APPEAL_EVERY."""
    rows = ReviewCase.objects.filter(kind=APPEAL, project=project, client=client)
    last = rows.order_by("-opened_at", "-pk").first()
    if last is None:
        return AppealOffer(entry)
    if last.is_open:
        return AppealOffer(entry, case=last)
    again_at = last.opened_at + APPEAL_EVERY
    return AppealOffer(entry, again_at=again_at if again_at > clock.now() else None)


# --- Appealing ---


def appeal_rejection(review: AppReview, actor: Account, text: str) -> AppReview:
    """Send a rejected review to the reviewers again, unchanged. The reviewer who rejected it can't decide on it again.

    Possible once for a review, within APPEAL_DAYS of the rejection, unless a newer review was started. Raises
    IncompleteSubmission, ReviewNotAllowed, IllegalReviewStep.
    """
    with transaction.atomic():
        review, side = begin_step(review, actor, "appeal")
        if refusal := _why_no_appeal(review, _newer(review.client_id, review.number).exists()):
            raise IllegalReviewStep(refusal)
        said = _reason(text)
        client, rejected_by = review.client, review.decided_by
        review.status = Status.SUBMITTED
        review.submitted_at = review.appealed_at = clock.now()
        review.appealed_from, review.late_notified_at = rejected_by, None
        # The rejection stays in the timeline.
        review.decided_at = review.decided_by = None
        review.reasons, review.reason_text, review.decisions = [], "", {}
        review.save()
        if review.assignee is not None and not may_decide(review.assignee, client.project, review):
            review.assignee = None
            review.save(update_fields=["assignee"])
        details = {"name": review.snapshot.get("name", "")}
        record_entry(Kind.APPEALED, side, actor, client.project, client, review, text=said, details=details)
        mail_reviewers_about_appeal(review, said, {rejected_by.pk} if rejected_by else set())
    return review


def appeal_withdrawal(client: Client, actor: Account, text: str) -> ReviewCase:
    """Open a case against the withdrawal of an app's approval or scopes; one at a time, and one in 30 days.

    Raises IncompleteSubmission, ReviewNotAllowed, IllegalReviewStep.
    """
    with transaction.atomic():
        locked = lock_for_step(client.pk)
        require_developer(actor, locked.project)
        offer = offer_for_client(locked)
        if offer is None or offer.is_rejection:
            raise IllegalReviewStep("There is no longer anything to appeal against.")
        return _open(offer, locked.project, locked, actor, text)


def appeal_suspension(project: Project, actor: Account, text: str) -> ReviewCase:
    """Open a case against the suspension of a project; one at a time, and one in 30 days.

    The caller locks the project. Raises IncompleteSubmission, ReviewNotAllowed, IllegalReviewStep.
    """
    with transaction.atomic():
        row = Project.objects.select_for_update(no_key=True).filter(pk=project.pk).first()
        if row is None or row.is_deleted:
            raise IllegalReviewStep("This project is deleted.")
        require_developer(actor, row)
        offer = offer_for_project(row)
        if offer is None:
            raise IllegalReviewStep("This project is no longer suspended.")
        return _open(offer, row, None, actor, text)


def _open(offer: AppealOffer, project: Project, client: Client | None, actor: Account, text: str) -> ReviewCase:
    if offer.case is not None:
        raise IllegalReviewStep("Your appeal is already with the reviewers.")
    if offer.again_at is not None:
        raise IllegalReviewStep(
            f"One appeal is possible in 30 days. You can appeal again from {offer.again_at:%-d %B %Y}."
        )
    said = _reason(text)
    case = cases.open_case(APPEAL, project, client, text=said, actor=actor)
    details = {"name": client.name if client else project.name, "case": case.pk}
    record_entry(Kind.APPEALED, Side.DEVELOPER, actor, project, client, text=said, details=details)
    mail_reviewers_about_appeal(case, said, cases.decided_against(case))
    return case


def _reason(text: str) -> str:
    said = clean_text(text)
    if not said:
        raise IncompleteSubmission("Write what the reviewers should see differently, and why.")
    return said
