"""Consents (Connection), and people who count toward a user limit without one (TakenPlace)."""

from datetime import datetime

from django.conf import settings
from django.db import models


class Connection(models.Model):
    """A person's consent to an app, shown under Connected apps.

    Removing access empties `scopes` and sets `removed_at`. The row stays, because the project's user limit counts
    everyone who has ever authorized one of its unreviewed apps. It also stays, anonymized, when the account is deleted.
    """

    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="connections"
    )
    client = models.ForeignKey(settings.OAUTH2_PROVIDER_APPLICATION_MODEL, models.CASCADE, related_name="connections")
    subject = models.ForeignKey("accounts.PairwiseSubject", models.SET_NULL, null=True, blank=True)
    # Space-separated: the scopes that the person has granted and not revoked.
    scopes = models.TextField(blank=True, default="")
    # Space-separated: the optional scopes that the person was asked for and left out. None of them is in `scopes`.
    left_out = models.TextField(blank=True, default="")
    # The part of `scopes` that the person granted at hosts that the app's review did not cover: space-separated scopes
    # by host (docs/review.md#hosts). Null for none.
    scopes_outside_review = models.JSONField(null=True, blank=True, editable=False)
    # Whether the first consent was given at such a host, so that the person counts toward the project's user limit.
    joined_outside_review = models.BooleanField(default=False, editable=False)
    first_authorized_at = models.DateTimeField()
    last_authorized_at = models.DateTimeField()
    removed_at = models.DateTimeField(null=True, blank=True)

    # Whether the row was created in this transaction, so that nothing refers to it yet. Not a column.
    is_first_consent = False
    # `last_authorized_at` before this transaction changed it; None if it did not. Not a column.
    authorized_before: datetime | None = None

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "client"], name="one_connection_per_account_and_client")
        ]
        indexes = [
            models.Index(
                fields=["client"], condition=models.Q(joined_outside_review=True), name="joined_outside_review"
            )
        ]

    def __str__(self) -> str:
        return f"{self.account} → {self.client}"


class TakenPlace(models.Model):
    """A person who permanently counts toward a project's user limit (docs/review.md#people).

    The app that they authorized was deleted, or their account was. In the second case `account` is null.
    """

    project = models.ForeignKey("oidc.Project", models.CASCADE, related_name="taken_places")
    account = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "account"], name="one_place_per_project_and_account")]

    def __str__(self) -> str:
        return f"{self.account} in {self.project}"
