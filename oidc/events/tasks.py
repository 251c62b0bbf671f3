"""Tasks that send deliveries and delete old ones."""

from collections.abc import Iterable
from datetime import timedelta

from celery import shared_task
from django.conf import settings

from core import clock
from core.database.batches import delete_oldest
from core.tasks import periodic_task, queue_task
from oidc.events import sending
from oidc.models import Delivery

# Seconds; a run itself ends after sending.RUN_SECONDS and one more try. A task may run again: receivers are claimed.
# The periodic task queues them again, so old ones are dropped instead of piling up while all workers are busy.
_SENDING = {"acks_late": True, "reject_on_worker_lost": True, "soft_time_limit": 50, "time_limit": 60, "expires": 300}


def announce(receivers: Iterable[int]) -> None:
    """Let workers send to these receivers soon."""
    for pk in receivers:
        queue_task(send_deliveries, pk)


@shared_task(**_SENDING)
def send_deliveries(pk: int) -> int:
    """Send the deliveries of one receiver; return how many were accepted."""
    accepted = sending.send_to(pk)
    # A delivery may have been stored after the last one was read and before the claim ended.
    announce(sending.next_receivers(pk))
    return accepted


@periodic_task(10)
def send_due_deliveries() -> int:
    """Let workers send what is due, for later tries and lost tasks; return to how many receivers."""
    due = sending.due_receivers()
    announce(due)
    return len(due)


@periodic_task(60)
def fail_excess_deliveries() -> int:
    """Bound how many deliveries wait; return how many failed (docs/events.md#deliveries)."""
    return sending.fail_excess()


@periodic_task(3600)
def clear_deliveries() -> int:
    """Delete deliveries DELIVERY_DAYS after their event, delivered or not; return how many were deleted."""
    old = clock.now() - timedelta(days=settings.DELIVERY_DAYS)
    return delete_oldest(Delivery.objects.all(), "happened_at", old)
