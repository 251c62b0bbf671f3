"""What happened to an account, for its owner to look up."""

from typing import ClassVar

from django.db import models

from accounts.models.people import Account


class SecurityEvent(models.Model):
    """A sign-in, or a change of what somebody signs in with; what each `kind` says is in accounts/activity/kinds.py."""

    class By(models.TextChoices):
        PERSON = "person", "the person"
        OPERATOR = "operator", "an operator"
        SERVICE = "service", "the service itself"

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="security_events", db_index=False)
    kind = models.CharField(max_length=40)
    at = models.DateTimeField()
    by = models.CharField(max_length=10, choices=By.choices, default=By.PERSON)
    # From where, in words; empty where nobody's browser was there, and for what an operator did.
    ip = models.GenericIPAddressField(null=True, blank=True)
    browser = models.CharField(max_length=80, blank=True)
    place = models.CharField(max_length=100, blank=True)
    details = models.JSONField(default=dict, blank=True)  # names for the sentence; never a secret

    class Meta:
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["account", "-at"], name="security_events_of_account"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.account_id} at {self.at}"
