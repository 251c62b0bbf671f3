"""Tables of app review: reviews with their entries and revisions, cases, reports, notes and canned replies."""

from typing import Any

from django.conf import settings
from django.db import models

from core.messages import fill_in
from oidc.models import Client, Project


class AppReviewQuerySet(models.QuerySet["AppReview"]):
    def waiting(self) -> "AppReviewQuerySet":
        """Return the reviews that wait for a reviewer, oldest first, except those of deleted projects."""
        rows = self.filter(status__in=AppReview.FROZEN, client__project__deleted_at=None)
        return rows.order_by("submitted_at", "pk")


class AppReview(models.Model):
    """One round of review of an app.

    `snapshot` holds the submitted values: `name`, `logo` (a stored file, or ""), `home_page_url`, `privacy_policy_url`,
    `terms_url`, `support_address`, `type`, `redirect_urls`, `sign_out_urls`, `scopes` with a justification each,
    `places` (where each scope is used) and `demo_url`. `baseline` holds the values in force at submission, {} for
    an app that was never approved.
    """

    class Status(models.TextChoices):
        DRAFT = "draft", "Draft"
        SUBMITTED = "submitted", "Submitted"
        IN_REVIEW = "in_review", "In review"
        CHANGES_REQUESTED = "changes_requested", "Changes requested"
        APPROVED = "approved", "Approved"
        REJECTED = "rejected", "Rejected"
        WITHDRAWN = "withdrawn", "Withdrawn"

    # Statuses in which the submission is with the reviewers and can't be edited.
    FROZEN = (Status.SUBMITTED, Status.IN_REVIEW)
    OPEN = (Status.DRAFT, *FROZEN, Status.CHANGES_REQUESTED)
    # Statuses in which the snapshot may be a draft that the developers have changed since their last submission.
    REDRAFTED = (Status.CHANGES_REQUESTED, Status.WITHDRAWN)

    client = models.ForeignKey(settings.OAUTH2_PROVIDER_APPLICATION_MODEL, models.CASCADE, related_name="reviews")
    number = models.PositiveIntegerField()  # 1, 2, … for each client
    status = models.CharField(max_length=20, choices=Status.choices, default=Status.DRAFT)
    # The number of submissions. A decision names its revision.
    revision = models.PositiveIntegerField(default=0)
    # Whether the app was verified at submission: then this is a change, not a first review.
    is_change = models.BooleanField(default=False)
    snapshot: "models.JSONField[Any, Any]" = models.JSONField(default=dict)
    baseline: "models.JSONField[Any, Any]" = models.JSONField(default=dict)
    created_at = models.DateTimeField()
    # Since when it waits for reviewers, for its place in the queue: when it was first submitted, plus the time that the
    # developers had it to make changes. ReviewRevision.sent_at is when each revision was submitted.
    submitted_at = models.DateTimeField(null=True, blank=True)
    submitted_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    assignee = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="assigned_reviews"
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    # Requested scope -> whether it was approved.
    decisions: "models.JSONField[Any, Any]" = models.JSONField(default=dict)
    # Codes of reasons.REASONS, and the reviewer's note.
    reasons: "models.JSONField[Any, Any]" = models.JSONField(default=list)
    reason_text = models.TextField(blank=True)
    # The encrypted test account for the assigned reviewer. Deleted with the decision.
    test_account_encrypted = models.TextField(blank=True, default="")
    # The checklist items that were ticked for the approval, and by whom (checklist.py). None before.
    checked: "models.JSONField[Any, Any]" = models.JSONField(null=True, blank=True)
    # The first of two approvals (docs/review.md#two-approvals): by whom, when, and `revision`, `scopes`, `text` and
    # `domains`.
    first_approval_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", db_index=False
    )
    first_approval_at = models.DateTimeField(null=True, blank=True)
    first_approval: "models.JSONField[Any, Any]" = models.JSONField(null=True, blank=True)
    # When a second reviewer also approved. None for an approval by one reviewer.
    second_approval_at = models.DateTimeField(null=True, blank=True)
    # When the developers appealed against a rejection, and who had rejected it.
    appealed_at = models.DateTimeField(null=True, blank=True)
    appealed_from = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", db_index=False
    )
    # When the reviewers were notified that it waits longer than REVIEW_TARGET_DAYS.
    late_notified_at = models.DateTimeField(null=True, blank=True)
    # When the reviewers were notified that this revision was submitted.
    announced_at = models.DateTimeField(null=True, blank=True)
    # What the queue shows of the evidence, and since when (evidence/glance.py). None until it was gathered.
    glance: "models.JSONField[Any, Any]" = models.JSONField(null=True, blank=True)
    glance_at = models.DateTimeField(null=True, blank=True)

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
        return f"Review {self.number} of {self.name or self.client_id}"

    @property
    def name(self) -> str:
        """The app's name for reviewers: the submitted one, or the client's if the snapshot may be a draft again."""
        return str(self.client.name if self.status in self.REDRAFTED else self.snapshot.get("name") or "")

    @property
    def submission(self) -> str:
        """The number of the review and of its latest submission, with which a form tells what its page showed."""
        return f"{self.number}.{self.revision}"

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
    """A step or message in the timeline of an app, or of a project (`client` is null)."""

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
        RENEWED = "renewed", "Re-review passed"
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
    """The values of one submission of a review. The latest ones are the review's snapshot."""

    review = models.ForeignKey(AppReview, models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()  # AppReview.revision at that time
    snapshot: "models.JSONField[Any, Any]" = models.JSONField()
    # The developers' answers to the last requests of the reviewers: code of the reason -> text.
    answers: "models.JSONField[Any, Any]" = models.JSONField(default=dict)
    # The results of the page checks (evidence/page_checks.py). None before.
    page_checks: "models.JSONField[Any, Any]" = models.JSONField(null=True)
    sent_at = models.DateTimeField()
    sent_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["review", "number"], name="one_row_per_review_and_revision")]

    def __str__(self) -> str:
        return f"Revision {self.number} of {self.review}"


