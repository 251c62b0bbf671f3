"""Texts that a version before this one stored, and that no page could show."""

import json
from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client as Browser

from accounts.models import Plan, Subscription
from accounts.plans import catalogue
from tests.console.admin.conftest import World
from tests.exports import exported

pytestmark = pytest.mark.django_db


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL never took such text")
def test_what_was_stored_before_is_mended_by_the_upgrade(as_operator: Browser, client: Browser, world: World) -> None:
    row = Subscription.objects.get(account=world.person)
    Subscription.objects.filter(pk=row.pk).update(addons={"x\ud800": {"quantity": 2}})
    Plan.objects.update(apps=["notes\udfff"])
    import_module("accounts.migrations.0007_texts_that_can_be_stored").replace_surrogates(apps, None)
    catalogue.bump_version()
    assert Subscription.objects.get(pk=row.pk).addons == {"x\ufffd": {"quantity": 2}}
    for page in ("/account/plan", "/account/"):
        assert client.get(page).status_code == 200, page
    assert "x\ufffd" in json.dumps(exported(world.person), ensure_ascii=False)
    assert as_operator.get(f"/admin/accounts/subscription/{row.pk}/change/").status_code == 200
    assert as_operator.post(f"/admin/accounts/account/{world.person.pk}/do/export/").status_code == 200
