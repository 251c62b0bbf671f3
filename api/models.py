"""API keys, reports of leaked credentials, usage counts and the request log."""

from typing import Any

from django.conf import settings
from django.db import models

from core import clock
from core.database.postgres.replica import table_from_replica
from oidc.models.credentials import Credential


class ApiKey(Credential):
    """An API key: it reads its owner's account, with the owner's subject in its project.

    The raw key is `prefix + public_id + "_" + secret + checksum`.
    """

    project = models.ForeignKey("oidc.Project", models.CASCADE, related_name="api_keys")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_keys")
    subject = models.ForeignKey("accounts.PairwiseSubject", models.CASCADE)
    public_id = models.CharField(max_length=16, unique=True)
    name = models.CharField(max_length=100)
    # Space-separated scopes; a key may have none.
    permissions = models.TextField(blank=True, default="")

    class Meta(Credential.Meta):
        verbose_name = "API key"

    def __str__(self) -> str:
        return f"{self.name} (…{self.last_four})"

    @property
    def masked(self) -> str:
        """The part of the key that pages show: everything except its secret."""
        return f"{settings.API_KEY_PREFIX}{self.public_id}…{self.last_four}"


class LeakReport(models.Model):
    """A text that was reported as a leaked credential: its SHA-256, until it is handled (api/leaked_credentials.py)."""

    digest = models.CharField(max_length=64)
    source = models.CharField(max_length=20)  # a member of `Source`
    url = models.CharField(max_length=500, blank=True)  # where it was found
    received_at = models.DateTimeField(auto_now_add=True)
    attempts = models.PositiveSmallIntegerField(default=0)  # that failed
    due_at = models.DateTimeField(default=clock.now)

    def __str__(self) -> str:
        return f"{self.source} at {self.received_at}"


class ScannerKeys(models.Model):
    """The public keys of secret scanners, as they were last fetched from LEAK_REPORT_KEYS."""

    url = models.CharField(max_length=500, unique=True)
    document = models.TextField()
    fetched_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "scanner keys"

    def __str__(self) -> str:
        return f"{self.url} at {self.fetched_at}"


# Upper bounds of the latency classes, in milliseconds; the last class has none.
LATENCY_EDGES_MS = (5, 10, 25, 50, 100, 250, 1000)
LATENCY_FIELDS = (*(f"ms_{edge}" for edge in LATENCY_EDGES_MS), "ms_more")


class UsageCounts(models.Model):
    """Abstract model: the number of calls of one kind in one period, and their latency histogram."""

    project = models.ForeignKey("oidc.Project", models.CASCADE, related_name="+", db_index=False)
    # The name of an endpoint of `/v1`, or the slug of another API.
    endpoint = models.CharField(max_length=32)
    status = models.PositiveSmallIntegerField()
    code = models.CharField(max_length=32, blank=True)  # of the error, "" for a success
    count = models.PositiveIntegerField()
    ms_5 = models.PositiveIntegerField(default=0)
    ms_10 = models.PositiveIntegerField(default=0)
    ms_25 = models.PositiveIntegerField(default=0)
    ms_50 = models.PositiveIntegerField(default=0)
    ms_100 = models.PositiveIntegerField(default=0)
    ms_250 = models.PositiveIntegerField(default=0)
    ms_1000 = models.PositiveIntegerField(default=0)
    ms_more = models.PositiveIntegerField(default=0)

    class Meta:
        abstract = True


class UsageCountsByCaller(UsageCounts):
    """Abstract model: counts split by caller: the public id of a key, or a client id; the other is ""."""

    credential = models.CharField(max_length=16, blank=True)
    client = models.CharField(max_length=255, blank=True)

    class Meta:
        abstract = True


def _one_row_each(moment: str, *who: str) -> list[models.BaseConstraint]:
    fields = ["project", moment, *who, "endpoint", "status", "code"]
    name = f"one_{'bucket' if who else 'total'}_per_kind_and_{moment}"
    return [models.UniqueConstraint(fields=fields, name=name)]


# Every call is counted in each of the four tables below, in one transaction. With the tables by hour and day, a month
# of a busy project is read in milliseconds (api/usage_counts.py chooses the table).


@table_from_replica
class UsageBucket(UsageCountsByCaller):
    """Requests per minute and caller."""

    minute = models.DateTimeField()

    class Meta:
        constraints = _one_row_each("minute", "credential", "client")

    def __str__(self) -> str:
        return f"{self.count} of {self.endpoint} {self.status} at {self.minute}"


@table_from_replica
class UsageHour(UsageCountsByCaller):
    """Calls per hour and caller."""

    hour = models.DateTimeField()

    class Meta:
        constraints = _one_row_each("hour", "credential", "client")
        indexes = [models.Index(fields=["project", "client", "hour"], name="hours_of_a_client")]


@table_from_replica
class UsageDay(UsageCountsByCaller):
    """Calls per day (UTC) and caller."""

    day = models.DateTimeField()

    class Meta:
        constraints = _one_row_each("day", "credential", "client")
        indexes = [models.Index(fields=["project", "client", "day"], name="days_of_a_client")]


@table_from_replica
class UsageTotal(UsageCounts):
    """Calls per hour, of all callers together."""

    hour = models.DateTimeField()

    class Meta:
        constraints = _one_row_each("hour")
        # To find the projects with many errors in the last hours.
        indexes = [models.Index(fields=["hour"], condition=models.Q(status__gte=400), name="errors_by_hour")]


@table_from_replica
class RequestLog(models.Model):
    """One call with a credential: request and response, without the credential or personal data.

    The project is None if the credential is unknown; such entries are only in the admin. Written in batches together
    with the counts, kept for REQUEST_LOG_DAYS.
    """

    # An index below begins with this column.
    project = models.ForeignKey("oidc.Project", models.CASCADE, related_name="+", null=True, db_index=False)
    at = models.DateTimeField()
    # The slug of the company's own API that was called, "" for the API at `/v1`.
    api = models.CharField(max_length=32, blank=True, default="")
    method = models.CharField(max_length=8)
    path = models.CharField(max_length=100)
    status = models.PositiveSmallIntegerField()
    code = models.CharField(max_length=32, blank=True)
    # Values that explain the code: the scopes that were needed, the API that the token is for.
    parameters: "models.JSONField[Any, Any]" = models.JSONField(default=dict, blank=True)
    milliseconds = models.PositiveIntegerField()
    credential = models.CharField(max_length=16, blank=True)
    client = models.CharField(max_length=255, blank=True)
    subject = models.CharField(max_length=16, blank=True)  # masked: the first and last four characters of a `sub`
    request_id = models.CharField(max_length=64)
    # Calls whose credential only names its key or client are logged, but not part of the usage.
    is_counted = models.BooleanField(default=True)

    class Meta:
        verbose_name = "entry"
        verbose_name_plural = "request log"
        indexes = [
            models.Index(fields=["project", "-id"], name="requests_of_a_project"),
            models.Index(
                fields=["project", "-id"], condition=models.Q(status__gte=400), name="failed_requests_of_a_project"
            ),
            models.Index(fields=["request_id"], name="requests_by_request_id"),
            models.Index(fields=["at"], name="requests_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.method} {self.path} {self.status}"


class UsageBatch(models.Model):
    """The id of a stored batch of counts, so that a batch that is retried after a crash is not counted again."""

    batch_id = models.CharField(max_length=64, unique=True)
    written_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "usage batches"

    def __str__(self) -> str:
        return self.batch_id
