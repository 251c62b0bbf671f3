"""Tables of the console: audit trail, sign-in log, counts of sign-ins, notices, and tokens of submitted forms."""

from typing import Any

from django.conf import settings
from django.db import models

from core.database.postgres.replica import table_from_replica
from core.time_zones import in_utc
from oidc.sign_in_log.steps import Outcome
from oidc.values.reasons import developer_text


@table_from_replica
class AuditEvent(models.Model):
    """An audit event: an action of a person or of the service. Rows are never changed, and only deleted by age.

    `actor_email` is the actor's address at that time. Deleting the account empties it, and `target` where that
    is their address.
    """

    at = models.DateTimeField()
    action = models.CharField(max_length=60)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", db_index=False)
    actor_email = models.CharField(max_length=254, blank=True)
    ip = models.GenericIPAddressField(null=True)
    request_id = models.CharField(max_length=64, blank=True)
    # A public id, not a foreign key: events outlive projects.
    project = models.CharField(max_length=32, blank=True)
    target = models.CharField(max_length=255, blank=True)
    # The account whose email address `target` contains, if it is one.
    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", db_index=False)
    before: "models.JSONField[Any, Any]" = models.JSONField(default=dict)
    after: "models.JSONField[Any, Any]" = models.JSONField(default=dict)
    details: "models.JSONField[Any, Any]" = models.JSONField(default=dict)

    class Meta:
        verbose_name = "event"
        verbose_name_plural = "audit trail"
        indexes = [
            models.Index(fields=["project", "-id"], name="audit_of_a_project"),
            models.Index(fields=["actor", "-id"], name="audit_of_an_actor"),
            models.Index(fields=["person", "-id"], name="audit_of_a_person"),
            models.Index(fields=["request_id"], name="audit_by_request_id"),
            models.Index(fields=["target", "-id"], name="audit_of_a_target"),
            models.Index(fields=["action", "-id"], name="audit_of_an_action"),
            models.Index(fields=["at"], name="audit_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.target}"


class SignInCounts(models.Model):
    """The count of one step and error of sign-ins to a client in a period (oidc/sign_in_log/steps.py)."""

    client = models.ForeignKey(
        settings.OAUTH2_PROVIDER_APPLICATION_MODEL,
        models.CASCADE,
        related_name="+",
        db_index=False,  # the constraints below begin with this column
    )
    step = models.CharField(max_length=16)
    error = models.CharField(max_length=40, blank=True)
    count = models.PositiveBigIntegerField()

    class Meta:
        abstract = True


class SignInHour(SignInCounts):
    """The counts of an hour, kept for SIGN_IN_HOUR_DAYS."""

    hour = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["client", "hour", "step", "error"], name="one_count_of_steps_an_hour")
        ]
        indexes = [models.Index(fields=["hour"], name="sign_in_hours_by_age")]

    def __str__(self) -> str:
        return f"{self.count} {self.step} at {self.hour}"


class SignInDay(SignInCounts):
    """The counts of a day (UTC), kept for SIGN_IN_COUNT_DAYS."""

    day = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["client", "day", "step", "error"], name="one_count_of_steps_a_day")
        ]
        indexes = [models.Index(fields=["day"], name="sign_in_days_by_age")]

    def __str__(self) -> str:
        return f"{self.count} {self.step} on {self.day}"


class IdempotencyToken(models.Model):
    """The idempotency token of a processed form, kept for a day."""

    token = models.CharField(max_length=32, unique=True)
    account = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    at = models.DateTimeField(db_index=True)
    # The public id of the created object, to which a repeated submission redirects. Never a secret.
    made = models.CharField(max_length=255, blank=True, default="")

    class Meta:
        db_table = "console_sentform"

    def __str__(self) -> str:
        return f"{self.token[:6]}… at {self.at}"


