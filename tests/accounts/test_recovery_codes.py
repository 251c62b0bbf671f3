"""Recovery codes are shown once, right after they were made; the pages that show secrets are stored by no cache."""

import re
from urllib.parse import unquote

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.test import Client as Browser

from accounts.models import Account
from core import clock
from tests.factories import PASSWORD
from tests.relying_party import sign_in
from tests.totp import totp

CODES, DOWNLOAD = "/account/2fa/recovery-codes/", "/account/2fa/recovery-codes/download/"
GENERATE = "/account/2fa/recovery-codes/generate/"


def codes_of(person: Account) -> list[str]:
    authenticator = Authenticator.objects.get(user=person, type=Authenticator.Type.RECOVERY_CODES)
    unused: list[str] = authenticator.wrap().get_unused_codes()
    return unused


def shown(browser: Browser, path: str = CODES) -> str:
    return browser.get(path).content.decode()


def reauthenticate(browser: Browser, person: Account) -> None:
    form = {"login": person.email, "password": PASSWORD}
    assert browser.post("/account/reauthenticate/", form).status_code == 302


@pytest.fixture
def protected(signed_in: Browser, person: Account) -> Browser:
    """A browser whose person has just set up an authenticator app, and was sent to the recovery codes."""
    reauthenticate(signed_in, person)
    page = signed_in.get("/account/2fa/totp/activate/")
    assert "no-store" in page["Cache-Control"]
    secret = page.context["form"].secret
    code = totp(secret)
    answer = signed_in.post("/account/2fa/totp/activate/", {"code": code})
    assert (answer.status_code, answer["Location"]) == (302, CODES)
    return signed_in


def test_recovery_codes_are_shown_once(protected: Browser, person: Account) -> None:
    codes = codes_of(person)
    assert len(codes) == 10
    first = protected.get(CODES)
    assert "no-store" in first["Cache-Control"]
    assert all(f"<li>{code}</li>" in first.content.decode() for code in codes)
    again = shown(protected)
    assert not any(code in again for code in codes)
    assert "10 of 10 codes are unused" in again
    assert GENERATE in again


def assert_names_its_account(file: str, codes: list[str]) -> None:
    now = clock.now()
    assert file.splitlines()[:3] == [
        "Recovery codes for Openport",
        "Account: o'neil@example.com",
        f"Saved on: {now.day} {now:%B %Y}",
    ]
    assert file.splitlines()[-10:] == codes


@pytest.fixture
def person(person: Account) -> Account:
    """The person, with an email address that HTML would escape."""
    Account.objects.filter(pk=person.pk).update(email="o'neil@example.com")
    EmailAddress.objects.filter(user=person).update(email="o'neil@example.com")
    person.refresh_from_db()
    return person


def test_the_download_is_part_of_that_one_page(protected: Browser, person: Account) -> None:
    codes = codes_of(person)
    [link] = re.findall(r'download="recovery-codes.txt" href="data:text/plain;charset=utf-8,([^"]+)"', shown(protected))
    assert_names_its_account(unquote(link), codes)
    assert DOWNLOAD not in shown(protected)
    later = protected.get(DOWNLOAD)
    assert later.status_code == 403
    assert not any(code in later.content.decode() for code in codes)


def test_a_download_by_its_address_is_the_one_time(protected: Browser, person: Account) -> None:
    codes = codes_of(person)
    file = protected.get(DOWNLOAD)
    assert_names_its_account(file.content.decode(), codes)
    assert "no-store" in file["Cache-Control"]
    for path in (CODES, DOWNLOAD, GENERATE, "/account/2fa/"):
        assert not any(code in shown(protected, path) for code in codes), path


def test_another_browser_sees_none_of_what_was_shown(protected: Browser, person: Account) -> None:
    codes = codes_of(person)
    shown(protected)
    Authenticator.objects.filter(type=Authenticator.Type.TOTP).delete()
    elsewhere = sign_in(Browser(), person)
    reauthenticate(elsewhere, person)
    assert not any(code in shown(elsewhere) for code in codes)
    assert elsewhere.get(DOWNLOAD).status_code == 403


def test_new_codes_are_shown_once_and_the_old_ones_no_longer_work(protected: Browser, person: Account) -> None:
    old = codes_of(person)
    shown(protected)
    answer = protected.post(GENERATE)
    assert (answer.status_code, answer["Location"]) == (302, CODES)
    new = codes_of(person)
    assert not set(old) & set(new)
    first, second = shown(protected), shown(protected)
    assert all(code in first for code in new)
    assert not any(code in second for code in new)
