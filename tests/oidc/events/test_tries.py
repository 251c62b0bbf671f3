"""What a delivery keeps of its tries."""

from typing import Any

import pytest

from core.outbound.targets import Code, OutboundRefused
from oidc.events import registration, sending
from oidc.models import Delivery, EventReceiver
from tests.factories import make_account
from tests.inbox import send_due

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
