"""What a person allowed an app: the consent, and each authorization made under it."""

from typing import Any

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
    # Space-separated: everything the person has consented to and not taken back.
    scopes = models.TextField(blank=True, default="")
    first_authorized_at = models.DateTimeField()
    last_authorized_at = models.DateTimeField()
    removed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "client"], name="one_connection_per_account_and_client")
        ]

    def __str__(self) -> str:
        return f"{self.account} → {self.client}"


class Family(models.Model):
    """One authorization: everything that came from one code. Ending it is one update, and every check reads it."""

    connection = models.ForeignKey(Connection, models.CASCADE, related_name="families")
    scope = models.TextField()
    nonce = models.TextField(blank=True, default="")
    # When and how the person signed in, as of the authorization (OpenID Connect Core 2, RFC 8176).
    auth_time = models.DateTimeField()
    amr: "models.JSONField[Any, Any]" = models.JSONField(default=list)
    created_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    revoked_why = models.CharField(max_length=40, blank=True, default="")

    class Meta:
        verbose_name_plural = "families"

    def __str__(self) -> str:
        return f"Family {self.pk}"
