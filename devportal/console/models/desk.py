"""What reviewers have beside the reviews: cases, internal notes, canned replies, and which mails they want."""

from typing import Any

from django.conf import settings
from django.db import models

from devportal.console.models.reviews import AppReview
from devportal.lib.messages import fill_in
from oidc.models import Client, Project


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

    class Event(models.TextChoices):
        """What the service notes in a case. The label is the text; its placeholders are the event's parameters."""

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

    project = models.ForeignKey(Project, models.CASCADE, related_name="review_cases")
    client = models.ForeignKey(
        settings.OAUTH2_PROVIDER_APPLICATION_MODEL, models.CASCADE, null=True, related_name="review_cases"
    )
    kind = models.CharField(max_length=20, choices=Kind.choices)
    text = models.TextField(blank=True)  # what people wrote
    # What the service noted: of each `code` (an Event) and `parameters`, the oldest first.
    events: "models.JSONField[Any, Any]" = models.JSONField(blank=True, default=list)
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

    @property
    def event_texts(self) -> list[str]:
        """The sentences of the events."""
        return [_event_text(self.Event(stored["code"]), stored["parameters"]) for stored in self.events]


def _event_text(event: ReviewCase.Event, parameters: dict[str, Any]) -> str:
    if event == ReviewCase.Event.TYPE_CHANGED:
        parameters = {name: Client.Type(value) for name, value in parameters.items()}
    return fill_in(event.label, parameters)


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
    mails_cases = models.BooleanField("mails about cases", default=True)

    class Meta:
        verbose_name_plural = "reviewer settings"

    def __str__(self) -> str:
        return f"Mails to {self.account}"
