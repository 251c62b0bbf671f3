"""Several senders at the same outbox, on PostgreSQL with separate connections: each email goes out once."""

from collections import Counter

import pytest
from django.core import mail

from accounts.mail import delivery
from accounts.models import Outbox
from tests.accounts.mail.test_outbox import queue
from tests.at_once import at_once

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


def waiting(count: int) -> list[int]:
    """Emails that nobody has been told of."""
    for number in range(count):
        row = queue(f"{number}@example.com")
        Outbox.objects.filter(pk=row.pk).update(sent_at=None, attempts=0)
    mail.outbox.clear()
    return list(Outbox.objects.values_list("pk", flat=True))


def test_two_senders_at_once_send_each_mail_once() -> None:
    waiting(40)
    sent = at_once(4, lambda number: delivery.send_due())
    assert sum(sent) == 40
    assert set(Counter(message.to[0] for message in mail.outbox).values()) == {1}
    assert len(mail.outbox) == 40


def test_a_task_and_the_periodic_run_at_once_send_once() -> None:
    (pk,) = waiting(1)
    outcomes = at_once(6, lambda number: delivery.send_queued(pk) if number % 2 else bool(delivery.send_due()))
    assert outcomes.count(True) == 1
    assert len(mail.outbox) == 1
