"""Wrong passwords and codes: stored for operators, bounded, and not on the person's own pages."""

from typing import Any

import pytest
from django.test import Client as Browser

from accounts.activity import wrong_guesses
from accounts.models import Account, SecurityEvent
from api.usage_counts import flush_usage
from core.limits import log_buffer
from tests.accounts.factors.conftest import give_app
from tests.factories import PASSWORD, make_account

AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"


@pytest.fixture(autouse=True)
def roomy(settings: Any) -> None:
    settings.GUESSES_PER_ADDRESS_PER_MINUTE = settings.GUESSES_PER_ACCOUNT_AND_ADDRESS = 1000


@pytest.fixture
def account(db: None) -> Account:
    return make_account("ada@example.com")


def stored() -> list[SecurityEvent]:
    flush_usage()
    return list(SecurityEvent.objects.filter(kind__in=wrong_guesses.KINDS).order_by("pk"))


def type_password(browser: Browser, email: str, password: str = "wrong") -> None:
    page = {"login": email, "password": password}
    browser.post("/account/login/", page, headers={"User-Agent": AGENT})


def test_a_wrong_password_is_stored_with_its_browser_and_ip_address(client: Browser, account: Account) -> None:
    type_password(client, account.email.upper())
    type_password(client, "nobody@example.com")
    type_password(client, account.email, PASSWORD)
    (event,) = stored()
    assert (event.account, event.kind, event.ip) == (account, wrong_guesses.PASSWORD, "127.0.0.1")
    assert event.browser == "Firefox on Linux"
    assert event.details == {}


def test_a_wrong_code_is_stored(client: Browser, account: Account) -> None:
    give_app(account)
    type_password(client, account.email, PASSWORD)
    client.post("/account/2fa/authenticate/", {"code": "000000"})
    assert [event.kind for event in stored()] == [wrong_guesses.CODE]


def test_a_wrong_password_runs_no_sql_of_its_own(account: Account, django_assert_num_queries: Any, rf: Any) -> None:
    for email in ("nobody@example.com", account.email):
        with django_assert_num_queries(0):
            wrong_guesses.note(rf.get("/"), wrong_guesses.PASSWORD, email)
    assert len(stored()) == 1


def test_each_account_keeps_the_newest_ones(client: Browser, account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wrong_guesses, "KEPT", 2)
    other = make_account("bea@example.com")
    type_password(client, other.email)
    newest = 0
    for _ in range(2):
        for _ in range(3):
            type_password(client, account.email)
        found = stored()
        assert [event.account for event in found] == [other, account, account]
        assert found[-1].pk > newest
        newest = found[-1].pk


def test_a_flood_is_not_queued(client: Browser, account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wrong_guesses, "MOST_PER_MINUTE", 2)
    for _ in range(4):
        type_password(client, account.email)
    assert len(stored()) == 2


def test_the_persons_pages_leave_them_out(client: Browser, account: Account) -> None:
    type_password(client, account.email)
    assert len(stored()) == 1
    client.force_login(account)
    for page in ("/account/", "/account/activity/"):
        response = client.get(page)
        assert response.status_code == 200
        assert "wrong password" not in response.content.decode()


def test_an_entry_of_another_version_stops_nothing(account: Account) -> None:
    entry = {"email": account.email, "ip": "192.0.2.1", "kind": wrong_guesses.CODE, "browser": "", "place": "", "at": 9}
    changes: list[dict[str, Any]] = [
        {"email": None}, {"email": "x"}, {"ip": "x"}, {"kind": None}, {"browser": "\x00" * 999}, {"place": 5}, {},
    ]  # fmt: skip
    for changed in changes:
        for each in (entry | changed, {"at": 9}, entry):
            log_buffer.append(wrong_guesses.LOG, each)
        assert stored()[-1].ip == "192.0.2.1", changed
        SecurityEvent.objects.all().delete()
