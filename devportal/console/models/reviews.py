"""App reviews, and their timeline entries."""

from typing import Any

from django.conf import settings
from django.db import models

from oidc.models import Project


class AppReviewQuerySet(models.QuerySet["AppReview"]):
    def waiting(self) -> "AppReviewQuerySet":
        """Return the reviews that wait for a reviewer, oldest first, without those of deleted projects."""
        rows = self.filter(status__in=AppReview.FROZEN, client__project__deleted_at=None)
        return rows.order_by("submitted_at", "pk")


class AppReview(models.Model):
    """One round of review of an app; its steps are in `devportal/console/reviews/`.

    `snapshot` is what is asked for: `name`, `logo` (a stored file, or ""), `home_page_url`, `privacy_policy_url`,
    `terms_url`, `support_address`, `redirect_urls`, `sign_out_urls`, `scopes` with a justification each, and, in those
    sent since they were asked for, `places` (where each scope is used) and `demo_url`. `baseline` is what was in force
    when it was sent, {} for an app that was never approved.
    """

    class Status(models.TextChoices):
        DRAFT = "draft", "Draft"
        SUBMITTED = "submitted", "Submitted"
        IN_REVIEW = "in_review", "In review"
        CHANGES_REQUESTED = "changes_requested", "Changes requested"
        APPROVED = "approved", "Approved"
        REJECTED = "rejected", "Rejected"
        WITHDRAWN = "withdrawn", "Withdrawn"

    # Statuses in which the submission can't be edited, because reviewers have it.
    FROZEN = (Status.SUBMITTED, Status.IN_REVIEW)
    OPEN = (Status.DRAFT, *FROZEN, Status.CHANGES_REQUESTED)

    client = models.ForeignKey(settings.OAUTH2_PROVIDER_APPLICATION_MODEL, models.CASCADE, related_name="reviews")
    number = models.PositiveIntegerField()  # 1, 2, … of its client
    status = models.CharField(max_length=20, choices=Status.choices, default=Status.DRAFT)
    # The number of submissions. A decision names the revision that it is about.
    revision = models.PositiveIntegerField(default=0)
    # Whether the app was verified at submission: then this is a change, not a first review.
    is_change = models.BooleanField(default=False)
    snapshot: "models.JSONField[Any, Any]" = models.JSONField(default=dict)
    baseline: "models.JSONField[Any, Any]" = models.JSONField(default=dict)
    created_at = models.DateTimeField()
    submitted_at = models.DateTimeField(null=True, blank=True)
    submitted_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    assignee = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="assigned_reviews"
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    # Requested scope -> whether it was approved.
    decisions: "models.JSONField[Any, Any]" = models.JSONField(default=dict)
    # Codes of reviews.REASONS, and the reviewer's note.
    reasons: "models.JSONField[Any, Any]" = models.JSONField(default=list)
    reason_text = models.TextField(blank=True)
    # Encrypted: how the assigned reviewer signs in to the app. Deleted with the decision.
    test_account_encrypted = models.TextField(blank=True, default="")
    # Codes of the desk's checklist that were ticked for the approval, and by whom; None before.
    checked: "models.JSONField[Any, Any]" = models.JSONField(null=True, blank=True)
    # The first of two approvals (docs/review.md#two-approvals): by whom, when, and `revision`, `scopes`, `text`.
    first_approval_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", db_index=False
    )
    first_approval_at = models.DateTimeField(null=True, blank=True)
    first_approval: "models.JSONField[Any, Any]" = models.JSONField(null=True, blank=True)
    # When a second reviewer approved as well; None for an approval by one.
    second_approval_at = models.DateTimeField(null=True, blank=True)
    # When the developers objected to a rejection, and who had rejected it.
    appealed_at = models.DateTimeField(null=True, blank=True)
    appealed_from = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", db_index=False
    )
    # When the reviewers were told that it waits longer than REVIEW_TARGET_DAYS.
    late_told_at = models.DateTimeField(null=True, blank=True)
    # When the reviewers were told that this revision was submitted.
    announced_at = models.DateTimeField(null=True, blank=True)

    objects = AppReviewQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["client", "number"], name="one_review_per_client_and_number"),
            models.UniqueConstraint(
                fields=["client"],
                condition=models.Q(status__in=["draft", "submitted", "in_review", "changes_requested"]),
                name="one_open_review_per_client",
            ),
        ]
        indexes = [models.Index(fields=["status", "submitted_at"], name="reviews_by_age")]

    def __str__(self) -> str:
        return f"Review {self.number} of {self.snapshot.get('name') or self.client_id}"

    @property
    def is_open(self) -> bool:
        return self.status in self.OPEN

    @property
    def is_frozen(self) -> bool:
        """Whether the submission is with the reviewers, and can't be edited."""
        return self.status in self.FROZEN

    @property
    def label(self) -> str:
        """Label in the queue: "new", "changed", "resubmitted" or "appeal"."""
        if self.appealed_at is not None:
            return "appeal"
        if self.revision > 1:
            return "resubmitted"
        return "changed" if self.is_change else "new"


