"""Times in the reader's time zone: on pages by the browser's cookie, in emails by the account."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.template import engines
from django.test import Client as Browser
from django.test import RequestFactory

from accounts.activity.recording import record
from accounts.mail import outbox
from accounts.models import Account, Outbox
from core import clock, time_zones
from core.http.template_tags import moment
from tests.relying_party import sign_in

NOW = datetime(2030, 5, 17, 21, 41, tzinfo=UTC)
VIENNA = ZoneInfo("Europe/Vienna")


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: NOW)


@pytest.mark.parametrize(
    ("hours", "text"),
    [
        (0, "Today, 23:41"),
        (1, "Tomorrow, 00:41"),
        (-24, "Yesterday, 23:41"),
        (-48, "15 May 2030, 23:41"),
        (49, "20 May 2030, 00:41"),
    ],
)
def test_near_days_have_words(hours: int, text: str) -> None:
    assert time_zones.in_zone(NOW + timedelta(hours=hours), VIENNA, in_sentence=False) == text


def test_a_sentence_names_the_day() -> None:
    assert time_zones.in_zone(NOW, VIENNA, in_sentence=True) == "17 May 2030, 23:41"


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        ("Europe/Vienna", "17 May 2030, 23:41 CEST"),
        ("Asia/Kathmandu", "18 May 2030, 03:26 UTC+05:45"),
        ("America/Sao_Paulo", "17 May 2030, 18:41 UTC-03:00"),
        ("", "17 May 2030, 21:41 UTC"),
    ],
)
def test_a_mail_names_the_zone(zone: str, text: str) -> None:
    assert time_zones.in_mail(NOW, time_zones.find_zone(zone)) == text


@pytest.mark.parametrize(
    "name", ["", "Vienna", "europe/vienna", "../../etc/passwd", "Europe/Vienna\n", "x" * 5000, "/etc/localtime"]
)
def test_only_names_of_the_database_are_zones(name: str) -> None:
    assert time_zones.find_zone(name) is None


def shown(cookie: str | None, **how: bool) -> str:
    request: Any = RequestFactory().get("/")
    if cookie is not None:
        request.COOKIES["openport_zone"] = cookie
    return moment({"request": request}, NOW, **how)  # type: ignore[arg-type]


def test_pages_have_utc_as_tooltip() -> None:
    assert shown("Europe/Vienna") == (
        '<time datetime="2030-05-17T21:41:00Z" title="17 May 2030, 21:41 UTC">Today, 23:41</time>'
    )


@pytest.mark.parametrize("cookie", [None, "Nowhere/At_all"])
def test_without_a_known_zone_pages_say_utc(cookie: str | None) -> None:
    assert shown(cookie) == '<time datetime="2030-05-17T21:41:00Z" data-local="">17 May 2030, 21:41 UTC</time>'


def test_logs_show_seconds() -> None:
    assert shown("Europe/Vienna", seconds=True) == (
        '<time datetime="2030-05-17T21:41:00Z" title="17 May 2030, 21:41:00 UTC">Today, 23:41:00</time>'
    )
    assert shown(None, seconds=True, in_sentence=True) == (
        '<time datetime="2030-05-17T21:41:00Z" data-local="date seconds">17 May 2030, 21:41:00 UTC</time>'
    )


@pytest.mark.parametrize("partial", ["partials/time.html", "console/partials/log_moment.html"])
def test_no_blank_stands_between_a_time_and_a_full_stop(partial: str) -> None:
    page = engines["django"].from_string(f"{{% include '{partial}' %}}.{{% include '{partial}' with at=None %}}.")
    assert page.render({"at": NOW}).endswith(" UTC</time>..")


@pytest.mark.django_db
def test_the_zone_of_the_last_sign_in_is_used_in_mails_and_other_browsers(
    monkeypatch: pytest.MonkeyPatch, person: Account, client: Browser
) -> None:
    monkeypatch.undo()
    client.cookies["openport_zone"] = "Asia/Kathmandu"
    sign_in(client, person)
    person.refresh_from_db()
    assert person.time_zone == "Asia/Kathmandu"
    del client.cookies["openport_zone"]
    assert re.search(r'title="[^"]* UTC">Today, ', client.get("/account/activity/").content.decode())
    record(person, "password_changed")
    assert " UTC+05:45" in Outbox.objects.latest("pk").body


@pytest.mark.django_db
def test_an_invalid_zone_is_not_stored(monkeypatch: pytest.MonkeyPatch, person: Account, client: Browser) -> None:
    monkeypatch.undo()
    client.cookies["openport_zone"] = "<script>"
    sign_in(client, person)
    person.refresh_from_db()
    assert person.time_zone == ""


@pytest.mark.django_db
def test_a_mail_uses_the_zone_of_its_recipient(person: Account) -> None:
    Account.objects.filter(pk=person.pk).update(time_zone="Europe/Vienna")
    context = {"asked_at": NOW, "expires_at": NOW}
    assert "17 May 2030, 23:41 CEST" in outbox.queue_mail(person.email, "export_ready", context).body
    assert "17 May 2030, 21:41 UTC" in outbox.queue_mail("other@example.com", "export_ready", context).body
