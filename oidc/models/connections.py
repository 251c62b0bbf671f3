"""Consents (Connection), and the token families issued under them (Family)."""

from datetime import datetime

from django.conf import settings
from django.db import models


class Connection(models.Model):
    """A person's consent to an app: the row under Connected apps and the unit of the 100-person count.

    Removing access empties `scopes` and sets `removed_at`; the row stays, because the cap counts everyone who
    ever authorized the app. For the same reason it outlives the account, without naming anybody.
    """

    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="connections"
    )
    client = models.ForeignKey(settings.OAUTH2_PROVIDER_APPLICATION_MODEL, models.CASCADE, related_name="connections")
    subject = models.ForeignKey("accounts.PairwiseSubject", models.SET_NULL, null=True, blank=True)
    # Space-separated: the scopes that the person has granted and not revoked.
    scopes = models.TextField(blank=True, default="")
    # Space-separated: the optional scopes that the person was asked for and left out, none of them in `scopes`. A
    # process of the version before inserts rows without the column.
    left_out = models.TextField(blank=True, default="", db_default="")
    # What of `scopes` the person granted at hosts that the app's review had not taken in, by host: scopes separated by
    # spaces (docs/review.md#hosts). Null for none.
    scopes_outside_review = models.JSONField(null=True, blank=True, editable=False)
    first_authorized_at = models.DateTimeField()
    last_authorized_at = models.DateTimeField()
    removed_at = models.DateTimeField(null=True, blank=True)

    # Whether the row was made in this transaction, so that nothing can hang on it yet.
    is_first_consent = False
    # `last_authorized_at` as it was before this transaction changed it; None in one that did not.
    authorized_before: datetime | None = None

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "client"], name="one_connection_per_account_and_client")
        ]

    def __str__(self) -> str:
        return f"{self.account} → {self.client}"
