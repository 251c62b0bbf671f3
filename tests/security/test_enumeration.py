"""No account enumeration (docs/security.md#people): known and unknown addresses get the same answer and work."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.hashers import BasePasswordHasher, MD5PasswordHasher
from django.test import Client as Browser

from accounts.models import Account
from tests.factories import PASSWORD, make_account

KNOWN, UNKNOWN = "ada@example.com", "nobody@example.com"


def plain(response: Any, address: str) -> tuple[int, str, str]:
    """Return an answer without what differs on purpose: tokens, request ids, the address that was typed."""
    text = response.content.decode().replace(address, "ADDRESS")
    text = re.sub(r'name="csrfmiddlewaretoken" value="[^"]*"', "", text)
    text = text.replace(response["X-Request-ID"], "")
    text = re.sub(r'data-counts-down="\d+">[^<]*<', "<", text)  # a second may have passed
    return response.status_code, response.headers.get("Location", ""), text


def sign_up(address: str) -> list[Any]:
    browser = Browser()
    form = {"email": address, "given_name": "Eve", "family_name": "", "password1": "a quiet evening 42"}
    answer = browser.post("/account/signup/", form)
    return [answer, browser.get(answer["Location"]), browser.get("/account/")]


def reset(address: str) -> list[Any]:
    browser = Browser()
    answer = browser.post("/account/password/reset/", {"email": address})
    return [answer, browser.get(answer["Location"]), browser.post(answer["Location"], {"code": "AAAA-BBBB"})]


def sign_in(address: str) -> list[Any]:
    return [Browser().post("/account/login/", {"login": address, "password": "wrong horse 9 battery"})]


@pytest.mark.parametrize("way", [sign_up, reset, sign_in])
def test_known_and_unknown_addresses_get_similar_responses(person: Account, way: Callable[[str], list[Any]]) -> None:
    for known, unknown in zip(way(KNOWN), way(UNKNOWN), strict=True):
        one, other = plain(known, KNOWN), plain(unknown, UNKNOWN)
        assert one[:2] == other[:2]
        assert one[2].splitlines() == other[2].splitlines()


@pytest.mark.parametrize("way", [sign_up, reset, sign_in])
def test_an_address_in_capitals_is_the_same_address(person: Account, way: Callable[[str], list[Any]]) -> None:
    loud = KNOWN.upper()
    for known, unknown in zip(way(loud), way(UNKNOWN), strict=True):
        assert plain(known, loud)[:2] == plain(unknown, UNKNOWN)[:2]
    assert Account.objects.filter(email__iexact=KNOWN).count() == 1


def hashes_of(way: Callable[[str], list[Any]], address: str, monkeypatch: pytest.MonkeyPatch) -> int:
    done: list[str] = []
    real = MD5PasswordHasher.encode

    def encode(self: BasePasswordHasher, password: str, salt: str) -> str:
        done.append(salt)
        return str(real(self, password, salt))

    with monkeypatch.context() as patch:
        patch.setattr(MD5PasswordHasher, "encode", encode)
        way(address)
    return len(done)


@pytest.mark.parametrize("way", [sign_up, sign_in, reset])
def test_known_and_unknown_addresses_take_the_same_work(
    person: Account, way: Callable[[str], list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    known, unknown = hashes_of(way, KNOWN, monkeypatch), hashes_of(way, UNKNOWN, monkeypatch)
    assert known == unknown
    assert known == (0 if way is reset else 1)


def test_unverified_email_addresses_get_similar_responses_too(
    person: Account, mailoutbox: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_account("unproven@example.com", verified=False)
    pages = [[plain(page, email) for page in sign_up(email)] for email in ("unproven@example.com", KNOWN, UNKNOWN)]
    assert pages[0] == pages[1] == pages[2]
    assert hashes_of(sign_up, "unproven@example.com", monkeypatch) == 1


def test_sign_up_by_passkey_takes_the_same_work(person: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    def way(address: str) -> list[Any]:
        form = {"email": address, "given_name": "Eve", "family_name": ""}
        return [Browser().post("/account/signup/passkey/", form)]

    assert [hashes_of(way, address, monkeypatch) for address in (KNOWN, UNKNOWN, UNKNOWN)] == [0, 0, 0]


def test_a_wrong_password_of_a_deactivated_account_reads_like_an_unknown_one(person: Account) -> None:
    person.is_active = False
    person.save()
    assert plain(sign_in(KNOWN)[0], KNOWN) == plain(sign_in(UNKNOWN)[0], UNKNOWN)


def test_only_the_owner_of_the_address_learns_of_a_repeated_sign_up(person: Account, mailoutbox: list[Any]) -> None:
    sign_up(KNOWN)
    assert Account.objects.count() == 1
    person.refresh_from_db()
    assert person.check_password(PASSWORD)
    assert person.given_name == "Ada"
    (mail,) = mailoutbox
    assert mail.to == [KNOWN]


def test_only_the_owner_of_the_address_learns_of_a_reset(db: None, mailoutbox: list[Any]) -> None:
    reset(UNKNOWN)
    assert [mail.to for mail in mailoutbox] == [[UNKNOWN]]


def test_adding_an_address_does_not_say_whether_it_is_taken(person: Account) -> None:
    from tests.relying_party import sign_in as through_the_page

    make_account("taken@example.com")
    answers = []
    for address in ("taken@example.com", "free@example.com"):
        browser = through_the_page(Browser(), person)
        answer = browser.post("/account/email/", {"action_add": "", "email": address})
        answers.append((answer.status_code, answer.headers.get("Location")))
    assert answers[0] == answers[1]
