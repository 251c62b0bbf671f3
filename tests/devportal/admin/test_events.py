"""Event receivers and deliveries in the admin: what operators see, and the actions that send again."""

import pytest
from django.test import Client as Browser
from django.utils import timezone

from devportal.console.models import AuditEvent
from oidc.models import Delivery, EventReceiver
from tests.devportal.admin.conftest import World

RECEIVERS, DELIVERIES = "/admin/oidc/eventreceiver/", "/admin/oidc/delivery/"


@pytest.fixture
def receiver(world: World) -> EventReceiver:
    """A receiver that is paused, and whose only delivery has failed."""
    row = EventReceiver.objects.get(client=world.client)
    row.paused_at = row.failing_since = timezone.now()
    row.failures = 9
    row.save()
    tries = [{"at": "2031-01-01T00:00:00+00:00", "seconds": 5.0, "error": "timeout"}]
    Delivery.objects.filter(receiver=row).update(
        state="failed", attempts=8, tries=tries, answer="<b>ada@example.com</b>"
    )
    return row


@pytest.fixture
def delivery(receiver: EventReceiver) -> Delivery:
    return Delivery.objects.get(receiver=receiver)


def test_a_paused_receiver_is_resumed_and_the_audit_trail_says_so(
    as_operator: Browser, receiver: EventReceiver
) -> None:
    page = as_operator.get(f"{RECEIVERS}{receiver.pk}/change/").content.decode()
    assert f"{RECEIVERS}{receiver.pk}/do/resume/" in page
    as_operator.get(f"{RECEIVERS}{receiver.pk}/do/resume/")
    receiver.refresh_from_db()
    assert receiver.is_paused, "opening the confirmation page changes nothing"
    as_operator.post(f"{RECEIVERS}{receiver.pk}/do/resume/")
    receiver.refresh_from_db()
    assert (receiver.paused_at, receiver.failures, receiver.failing_since) == (None, 0, None)
    event = AuditEvent.objects.get(action="client.events_resumed")
    assert (event.actor_email, event.target) == ("opal@example.com", receiver.client.client_id)


def test_a_receiver_that_works_or_is_off_offers_no_action(as_operator: Browser, receiver: EventReceiver) -> None:
    for url, failures in (("https://a.example/", 0), ("", 9)):
        EventReceiver.objects.update(url=url, failures=failures, paused_at=None)
        assert "/do/resume/" not in as_operator.get(f"{RECEIVERS}{receiver.pk}/change/").content.decode()
        as_operator.post(f"{RECEIVERS}{receiver.pk}/do/resume/")
    assert not AuditEvent.objects.filter(action="client.events_resumed").exists()


def test_a_failed_delivery_is_sent_again_with_new_tries(as_operator: Browser, delivery: Delivery) -> None:
    as_operator.post(f"{DELIVERIES}{delivery.pk}/do/again/")
    jti = delivery.jti
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts, delivery.jti) == ("waiting", 0, jti)
    event = AuditEvent.objects.get(action="client.events_sent_again")
    assert event.actor_email == "opal@example.com"
    as_operator.post(f"{DELIVERIES}{delivery.pk}/do/again/")
    assert AuditEvent.objects.filter(action="client.events_sent_again").count() == 1, "it waits already"


def test_all_failed_deliveries_of_a_receiver_are_sent_again(as_operator: Browser, delivery: Delivery) -> None:
    as_operator.post(f"{RECEIVERS}{delivery.receiver_id}/do/again/")
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts) == ("waiting", 0)
    event = AuditEvent.objects.get(action="client.events_sent_again")
    assert (event.actor_email, event.details["deliveries"]) == ("opal@example.com", 1)


def test_a_delivery_of_a_receiver_that_is_off_is_not_sent_again(as_operator: Browser, delivery: Delivery) -> None:
    EventReceiver.objects.update(url="")
    as_operator.post(f"{DELIVERIES}{delivery.pk}/do/again/")
    delivery.refresh_from_db()
    assert delivery.state == "failed"


def test_the_page_of_a_delivery_has_its_tries_but_not_the_answer(as_operator: Browser, delivery: Delivery) -> None:
    page = as_operator.get(f"{DELIVERIES}{delivery.pk}/change/").content.decode()
    assert "2031-01-01T00:00:00+00:00: timeout (5.0 s)" in page
    assert "ada@example.com" not in page
    assert "<b>ada" not in page


def test_receivers_and_deliveries_are_filtered_by_state(as_operator: Browser, delivery: Delivery) -> None:
    def listed(url: str) -> int:
        return len(as_operator.get(url).context["cl"].result_list)

    assert [listed(f"{RECEIVERS}?state={state}") for state in ("paused", "failing", "working", "off")] == [1, 0, 0, 0]
    EventReceiver.objects.update(paused_at=None)
    assert [listed(f"{RECEIVERS}?state={state}") for state in ("paused", "failing", "working", "off")] == [0, 1, 0, 0]
    EventReceiver.objects.update(failures=0)
    assert [listed(f"{RECEIVERS}?state={state}") for state in ("paused", "failing", "working", "off")] == [0, 0, 1, 0]
    EventReceiver.objects.update(url="")
    assert [listed(f"{RECEIVERS}?state={state}") for state in ("paused", "failing", "working", "off")] == [0, 0, 0, 1]
    assert [listed(f"{DELIVERIES}?state__exact={state}") for state in ("failed", "waiting")] == [1, 0]


def test_receivers_lead_to_their_deliveries_and_clients_to_their_receivers(
    as_operator: Browser, world: World, receiver: EventReceiver
) -> None:
    page = as_operator.get(f"{RECEIVERS}{receiver.pk}/change/").content.decode()
    assert f"{DELIVERIES}?receiver__id__exact={receiver.pk}" in page
    assert len(as_operator.get(f"{DELIVERIES}?receiver__id__exact={receiver.pk}").context["cl"].result_list) == 1
    page = as_operator.get(f"/admin/oidc/client/{world.client.pk}/change/").content.decode()
    assert f"{RECEIVERS}?client__id__exact={world.client.pk}" in page


def test_reviewers_see_neither_list(as_reviewer: Browser, delivery: Delivery) -> None:
    for url in (RECEIVERS, DELIVERIES, f"{DELIVERIES}{delivery.pk}/change/", f"{DELIVERIES}{delivery.pk}/do/again/"):
        assert as_reviewer.get(url).status_code == 403, url