class ReviewEntry(models.Model):
    """An entry in the timeline of an app, or of a project (`client` is null): a step or a message."""

    class Kind(models.TextChoices):
        SUBMITTED = "submitted", "Submitted"
        RESUBMITTED = "resubmitted", "Resubmitted"
        WITHDRAWN = "withdrawn", "Withdrawn"
        ASSIGNED = "assigned", "Assigned"
        STARTED = "started", "Review started"
        COMMENT = "comment", "Comment"
        CHANGES_REQUESTED = "changes_requested", "Changes requested"
        APPROVED = "approved", "Approved"
        REJECTED = "rejected", "Rejected"
        APPEALED = "appealed", "Appealed"
        FIRST_APPROVAL = "first_approval", "First of two approvals"
        RENEWED = "renewed", "Looked at again"
        APPROVAL_WITHDRAWN = "approval_withdrawn", "Approval withdrawn"
        SUSPENDED = "suspended", "Project suspended"
        SUSPENSION_LIFTED = "suspension_lifted", "Suspension lifted"

    class Side(models.TextChoices):
        DEVELOPER = "developer", "Developer"
        REVIEWER = "reviewer", "Reviewer"

    project = models.ForeignKey(Project, models.CASCADE, related_name="+")
    client = models.ForeignKey(
        settings.OAUTH2_PROVIDER_APPLICATION_MODEL, models.CASCADE, null=True, related_name="review_entries"
    )
    review = models.ForeignKey(AppReview, models.CASCADE, null=True, related_name="entries")
    at = models.DateTimeField()
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    side = models.CharField(max_length=10, choices=Side.choices)
    kind = models.CharField(max_length=20, choices=Kind.choices)
    text = models.TextField(blank=True)
    reasons: "models.JSONField[Any, Any]" = models.JSONField(default=list)
    details: "models.JSONField[Any, Any]" = models.JSONField(default=dict)

    class Meta:
        verbose_name_plural = "review entries"
        indexes = [models.Index(fields=["project", "-id"], name="entries_of_a_project")]

    def __str__(self) -> str:
        return f"{self.kind} at {self.at}"


class ReviewRevision(models.Model):
    """What was sent with one submission of a review; the latest is the review's own snapshot."""

    review = models.ForeignKey(AppReview, models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()  # AppReview.revision at that time
    snapshot: "models.JSONField[Any, Any]" = models.JSONField()
    # The developers' answers to what the reviewers asked the last time: code of the reason -> text.
    answers: "models.JSONField[Any, Any]" = models.JSONField(default=dict)
    # What the addresses in it answered when they were fetched (reviews/evidence/page_checks.py); None before.
    page_checks: "models.JSONField[Any, Any]" = models.JSONField(null=True)
    sent_at = models.DateTimeField()
    sent_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["review", "number"], name="one_row_per_review_and_revision")]

    def __str__(self) -> str:
        return f"Revision {self.number} of {self.review}"
