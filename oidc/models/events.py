"""Where apps receive events, and the deliveries of events to them (oidc/events/)."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import models

from core import clock
from core.database.postgres.replica import table_from_replica
from oidc.models.projects import Connection
from oidc.values.event_types import EventType

# A receiver is paused after it has failed for this long, with at least this many tries.
PAUSE_AFTER = timedelta(hours=24)
# The tries of one delivery take that long, or up to a tenth less (JITTER in oidc/events/sending.py).
SHORTEST_TRIES = 0.9 * PAUSE_AFTER
PAUSE_AFTER_TRIES = 8
# A receiver is sent to beside the slow ones until this many tries in a row were fast.
FAST_TRIES = 3


class EventReceiver(models.Model):
    """A URL of a client that receives logout tokens or security events. It is off while `url` is "".

    One worker at a time sends to a receiver. While it fails, its deliveries wait: `failing_since` and `failures` are
    those of the current failure, and `retry_at` says when the next delivery is tried.
    """

    class Channel(models.TextChoices):
        LOGOUT = "logout", "Logout"
        EVENTS = "events", "Security events"

    client = models.ForeignKey(
        settings.OAUTH2_PROVIDER_APPLICATION_MODEL, models.CASCADE, verbose_name="app", related_name="receivers"
    )
    channel = models.CharField(max_length=6, choices=Channel.choices)
    url = models.CharField("URL", max_length=2000, blank=True, default="")
    # OpenID Connect Back-Channel Logout 1.0, 2.2: each logout token has to contain a `sid`.
    session_required = models.BooleanField(default=False)
    # Space-separated event types that the app wants; "" for all.
    types = models.TextField(blank=True, default="")
    # Until then a worker is sending to it.
    busy_until = models.DateTimeField(null=True, blank=True, editable=False)
    retry_at = models.DateTimeField(null=True, blank=True, editable=False)
    failing_since = models.DateTimeField(null=True, blank=True, editable=False)
    failures = models.PositiveIntegerField(default=0, editable=False)
    paused_at = models.DateTimeField(null=True, blank=True, editable=False)
    # Tries in a row that took less than SLOW_SECONDS of oidc/events/sending.py, counted up to FAST_TRIES.
    fast_tries = models.PositiveSmallIntegerField(default=0, editable=False)
    # Whether a try was slow, and fewer than FAST_TRIES in a row have been fast since.
    is_slow = models.BooleanField(default=False, editable=False)
    # The host of `url`: one worker at a time sends to a host.
    host = models.CharField(max_length=253, blank=True, default="", editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["client", "channel"], name="one_receiver_per_channel")]
        indexes = [
            models.Index(fields=["busy_until"], condition=models.Q(busy_until__isnull=False), name="receivers_busy"),
        ]

    def __str__(self) -> str:
        return f"{self.get_channel_display()} of {self.client}"

    def save(self, *, update_fields: Iterable[str] | None = None, **options: Any) -> None:
        """Store the receiver, and the host of its URL with the URL."""
        self.host = urlsplit(self.url).hostname or ""
        if update_fields is not None:
            update_fields = {*update_fields, "host"}
        super().save(update_fields=update_fields, **options)

    @property
    def is_paused(self) -> bool:
        """Whether nothing is sent until a developer resumes it."""
        return self.paused_at is not None

    @property
    def wanted_types(self) -> list[EventType]:
        """The event types that the app wants, in the order of EventType."""
        chosen = self.types.split()
        return [each for each in EventType.choosable() if not chosen or each.value in chosen]

    def has_failed_for_long(self, *, is_over: bool = False) -> bool:
        """Return whether it has failed for so long that it is paused. `is_over` says that a delivery's tries are used.

        If all of them were part of this failure, that is enough, even if jitter made them shorter than PAUSE_AFTER.
        """
        since = self.failing_since
        if since is None or self.failures < PAUSE_AFTER_TRIES:
            return False
        return clock.now() - since >= (SHORTEST_TRIES if is_over else PAUSE_AFTER)


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    def waiting(self) -> "DeliveryQuerySet":
        """Return the deliveries that are neither delivered nor failed."""
        return self.filter(state=Delivery.State.WAITING)

    def due(self) -> "DeliveryQuerySet":
        """Return the deliveries whose next try is due, the oldest first."""
        return self.waiting().filter(not_before__lte=clock.now()).order_by("not_before", "pk")


@table_from_replica
class Delivery(models.Model):
    """One event for one app, stored in the transaction that causes it and delivered at least once.

    Its token is signed again for each try, with the same `jti`.
    """

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting"
        DELIVERED = "delivered", "Delivered"
        FAILED = "failed", "Failed"

    receiver = models.ForeignKey(EventReceiver, models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=20)  # a value of EventType
    jti = models.CharField(max_length=22, unique=True)
    # None for a test. The pairwise `sub` is copied, because the last events are sent after an account was deleted.
    connection = models.ForeignKey(Connection, models.SET_NULL, null=True, blank=True, related_name="deliveries")
    sub = models.CharField(max_length=64, blank=True, default="")
    sid = models.CharField(max_length=43, blank=True, default="")
    # The members of the event that are known when it happens (oidc/events/tokens.py).
    details: "models.JSONField[Any, Any]" = models.JSONField(default=dict)
    happened_at = models.DateTimeField()
    state = models.CharField(max_length=9, choices=State.choices, default=State.WAITING)
    not_before = models.DateTimeField()
    # Tries since it was queued, or since a developer sent it again.
    attempts = models.PositiveSmallIntegerField(default=0)
    # The latest tries, oldest first: `at` (ISO 8601), `seconds`, and `status` or `error` with the `parameters` of its
    # text (core/outbound/targets.py).
    tries: "models.JSONField[Any, Any]" = models.JSONField(default=list)
    # The beginning of the app's latest response.
    answer = models.TextField(blank=True, default="")
    delivered_at = models.DateTimeField(null=True, blank=True)

    objects = DeliveryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "deliveries"
        indexes = [
            models.Index(
                fields=["receiver", "not_before", "id"], condition=models.Q(state="waiting"), name="deliveries_waiting"
            ),
            models.Index(fields=["receiver", "-id"], name="deliveries_of_a_receiver"),
            models.Index(fields=["receiver", "-id"], condition=models.Q(state="failed"), name="deliveries_failed"),
            models.Index(fields=["sub", "-id"], name="deliveries_of_a_person"),
        ]

    def __str__(self) -> str:
        return f"{self.event} {self.jti}"

    @property
    def is_test(self) -> bool:
        """Whether a developer asked for it, so that it is about nobody."""
        return self.event == EventType.VERIFICATION or not self.sub
