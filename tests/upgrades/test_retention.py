"""Every table has its line in docs/retention.md#retention: what ends its rows, and after how long."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.test import override_settings

from accounts.models import Account, BillingEvent, SecurityEvent
from accounts.tasks import clear_billing_events, clear_security_events
from core import clock
from devportal.console.models import AuditEvent
from devportal.operations.tasks import clear_audit_events

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "retention.md"
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in DOCUMENT.read_text(encoding="utf-8").partition("\n## Retention\n")[2].partition("\n## ")[0].splitlines()
    if line.startswith("| `")
]


def names(cell: str) -> list[str]:
    return re.findall(r"`([\w.]+)`", cell)


def test_every_table_has_one_line() -> None:
    told = [name for tables, _, _ in ROWS for name in names(tables)]
    assert sorted(told) == sorted(model._meta.db_table for model in apps.get_models(include_auto_created=True))


def test_everything_named_exists() -> None:
    scheduled = {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}
    for _, end, after in ROWS:
        assert {name for name in names(end) if "." in name} <= scheduled
        unknown = [name for name in names(after) if name.isupper() and name != "SESSION_SECONDS"]
        assert all(hasattr(settings, name) for name in unknown)
        assert after or "." not in "".join(names(end)), "a task goes by time"


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["AUDIT_DAYS", "BILLING_EVENT_DAYS", "SECURITY_EVENT_DAYS"])
def test_audit_records_expire_by_age_and_never_with_zero(name: str) -> None:
    def add(age: timedelta) -> Any:
        if name == "AUDIT_DAYS":
            return AuditEvent.objects.create(at=clock.now() - age, action="test.done")
        if name == "SECURITY_EVENT_DAYS":
            account, _ = Account.objects.get_or_create(email="ada@example.com")
            return SecurityEvent.objects.create(account=account, kind="signed_in", at=clock.now() - age)
        event = BillingEvent.objects.create(event_id=str(age), digest="0" * 64)
        BillingEvent.objects.filter(pk=event.pk).update(received_at=clock.now() - age)
        return event

    tasks: dict[str, Any] = {"AUDIT_DAYS": clear_audit_events, "BILLING_EVENT_DAYS": clear_billing_events}
    task = tasks.get(name, clear_security_events)
    old, young = add(timedelta(days=11)), add(timedelta(days=9))
    with override_settings(**{name: 0}):
        assert task() == 0
    with override_settings(**{name: 10}):
        assert task() == 1
    assert list(type(old).objects.all()) == [young]
