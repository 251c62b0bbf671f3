"""Times in the admin: in the reader's zone, with UTC as the tooltip (core/admin/times.py)."""

import re
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from django.test import Client as Browser

from accounts.models import Subscription, SubscriptionEvent
from core import time_zones
from oidc.models import Connection
from tests.devportal.admin.conftest import World

pytestmark = pytest.mark.django_db
TEMPLATES = Path(__file__).resolve().parents[3] / "templates" / "admin"
TIME = r'<time datetime="{machine}" title="{utc}">[^<]+, {local}</time>'


def shows(text: str, place: str, at: datetime) -> bool:
    """Whether the first time after a place in a page is this one, 4 hours before UTC, with UTC as its tooltip."""
    machine, local = f"{at:%Y-%m-%dT%H:%M:%SZ}", at.astimezone(ZoneInfo("Etc/GMT+4"))
    time = TIME.format(machine=machine, utc=time_zones.in_utc(at), local=f"{local:%H:%M}")
    return re.search(rf"{place}\b(?:(?!<time).)*{time}", text, re.DOTALL) is not None


@pytest.fixture
def far_away(as_operator: Browser, world: World) -> Browser:
    as_operator.cookies[time_zones.cookie_name()] = "Etc/GMT+4"
    return as_operator


def test_lists_show_local_times(far_away: Browser) -> None:
    row = Connection.objects.get()
    text = far_away.get("/admin/oidc/connection/").content.decode()
    assert shows(text, "field-first_authorized_at", row.first_authorized_at)
    assert re.search(r'field-removed_at\b[^>]*data-label="removed at">-</td>', text, re.IGNORECASE)


def test_the_link_to_a_row_may_be_its_time(far_away: Browser) -> None:
    assert re.search(
        r'<a href="[^"]*/change/"[^>]*><time ', far_away.get("/admin/console/signinevent/").content.decode()
    )


def test_read_only_fields_show_local_times(far_away: Browser) -> None:
    row = Connection.objects.get()
    text = far_away.get(f"/admin/oidc/connection/{row.pk}/change/").content.decode()
    assert shows(text, ">First authorized at", row.first_authorized_at)


def test_inlines_and_pages_with_a_form_show_local_times(far_away: Browser, world: World) -> None:
    row = Subscription.objects.get(account=world.person)
    text = far_away.get(f"/admin/accounts/subscription/{row.pk}/change/").content.decode()
    assert shows(text, ">Created at", row.created_at)
    assert shows(text, "field-at", SubscriptionEvent.objects.get(subscription=row).at)


def test_the_script_writes_local_times_if_the_zone_is_not_known(as_operator: Browser, world: World) -> None:
    text = as_operator.get("/admin/oidc/connection/").content.decode()
    assert re.search(r'<time datetime="[^"]+" data-local="">[^<]+ UTC</time>', text)
    assert re.search(r'<script src="/static/js/time\.', text)


def test_templates_of_the_admin_write_no_time_without_its_zone() -> None:
    plain = re.compile(r"\{\{ ([\w.]*(?:_at|\.at|_since))\b[^}]*\}\}")
    files = list(TEMPLATES.rglob("*.html"))
    assert len(files) > 30
    found = {(path.name, name) for path in files for name in plain.findall(path.read_text())}
    # The result of a look-up is stored as JSON, with a time in ISO 8601.
    assert found == {("review_timeline.html", "domain.at")}
