"""Counts of sign-ins, by client: no person in them."""

from django.conf import settings
from django.db import models


class SignInCounts(models.Model):
    """How often one step of sign-ins to a client was taken in a period (oidc/sign_in_steps.py), and its error."""

    client = models.ForeignKey(
        settings.OAUTH2_PROVIDER_APPLICATION_MODEL,
        models.CASCADE,
        related_name="+",
        db_index=False,  # the constraints below begin with it
    )
    step = models.CharField(max_length=16)
    error = models.CharField(max_length=40, blank=True)
    count = models.PositiveBigIntegerField()

    class Meta:
        abstract = True


class SignInHour(SignInCounts):
    """The steps of an hour, kept for SIGN_IN_HOUR_DAYS."""

    hour = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["client", "hour", "step", "error"], name="one_count_of_steps_an_hour")
        ]
        indexes = [models.Index(fields=["hour"], name="sign_in_hours_by_age")]

    def __str__(self) -> str:
        return f"{self.count} {self.step} at {self.hour}"


class SignInDay(SignInCounts):
    """The steps of a day (UTC), kept for SIGN_IN_COUNT_DAYS."""

    day = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["client", "day", "step", "error"], name="one_count_of_steps_a_day")
        ]
        indexes = [models.Index(fields=["day"], name="sign_in_days_by_age")]

    def __str__(self) -> str:
        return f"{self.count} {self.step} on {self.day}"
