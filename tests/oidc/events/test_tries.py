"""What a delivery keeps of its tries."""

from typing import Any

import pytest

from accounts.models import Account
from core.outbound.targets import Code, OutboundRefused
from oidc.events import registration, sending
from oidc.models import Delivery, EventReceiver
from tests.factories import make_account
from tests.inbox import Inbox, send_due, status
from tests.relying_party import RelyingParty

pytestmark = pytest.mark.django_db


def test_a_try_keeps_the_values_of_its_reason(event_receiver: EventReceiver, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise OutboundRefused(Code.CERTIFICATE, error="certificate has expired")

    monkeypatch.setattr(sending, "post", refuse)
    registration.send_test(event_receiver, make_account())
    send_due()
    (entry,) = Delivery.objects.get().tries
    assert entry["error"] == "certificate"
    assert entry["parameters"] == {"error": "certificate has expired"}


@pytest.mark.parametrize("code", [202, 400])
def test_what_an_app_answers_about_a_deleted_account_is_not_kept(
    listening: RelyingParty, person: Account, app_inbox: Inbox, code: int
) -> None:
    listening.tokens()
    person.delete()
    app_inbox.answer = status(code, body=b"Deleted ada@example.com")
    send_due()
    assert set(Delivery.objects.values_list("event", flat=True)) >= {"account-purged"}
    assert [each["status"] for row in Delivery.objects.all() for each in row.tries][:1] == [code]
    assert not Delivery.objects.exclude(answer="").exists()
