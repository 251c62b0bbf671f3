"""The cookie of a browser's other accounts: nothing in it is believed, and it is nobody's way into an account."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from allauth.usersessions.models import UserSession
from django.conf import settings as service_settings
from django.contrib.auth import BACKEND_SESSION_KEY
from django.contrib.sessions.models import Session
from django.test import Client as Browser

from accounts.deletion import deleting
from accounts.models import Account
from accounts.sessions.browser_accounts import cookie_name
from accounts.sessions.browser_sessions import end_everyones_sessions
from core.http.sessions import SessionStore, hash_of
from tests.factories import PASSWORD, make_account
from tests.relying_party import RelyingParty, sign_in
from tests.several_accounts import (
    ANOTHER,
    CHOOSE,
    SIGN_OUT_OF_ALL,
    add_account,
    choices_of,
    choose,
    key_of,
    other_keys,
    present,
    with_accounts,
)

PHOTO = "/account/choose/photo?account="
NEW_PASSWORD = "another horse 7 battery"


@pytest.fixture
def bob(db: None) -> Account:
    return make_account("bob@example.com")


@pytest.fixture
def browser(person: Account, bob: Account) -> Browser:
    """Bob is signed in, and Ada (`person`) at present."""
    return with_accounts(bob, person)


def listed(browser: Browser) -> list[str]:
    page = browser.get(CHOOSE)
    return [*choices_of(page)] if page.status_code == 200 else []


def plant(browser: Browser, *keys: str) -> Browser:
    browser.cookies[cookie_name()] = ".".join(keys)
    return browser


# --- The cookie ---


def test_flags_of_the_cookie(browser: Browser) -> None:
    cookie = browser.cookies[cookie_name()]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"], cookie["domain"]) == (True, "Lax", "/", "")
    assert cookie["max-age"] == service_settings.SESSION_COOKIE_AGE


def test_over_https_no_other_host_can_set_it(person: Account, bob: Account, settings: Any) -> None:
    settings.SESSION_COOKIE_SECURE = True
    browser = with_accounts(bob, person)
    cookie = browser.cookies["__Host-openport_accounts"]
    assert (cookie["secure"], cookie["path"], cookie["domain"]) == (True, "/", "")
    plain = Browser()
    plain.cookies["openport_accounts"] = cookie.value
    assert listed(plain) == []


def test_one_account_has_no_such_cookie(person: Account) -> None:
    assert cookie_name() not in sign_in(Browser(), person).cookies


def test_the_cookie_has_keys_that_are_in_no_table(browser: Browser) -> None:
    keys = [key_of(browser), *other_keys(browser)]
    stored = str([*Session.objects.values_list(), *UserSession.objects.values_list()])
    assert len(keys) == 2
    assert not any(key in stored for key in keys)
    assert {hash_of(key) for key in keys} == {*Session.objects.values_list("pk", flat=True)}


def test_no_page_shows_a_key_or_an_account_id(browser: Browser, bob: Account) -> None:
    text = browser.get(CHOOSE).content.decode()
    for key in (key_of(browser), *other_keys(browser)):
        assert key not in text
        assert hash_of(key) not in text
    assert f'value="{bob.pk}"' not in text


ODD_VALUES = [
    "", ".", "x", "a" * 32, ".".join(["a" * 32] * 50), "a" * 100_000, r"\000" * 32, "ä" * 32, "%00.%00", "../../x", "'",
]  # fmt: skip


@pytest.mark.parametrize("value", ODD_VALUES)
def test_no_cookie_value_breaks_a_page(value: str, app: RelyingParty) -> None:
    for signed_in in (app.browser, Browser()):
        signed_in.cookies[cookie_name()] = value
        before = Session.objects.count()
        for method, form in (("get", {}), ("post", {}), ("post", {"account": "x" * 5000, "request": "\ud7ff"})):
            assert getattr(signed_in, method)(CHOOSE, form).status_code in (200, 302)
            signed_in.cookies[cookie_name()] = value
        assert signed_in.get("/connect/signed-out").status_code == 200
        signed_in.cookies[cookie_name()] = value
        assert signed_in.get("/connect/logout").status_code in (200, 302)
        assert Session.objects.count() == before
        signed_in.cookies[cookie_name()] = "intact"
    assert app.authorize().status_code == 200


def test_a_cookie_header_with_nul_bytes_signs_nobody_in(browser: Browser) -> None:
    for value in (f"{cookie_name()}=\x00", f"{cookie_name()}={'a' * 32}.\x00", f"\x00={other_keys(browser)[0]}"):
        assert Browser().get(CHOOSE, headers={"Cookie": value})["Location"].startswith("/account/login/")


def test_invalid_unicode_chooses_nobody(browser: Browser) -> None:
    for form in ({"account": "\x00"}, {"decision": "\x00"}, {"request": "\x00", "account": "x"}):
        assert browser.post(CHOOSE, form).status_code in (302, 400)
    assert present(browser) == "ada@example.com"
    assert browser.get(f"{CHOOSE}?request=%00").status_code == 400
    for reference in ("x" * 3000, "%00", "%ff", ""):
        assert browser.get(f"{PHOTO}{reference}").status_code in (400, 404)


def test_a_repeated_key_counts_once(browser: Browser, bob: Account) -> None:
    [key] = other_keys(browser)
    plant(browser, key, key, key_of(browser), key)
    assert listed(browser) == ["ada@example.com", "bob@example.com"]
    assert other_keys(browser) == [key]


# --- Whose keys count ---


def test_a_planted_key_joins_nobody_s_accounts(browser: Browser) -> None:
    """Cookie tossing from another port or host: an account that a stranger slipped in must not be offered."""
    eve = make_account("eve@example.com")
    for planted in (sign_in(Browser(), eve), with_accounts(make_account(), eve), add_account(Browser(), eve)):
        own = other_keys(browser)
        plant(browser, key_of(planted), *own)
        assert listed(browser) == ["ada@example.com", "bob@example.com"]
        assert other_keys(browser) == own


def test_a_planted_list_joins_no_other_account(person: Account) -> None:
    attacker = with_accounts(make_account(), make_account("eve@example.com"))
    victim = plant(sign_in(Browser(), person), key_of(attacker), *other_keys(attacker))
    assert listed(victim) == ["ada@example.com"]
    assert other_keys(victim) == []


def test_anonymous_sessions_are_not_listed_as_accounts(browser: Browser) -> None:
    [own] = other_keys(browser)
    stranger = SessionStore()
    stranger["browser"] = SessionStore.from_cookie(own)["browser"]
    stranger.save()
    assert stranger.cookie
    plant(browser, stranger.cookie, own)
    assert listed(browser) == ["ada@example.com", "bob@example.com"]


def test_a_hash_from_the_database_is_rejected_as_a_key(browser: Browser, bob: Account) -> None:
    [key] = other_keys(browser)
    for value in (hash_of(key), hash_of(key)[:32]):
        plant(browser, value)
        assert listed(browser) == ["ada@example.com"]


def test_a_reference_of_another_browser_chooses_nothing(browser: Browser, bob: Account, person: Account) -> None:
    elsewhere = with_accounts(person, bob)
    references = choices_of(elsewhere.get(CHOOSE)).values()
    assert len(references) == 2
    for reference in references:
        assert browser.post(CHOOSE, {"account": reference})["Location"] == CHOOSE
        assert present(browser) == person.email
        assert browser.get(f"{PHOTO}{reference}").status_code == 404


@pytest.mark.parametrize("method", ["get", "head"])
def test_get_requests_change_nothing(browser: Browser, method: str, person: Account) -> None:
    references = choices_of(browser.get(CHOOSE))
    for query in (f"account={references['bob@example.com']}", "decision=another", "decision=sign-out-all"):
        getattr(browser, method)(f"{CHOOSE}?{query}")
        assert present(browser) == person.email
    assert len(other_keys(browser)) == 1


@pytest.mark.parametrize("form", [{"account": "BOB"}, ANOTHER, SIGN_OUT_OF_ALL])
def test_requests_of_other_sites_change_nothing(browser: Browser, form: dict[str, str], person: Account) -> None:
    checked = Browser(enforce_csrf_checks=True)
    checked.cookies = browser.cookies
    form = {name: choices_of(browser.get(CHOOSE))["bob@example.com"] if v == "BOB" else v for name, v in form.items()}
    assert checked.post(CHOOSE, form, headers={"Origin": "https://evil.example.com"}).status_code == 403
    assert present(browser) == person.email


def test_a_form_that_was_open_before_a_switch_acts_for_nobody(browser: Browser, bob: Account) -> None:
    """Ada's page in another tab must not change Bob's account."""
    checked = Browser(enforce_csrf_checks=True)
    checked.cookies = browser.cookies

    def token_on(path: str) -> str:
        found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', checked.get(path).content.decode())
        assert found
        return found[1]

    open_before = token_on("/account/profile")
    reference = choices_of(checked.get(CHOOSE))[bob.email]
    assert checked.post(CHOOSE, {"account": reference, "csrfmiddlewaretoken": token_on(CHOOSE)}).status_code == 302
    late = checked.post("/account/profile", {"given_name": "Wrong", "csrfmiddlewaretoken": open_before})
    assert late.status_code == 403
    bob.refresh_from_db()
    assert bob.given_name != "Wrong"


# --- Session ids ---


def test_adding_an_account_makes_a_new_key_and_keeps_the_other_s(person: Account, bob: Account) -> None:
    browser = sign_in(Browser(), bob)
    first = key_of(browser)
    browser.post(CHOOSE, ANOTHER)
    assert not browser.cookies[service_settings.SESSION_COOKIE_NAME].value
    browser.cookies[service_settings.SESSION_COOKIE_NAME] = "x" * 32  # fixation
    sign_in(browser, person)
    assert key_of(browser) not in (first, "x" * 32)
    assert other_keys(browser) == [first]


def test_a_waiting_sign_in_page_is_not_a_session_of_the_person(app: RelyingParty, bob: Account) -> None:
    app.authorize()
    app.browser.post(CHOOSE, ANOTHER)
    waiting = key_of(app.browser)
    sign_in(app.browser, bob)
    assert key_of(app.browser) != waiting
    assert not Session.objects.filter(pk=hash_of(waiting)).exists()


def test_a_second_sign_in_of_the_same_account_replaces_its_first(browser: Browser, bob: Account) -> None:
    [first] = other_keys(browser)
    browser.post(CHOOSE, ANOTHER)
    sign_in(browser, bob)
    assert listed(browser) == ["bob@example.com", "ada@example.com"]
    assert not Session.objects.filter(pk=hash_of(first)).exists()
    assert not UserSession.objects.filter(session_key=hash_of(first)).exists()


def test_signing_in_after_a_sign_out_joins_the_remaining_accounts(browser: Browser, person: Account) -> None:
    browser.post("/account/logout/")
    sign_in(browser, person)
    assert listed(browser) == ["ada@example.com", "bob@example.com"]


# --- Bounds ---


def test_six_accounts_at_most(browser: Browser) -> None:
    for number in range(4):
        add_account(browser, make_account(f"p{number}@example.com"))
    page = browser.get(CHOOSE)
    assert len(choices_of(page)) == 6
    assert "Use another account" not in page.content.decode()
    refused = browser.post(CHOOSE, ANOTHER)
    assert refused.status_code == 200
    assert "You can be signed in to 6 accounts in one browser." in refused.content.decode()
    assert present(browser) == "p3@example.com"
    assert len(other_keys(browser)) == 5


def test_anonymous_requests_store_nothing(db: None) -> None:
    browser = Browser()
    for form in ({}, ANOTHER, SIGN_OUT_OF_ALL, {"account": "x", "request": "y"}):
        response = browser.post(CHOOSE, form)
        assert response.status_code == 302
    assert not Session.objects.exists()


def test_asking_for_another_account_again_and_again_keeps_one_session(app: RelyingParty) -> None:
    app.authorize()
    for _ in range(3):
        app.browser.post(CHOOSE, ANOTHER)
    assert Session.objects.count() == 2  # Ada's, and the one that the app's request waits in


# --- What ends sessions ends these ---


def change_password(bob: Account, elsewhere: Browser) -> None:
    form = {"oldpassword": PASSWORD, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    assert elsewhere.post("/account/password/change/", form).status_code == 302


def sign_out_everywhere_else(bob: Account, elsewhere: Browser) -> None:
    elsewhere.post("/account/sessions/")


def deactivate(bob: Account, elsewhere: Browser) -> None:
    bob.is_active = False
    bob.save()


def delete(bob: Account, elsewhere: Browser) -> None:
    deleting.delete_account(bob)


def end_everyone(bob: Account, elsewhere: Browser) -> None:
    end_everyones_sessions()


def expire(bob: Account, elsewhere: Browser) -> None:
    from django.utils import timezone

    Session.objects.update(expire_date=timezone.now())


def drop_the_backend(bob: Account, elsewhere: Browser) -> None:
    for row in Session.objects.all():
        data = row.get_decoded() | {BACKEND_SESSION_KEY: "no.such.Backend"}
        Session.objects.filter(pk=row.pk).update(session_data=SessionStore().encode(data))


@pytest.mark.parametrize(
    "end", [change_password, sign_out_everywhere_else, deactivate, delete, end_everyone, expire, drop_the_backend]
)
def test_ending_sessions_ends_waiting_ones_too(
    end: Callable[[Account, Browser], None], browser: Browser, bob: Account
) -> None:
    elsewhere = sign_in(Browser(), bob)
    reference = choices_of(browser.get(CHOOSE))[bob.email]
    end(bob, elsewhere)
    before = other_keys(browser)
    assert "bob@example.com" not in listed(browser)
    plant(browser, *before)
    browser.post(CHOOSE, {"account": reference})
    assert present(browser) != "bob@example.com"
    assert "bob@example.com" not in listed(browser)
    assert other_keys(browser) == []


def test_a_session_that_ends_at_the_moment_of_the_switch_signs_nobody_in(
    browser: Browser, bob: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    from accounts.sessions import browser_accounts

    real = browser_accounts.switch

    def ended_meanwhile(*args: Any) -> None:
        Session.objects.all().delete()
        real(*args)

    monkeypatch.setattr(browser_accounts, "switch", ended_meanwhile)
    assert choose(browser, bob).status_code == 302
    assert present(browser) is None


# --- Signing out ---


def test_sign_out_ends_one_account_and_says_so(browser: Browser, bob: Account) -> None:
    assert "Your other accounts in this browser stay signed in." in browser.get("/account/logout/").content.decode()
    key = key_of(browser)
    response = browser.post("/account/logout/", follow=True)
    text = response.content.decode()
    assert bob.email in text
    assert "still signed in here" in text
    assert "Sign out of all accounts" in text
    assert not Session.objects.filter(pk=hash_of(key)).exists()
    assert present(browser) is None
    choose(browser, bob)
    assert present(browser) == bob.email


def test_signing_out_of_all_ends_every_session_of_this_browser_alone(browser: Browser, bob: Account) -> None:
    elsewhere = sign_in(Browser(), bob)
    keys = [key_of(browser), *other_keys(browser)]
    assert browser.post(CHOOSE, SIGN_OUT_OF_ALL)["Location"] == "/connect/signed-out"
    assert not Session.objects.filter(pk__in=[hash_of(key) for key in keys]).exists()
    assert UserSession.objects.filter(user=bob).count() == 1
    assert listed(browser) == []
    assert other_keys(browser) == []
    for key in keys:
        again = Browser()
        again.cookies[service_settings.SESSION_COOKIE_NAME] = key
        assert present(again) is None
    assert present(elsewhere) == bob.email


def test_the_sessions_page_shows_each_account_its_own(browser: Browser, bob: Account) -> None:
    sign_in(Browser(), bob)
    assert browser.get("/account/sessions/").content.decode().count("session__name") == 1
    choose(browser, bob)
    page = browser.get("/account/sessions/").content.decode()
    assert page.count("session__name") == 2
    assert page.count("This browser") == 1


def test_ending_other_sessions_keeps_the_browsers_other_accounts(browser: Browser, bob: Account) -> None:
    browser.post("/account/sessions/")
    assert listed(browser) == ["ada@example.com", "bob@example.com"]


def test_a_new_secret_key_ends_none_of_them_while_the_old_one_is_named(
    browser: Browser, bob: Account, settings: Any
) -> None:
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key of the operator's, long enough"
    assert listed(browser) == ["ada@example.com", "bob@example.com"]
    choose(browser, bob)
    assert present(browser) == bob.email
    assert listed(browser) == ["bob@example.com", "ada@example.com"]


def test_an_open_account_chooser_stays_valid_after_that(browser: Browser, bob: Account, settings: Any) -> None:
    references = choices_of(browser.get(CHOOSE))
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key of the operator's, long enough"
    browser.post(CHOOSE, {"account": references[bob.email]})
    assert present(browser) == bob.email


# --- Photos ---


def test_the_photo_is_shown_in_this_browser_alone(browser: Browser, bob: Account, tmp_path: Any, settings: Any) -> None:
    from django.core.files.base import ContentFile

    settings.MEDIA_ROOT = tmp_path
    bob.picture.save("b.webp", ContentFile(b"RIFFbob"), save=True)
    url = f"{PHOTO}{choices_of(browser.get(CHOOSE))[bob.email]}"
    assert url in browser.get(CHOOSE).content.decode()
    shown = browser.get(url)
    assert shown.content == b"RIFFbob"
    assert "no-store" in shown["Cache-Control"]
    assert Browser().get(url).status_code == 404
