"""What the layers below report, written down (devportal/operations/audit.py)."""

import pytest
from django.conf import settings

from core.audit import Event, report
from core.http import client_ip
from devportal.console import activity
from devportal.console.models import AuditEvent


@pytest.fixture(autouse=True)
def outside_of_a_request() -> None:
    client_ip.forget()


def test_actions_of_commands_have_no_actor_and_request(db: None) -> None:
    report(Event("client_secret.created", None, "prj_one", "op_client_one"))
    row = AuditEvent.objects.get()
    assert (row.ip, row.request_id, row.actor_email) == (None, "", "")


def test_actions_of_an_apps_people_are_not_in_the_audit_trail(db: None) -> None:
    for action in ("consent.given", "consent.removed", "family.ended"):
        report(Event(action, None, "prj_one", "op_client_one"))
    assert not AuditEvent.objects.exists()


def test_actions_of_the_service_show_its_name(db: None) -> None:
    report(Event("client_secret.created", None, "prj_one", "op_client_one"))
    assert activity._who(AuditEvent.objects.get(), by_service=False) == settings.SERVICE_NAME