class ReviewCase(models.Model):
    """A matter about a reviewed app or its project that a reviewer has to check (docs/review.md#cases)."""

    class Kind(models.TextChoices):
        REPORT = "report", "Reported by people"
        RE_REVIEW = "re_review", "Review is due again"
        APPEAL = "appeal", "Appeal"
        DOMAIN_LOST = "domain_lost", "Domain lost"
        SECOND_APPROVAL = "second_approval", "Needs a second approval"
        CHANGED = "changed", "Changed after submission"
        SCOPE_REVIEW = "scope_review", "Scope needs a review"

    class Outcome(models.TextChoices):
        IN_ORDER = "in_order", "Everything is in order"
        ACTED = "acted", "Something was done"

    class Event(models.TextChoices):
        """An event that the service notes in a case. The label is its text; the placeholders are the parameters."""

        DOMAIN_LOST = "domain_lost", "{domain} is no longer proven: its proof was missing for too long."
        DOMAIN_NARROWED = "domain_narrowed", "{domain} is now proven by a file. Its subdomains are no longer proven."
        DOMAIN_REMOVED = "domain_removed", "{domain} was removed by the project."
        DOMAIN_PROVEN = "domain_proven", "{domain} is proven again."
        DOMAIN_WIDENED = "domain_widened", "{domain} is proven by DNS again, with its subdomains."
        TYPE_CHANGED = "type_changed", "The type was changed from “{before}” to “{after}”."
        PROJECT_TRANSFERRED = "project_transferred", "The project was transferred."
        OWNER_ADDED = "owner_added", "The project has a new owner."
        REVIEW_APPROVED = "review_approved", "Review {number} was approved."
        APPROVAL_WITHDRAWN = "approval_withdrawn", "The approval was withdrawn."
        SCOPE_NEEDS_REVIEW = "scope_needs_review", "The app has the scope {scope}, which now needs a review."
        EARLIER_LEFT_OUT = "earlier_left_out", "Earlier events are left out here. The audit trail has all of them."

    project = models.ForeignKey(Project, models.CASCADE, related_name="review_cases")
    client = models.ForeignKey(
        settings.OAUTH2_PROVIDER_APPLICATION_MODEL, models.CASCADE, null=True, related_name="review_cases"
    )
    kind = models.CharField(max_length=20, choices=Kind.choices)
    text = models.TextField(blank=True)  # what people wrote
    # The events noted by the service, oldest first, each with `code` (an Event) and `parameters`.
    events: "models.JSONField[Any, Any]" = models.JSONField(blank=True, default=list)
    opened_at = models.DateTimeField()
    opened_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    assignee = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+")
    closed_at = models.DateTimeField(null=True, blank=True)
    closed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    outcome = models.CharField(max_length=20, choices=Outcome.choices, blank=True)
    outcome_text = models.TextField(blank=True)
    # When the reviewers were notified that it was opened, and that it waits longer than CASE_TARGET_DAYS.
    announced_at = models.DateTimeField(null=True, blank=True)
    late_notified_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = "case"
        constraints = [
            # An app has one open case of each kind. Further reports and events are added to it.
            models.UniqueConstraint(
                fields=["client", "kind"],
                condition=models.Q(closed_at=None, client__isnull=False),
                name="one_open_case_per_app_and_kind",
            ),
            models.UniqueConstraint(
                fields=["project", "kind"],
                condition=models.Q(closed_at=None, client=None),
                name="one_open_case_per_project_and_kind",
            ),
        ]
        indexes = [models.Index(fields=["closed_at", "opened_at"], name="cases_by_age")]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.client.name if self.client else self.project.name}"

    @property
    def is_open(self) -> bool:
        return self.closed_at is None

    @property
    def event_texts(self) -> list[str]:
        """The texts of the events."""
        return [_event_text(self.Event(stored["code"]), stored["parameters"]) for stored in self.events]