@table_from_replica
class SignInEvent(models.Model):
    """One step of a sign-in to a client, without credentials and personal data."""

    Outcome = Outcome

    client = models.ForeignKey(
        settings.OAUTH2_PROVIDER_APPLICATION_MODEL,
        models.CASCADE,
        verbose_name="app",
        related_name="sign_ins",
        db_index=False,  # an index below begins with this column
    )
    # The client's project, for the log of a project. Rows are deleted with their client, so no constraint is checked.
    project = models.ForeignKey(
        "oidc.Project", models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False, editable=False
    )
    at = models.DateTimeField()
    endpoint = models.CharField(max_length=12)  # one of sign_in_steps.Endpoint
    outcome = models.CharField(max_length=10, choices=Outcome.choices)
    # The step that it was counted as (sign_in_steps.Step), "" if it was not counted.
    step = models.CharField(max_length=16, blank=True)
    error = models.CharField(max_length=40, blank=True)
    # A code of oidc/values/reasons.py, and the values of the placeholders in its text.
    reason = models.CharField(max_length=40, blank=True)
    parameters: "models.JSONField[Any, Any]" = models.JSONField(default=dict)
    redirect_uri = models.TextField(blank=True)  # as received, without parts that look like secrets
    request_id = models.CharField(max_length=64)
    # The token family (oidc.models.TokenFamily), so that the steps of one sign-in can be found. None for a step without
    # a family, such as a refused request.
    family = models.BigIntegerField(null=True)

    class Meta:
        verbose_name = "entry"
        verbose_name_plural = "sign-in log"
        indexes = [
            models.Index(fields=["client", "-id"], name="sign_ins_of_a_client"),
            models.Index(fields=["project", "-id"], name="sign_ins_of_a_project"),
            models.Index(fields=["request_id"], name="sign_ins_by_request_id"),
            models.Index(fields=["at"], name="sign_ins_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.outcome} at {in_utc(self.at)}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.project_id = self.client.project_id
        super().save(*args, **kwargs)

    @property
    def reason_text(self) -> str:
        """The reason as a sentence for the app's developers, or "" without one."""
        return developer_text(self.reason, self.parameters) if self.reason else ""


class Notice(models.Model):
    """A notice to one member of a project about something that happened there (notices/kinds.py).

    `details` holds codes and values for the texts, and no email addresses: people are foreign keys.
    """

    project = models.ForeignKey("oidc.Project", models.CASCADE, related_name="notices")
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        related_name="notices",
        db_index=False,  # an index below begins with this column
    )
    client = models.ForeignKey(settings.OAUTH2_PROVIDER_APPLICATION_MODEL, models.SET_NULL, null=True, related_name="+")
    kind = models.CharField(max_length=40)  # a notices.kinds.NoticeKind
    details: "models.JSONField[Any, Any]" = models.JSONField(default=dict)
    # The member who did it, and the person whom it is about.
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    at = models.DateTimeField()
    # Whether the console shows it. The others are only mailed.
    in_console = models.BooleanField(default=True)
    read_at = models.DateTimeField(null=True)
    # Whether the next email to this member will contain it.
    waits_for_mail = models.BooleanField(default=False)

    class Meta:
        indexes = [
            models.Index(fields=["account", "-id"], name="notices_of_a_person"),
            models.Index(
                fields=["account", "project"],
                condition=models.Q(in_console=True, read_at=None),
                name="unread_notices",
            ),
            models.Index(
                fields=["account", "project"], condition=models.Q(waits_for_mail=True), name="notices_to_mail"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} at {self.at}"

    @property
    def client_name(self) -> str:
        """The name that the client had, "" for a notice about no client."""
        return str(self.details.get("client", ""))


class NoticeCause(models.Model):
    """A cause of notices. Rows keep one cause from raising notices twice, and limit the number of notices.

    `once` identifies the cause in its project and kind. It is random for a cause that may happen again.
    """

    project = models.ForeignKey("oidc.Project", models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=40)
    once = models.CharField(max_length=100)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "kind", "once"], name="one_notice_per_project_kind_and_cause")
        ]
        indexes = [
            models.Index(fields=["project", "kind", "at"], name="recent_causes_of_notices"),
            models.Index(fields=["at"], name="causes_of_notices_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.once}"


class NoticeSettings(models.Model):
    """The notices that a member of a project wants, and when the last email with notices was sent to them.

    `choices` has the topics whose switches differ from the defaults of the member's role, each with `console` and
    `mail` (notices/choices.py).
    """

    project = models.ForeignKey("oidc.Project", models.CASCADE, related_name="+", db_index=False)
    account = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="notice_settings")
    choices: "models.JSONField[Any, Any]" = models.JSONField(default=dict)
    mailed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "account"], name="one_row_of_notice_settings_per_member")
        ]

    def __str__(self) -> str:
        return f"{self.account} in {self.project}"
