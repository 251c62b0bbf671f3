"""Places by IP address: from a file that the operator has, and only as far as it tells."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import maxminddb
import pytest
from django.test import Client as Browser

from accounts.models import Account, Outbox, SecurityEvent
from core.http import places
from tests.accounts.activity import mmdb
from tests.relying_party import sign_in

GRAZ = {"city": {"names": {"en": "Graz", "de": "Graz"}}, "country": {"names": {"en": "Austria"}}}
AUSTRIA = {"country": {"iso_code": "AT", "names": {"en": "Austria", "de": "Österreich"}}}


@pytest.fixture(autouse=True)
def fresh_reader() -> Iterator[None]:
    places._reader.cache_clear()
    yield
    places._reader.cache_clear()


@pytest.fixture
def database(tmp_path: Path, settings: Any) -> Path:
    said: dict[str, dict[str, Any]] = {
        "192.0.2.0/25": GRAZ,
        "198.51.100.0/24": AUSTRIA,
        "2001:db8::/32": GRAZ,
        "203.0.113.0/24": {"city": {}},
    }
    path = mmdb.write(tmp_path / "places.mmdb", said)
    settings.GEOIP_DATABASE = str(path)
    return path


@pytest.mark.parametrize(
    ("ip", "place"),
    [
        ("192.0.2.1", "Graz, Austria"),
        ("2001:db8::7", "Graz, Austria"),
        ("198.51.100.9", "Austria"),
        ("203.0.113.1", ""),
        ("192.0.2.200", ""),
        ("", ""),
        ("nowhere", ""),
    ],
)
def test_places_are_described(ip: str, place: str, database: Path) -> None:
    assert places.place_of(ip) == place
    assert places.check_database(None) == []


def test_without_a_place_database_no_place_is_shown() -> None:
    assert places.place_of("192.0.2.1") == ""
    assert places.check_database(None) == []


@pytest.mark.parametrize("content", [None, b"", b"no database", b"\xab\xcd\xefMaxMind.com\xff\xff"])
def test_an_unreadable_place_database_is_reported_and_pages_work(
    content: bytes | None, tmp_path: Path, settings: Any
) -> None:
    path = tmp_path / "places.mmdb"
    if content is not None:
        path.write_bytes(content)
    settings.GEOIP_DATABASE = str(path)
    assert [problem.id for problem in places.check_database(None)] == ["devportal.W005"]
    assert places.place_of("192.0.2.1") == ""


def test_a_damaged_place_database_breaks_no_page(database: Path) -> None:
    whole = database.read_bytes()
    marker = whole.index(b"\xab\xcd\xefMaxMind.com")
    database.write_bytes(whole[: marker - 60] + b"\xff" * 60 + whole[marker:])
    for ip in ("192.0.2.1", "198.51.100.9", "2001:db8::7"):
        places.place_of(ip)


def test_the_place_database_is_opened_once(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    real = maxminddb.open_database

    def count(path: str) -> Any:
        opened.append(path)
        return real(path)

    monkeypatch.setattr(maxminddb, "open_database", count)
    for _ in range(3):
        places.place_of("192.0.2.1")
    assert opened == [str(database)]


@pytest.mark.django_db
def test_the_place_is_on_the_pages_and_in_the_mail(database: Path, person: Account) -> None:
    sign_in(Browser(REMOTE_ADDR="198.51.100.9"), person)
    browser = sign_in(Browser(REMOTE_ADDR="192.0.2.1"), person)
    assert list(SecurityEvent.objects.order_by("pk").values_list("place", flat=True)) == ["Austria", "Graz, Austria"]
    for path in ("/account/activity/", "/account/sessions/"):
        assert "Graz, Austria" in browser.get(path).content.decode()
    assert "From: Graz, Austria, IP address 192.0.2.1" in Outbox.objects.get().body
