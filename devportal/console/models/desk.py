"""What reviewers have beside the reviews: cases, internal notes, canned replies, and which mails they want."""

from django.conf import settings
from django.db import models

from devportal.console.models.reviews import AppReview
from oidc.models import Project


class ReviewCase(models.Model):
    """Something about a reviewed app or its project that a reviewer has to look into (docs/review.md#cases)."""

    class Kind(models.TextChoices):
        REPORT = "report", "Reported by people"
        RE_REVIEW = "re_review", "Review is due again"
        APPEAL = "appeal", "Appeal"
        DOMAIN_LOST = "domain_lost", "Domain lost"
        SECOND_APPROVAL = "second_approval", "Needs a second approval"
        CHANGED = "changed", "Changed after approval"

    class Outcome(models.TextChoices):
        IN_ORDER = "in_order", "Everything is in order"
        ACTED = "acted", "Something was done"

    project = models.ForeignKey(Project, models.CASCADE, related_name="review_cases")
    client = models.ForeignKey(
        settings.OAUTH2_PROVIDER_APPLICATION_MODEL, models.CASCADE, null=True, related_name="review_cases"
    )
    kind = models.CharField(max_length=20, choices=Kind.choices)
    text = models.TextField(blank=True)
    opened_at = models.DateTimeField()
    opened_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    assignee = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+")
    closed_at = models.DateTimeField(null=True, blank=True)
    closed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    outcome = models.CharField(max_length=20, choices=Outcome.choices, blank=True)
    outcome_text = models.TextField(blank=True)
    # When the reviewers were mailed that it was opened, and that it waits longer than CASE_TARGET_DAYS.
    announced_at = models.DateTimeField(null=True, blank=True)
    late_told_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            # Whatever is said of an app while a case is open belongs to that case.
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


class AppReport(models.Model):
    """What one person reported about an app."""

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


class DeskNote(models.Model):
    """A note that reviewers write for each other, on a review or a case; developers never read it."""

    review = models.ForeignKey(AppReview, models.CASCADE, null=True, related_name="notes")
    case = models.ForeignKey(ReviewCase, models.CASCADE, null=True, related_name="notes")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    at = models.DateTimeField()
    text = models.TextField()

    def __str__(self) -> str:
        return f"Note at {self.at}"


class CannedReply(models.Model):
    """A text that reviewers begin their notes with."""

    title = models.CharField(max_length=80, unique=True)
    text = models.TextField()

    class Meta:
        verbose_name_plural = "canned replies"
        ordering = ("title",)

    def __str__(self) -> str:
        return self.title


class ReviewerSettings(models.Model):
    """Which mails a reviewer wants; without a row, all of them."""

    account = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="+")
    mails_new = models.BooleanField("a mail for each new submission", default=True)
    mails_late = models.BooleanField("a mail for each submission that waits too long", default=True)
    mails_cases = models.BooleanField("mails about cases", default=True, db_default=True)

    class Meta:
        verbose_name_plural = "reviewer settings"

    def __str__(self) -> str:
        return f"Mails to {self.account}"