def _event_text(event: ReviewCase.Event, parameters: dict[str, Any]) -> str:
    if event == ReviewCase.Event.TYPE_CHANGED:
        parameters = {name: Client.Type(value) for name, value in parameters.items()}
    return fill_in(event.label, parameters)


class AppReport(models.Model):
    """A person's report about an app."""

    class Reason(models.TextChoices):
        PRETENDS = "pretends", "It pretends to be another app or company"
        MISUSES_DATA = "misuses_data", "It misuses what it reads from my account"
        DECEIVES = "deceives", "It asks for passwords or money under false pretences"
        HARMFUL = "harmful", "Its content is harmful or against the law"
        OTHER = "other", "Something else"

    case = models.ForeignKey(ReviewCase, models.CASCADE, related_name="reports")
    reporter = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    reason = models.CharField(max_length=20, choices=Reason.choices)
    text = models.TextField(blank=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.reason} at {self.at}"


class InternalNote(models.Model):
    """A note that reviewers write for each other on a review or a case. Developers never read it."""

    review = models.ForeignKey(AppReview, models.CASCADE, null=True, related_name="notes")
    case = models.ForeignKey(ReviewCase, models.CASCADE, null=True, related_name="notes")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    at = models.DateTimeField()
    text = models.TextField()

    def __str__(self) -> str:
        return f"Note at {self.at}"


class CannedReply(models.Model):
    """A text that reviewers can begin a note with."""

    title = models.CharField(max_length=80, unique=True)
    text = models.TextField()

    class Meta:
        verbose_name_plural = "canned replies"
        ordering = ("title",)

    def __str__(self) -> str:
        return self.title


class ReviewerSettings(models.Model):
    """The mails that a reviewer wants. Without a row they get all of them."""

    account = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="+")
    mails_new = models.BooleanField("a mail for each new submission", default=True)
    mails_late = models.BooleanField("a mail for each submission that waits too long", default=True)
    mails_cases = models.BooleanField("mails about cases", default=True)

    class Meta:
        verbose_name_plural = "reviewer settings"

    def __str__(self) -> str:
        return f"Mails to {self.account}"
