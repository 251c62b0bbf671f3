"""A copy of the database signs nobody in, and what ends sessions needs no list of them."""

from collections.abc import Callable
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.sessions.models import Session
from django.core import mail
from django.db import connection
from django.test import Client as Browser

from accounts.deletion import deleting
from accounts.models import Account
from accounts.sessions.browser_sessions import end_all_sessions, valid_sessions
from core.http.sessions import SessionStore, hash_of
from tests.accounts.factors.conftest import (
    choose_by_mail,
    code_mailed_to,
    give_app,
    sign_in_as_far_as_possible,
    sign_in_by_mail,
)
from tests.factories import PASSWORD, make_account
from tests.relying_party import age_sign_in, sign_in
from tests.security.test_sessions import is_signed_in
from tests.several_accounts import key_of, other_keys, with_accounts
from tests.totp import totp

COOKIE = settings.SESSION_COOKIE_NAME
NEW_PASSWORD = "another horse 7 battery"


def with_cookie(value: str) -> Browser:
    browser = Browser()
    browser.cookies[COOKIE] = value
    return browser


def stored_keys() -> set[str]:
    return {*Session.objects.values_list("pk", flat=True), *UserSession.objects.values_list("session_key", flat=True)}


def everything_stored() -> str:
    """Return all that the database holds of sessions, as text."""
    rows: list[Any] = [*Session.objects.values_list(), *UserSession.objects.values_list()]
    return str(rows)


# --- What is stored ---


def test_the_session_key_is_in_no_table(signed_in: Browser) -> None:
    signed_in.get("/account/")
    key = signed_in.cookies[COOKIE].value
    assert key not in everything_stored()
    assert stored_keys() == {hash_of(key)}


def test_stored_values_sign_nobody_in(signed_in: Browser) -> None:
    [stored] = stored_keys()
    for value in (stored, stored[:32], stored.ljust(43, "A"), hash_of(stored)):
        assert not is_signed_in(with_cookie(value)), value
    assert is_signed_in(with_cookie(signed_in.cookies[COOKIE].value))


def test_a_form_that_waits_for_reauthentication_is_stored_without_keys(person: Account) -> None:
    browser = with_accounts(make_account(), person)
    age_sign_in(browser, 3600)
    form = {"action_add": "", "email": "new@example.com"}
    headers = {"Authorization": "Basic of-a-proxy", "User-Agent": "a browser"}
    of_the_process: Any = {"KEY_ENCRYPTION_KEY": "of-the-process"}  # granian adds its environment to each request's
    answer = browser.post("/account/email/", form, headers=headers, **of_the_process)
    assert answer["Location"] == "/account/reauthenticate/?next=%2Faccount%2Femail%2F"
    stored = str([row.get_decoded() for row in Session.objects.all()])
    assert "new%40example.com" in stored
    secrets = (key_of(browser), *other_keys(browser), "of-a-proxy", "of-the-process")
    assert len(secrets) == 4
    assert [secret for secret in secrets if secret in stored] == []


def ask_for_reset(person: Account) -> None:
    Browser().post("/account/password/reset/", {"email": person.email})


def ask_for_new_address(person: Account) -> None:
    sign_in(Browser(), person).post("/account/email/", {"action_add": "", "email": "new@example.com"})


def ask_for_sign_up(person: Account) -> None:
    form = {"email": "new@example.com", "given_name": "N", "password1": NEW_PASSWORD}
    Browser().post("/account/signup/", form)


@pytest.mark.parametrize("ask", [ask_for_reset, ask_for_new_address, ask_for_sign_up])
def test_no_mailed_code_can_be_read_in_a_session(ask: Callable[[Account], None], person: Account) -> None:
    ask(person)
    code = code_mailed_to(mail.outbox[-1].to[0])
    sessions = str([row.get_decoded() for row in Session.objects.all()])
    assert mail.outbox[-1].to[0] in sessions
    assert code not in sessions


def test_a_form_that_continues_leaves_the_forms_of_other_tabs_valid(person: Account) -> None:
    browser = sign_in(Browser(), person)
    browser.get("/account/profile")
    token = browser.cookies[settings.CSRF_COOKIE_NAME].value
    age_sign_in(browser, 3600)
    waits = browser.post("/account/2fa/totp/activate/", {"code": "wrong"})
    page = browser.post(waits["Location"], {"login": person.email, "password": PASSWORD})
    assert "code" in page.context["form"].errors
    assert browser.cookies[settings.CSRF_COOKIE_NAME].value == token


@pytest.mark.parametrize("value", ["", "x", "a" * 31, "a" * 33, "a" * 10_000, "ä" * 32, "%00" * 12, '"a b"', "a" * 32])
def test_an_invalid_session_key_is_neither_valid_nor_adopted(value: str, person: Account) -> None:
    browser = with_cookie(value)
    assert not is_signed_in(browser)
    sign_in(browser, person)
    assert browser.cookies[COOKIE].value != value
    assert is_signed_in(browser)


def test_each_sign_in_and_each_password_makes_a_new_key(person: Account) -> None:
    browser = sign_in(Browser(), person)
    first = browser.cookies[COOKIE].value
    form = {"oldpassword": PASSWORD, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    browser.post("/account/password/change/", form)
    second = browser.cookies[COOKIE].value
    assert first != second
    assert is_signed_in(browser)
    assert not is_signed_in(with_cookie(first))
    assert first not in everything_stored()
    assert second not in everything_stored()


@pytest.mark.parametrize("has_factor", [False, True], ids=["password", "password and app"])
@pytest.mark.parametrize("whose", ["their own", "another"])
def test_a_reset_by_someone_who_is_signed_in_makes_a_new_session(whose: str, has_factor: bool, person: Account) -> None:
    browser = sign_in(Browser(), person if whose == "their own" else make_account())
    secret = give_app(person) if has_factor else ""
    first = key_of(browser)
    choose_by_mail(browser, person)
    if has_factor:
        assert browser.get("/account/2fa/authenticate/").status_code == 200
        browser.post("/account/2fa/authenticate/", {"code": totp(secret)})
    assert (is_signed_in(browser), is_signed_in(with_cookie(first))) == (True, False)
    assert browser.session["_auth_user_id"] == str(person.pk)
    person.refresh_from_db()
    assert [entry.session_key for entry in valid_sessions(person)] == [hash_of(key_of(browser))]


def test_a_session_that_gets_a_new_key_while_the_list_is_read_stays_in_it(person: Account) -> None:
    here, there = sign_in(Browser(), person), sign_in(Browser(), person)
    renewed: list[SessionStore] = []

    def renew(execute: Any, sql: str, *rest: Any) -> Any:
        if 'FROM "django_session"' in sql and not renewed:  # the list was read, the sessions were not
            renewed.append(SessionStore(hash_of(key_of(there))))
            renewed[0].cycle_key()
        return execute(sql, *rest)

    with connection.execute_wrapper(renew):
        valid_sessions(person)
    listed = {entry.session_key for entry in valid_sessions(person)}
    assert listed == {hash_of(key_of(here)), renewed[0].session_key}


# --- What ends them ---


def change_password(person: Account, here: Browser) -> None:
    form = {"oldpassword": PASSWORD, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    assert here.post("/account/password/change/", form).status_code == 302


def sign_out_everywhere_else(person: Account, here: Browser) -> None:
    assert here.post("/account/sessions/").status_code == 302


def deactivate_and_reactivate(person: Account, here: Browser) -> None:
    for is_active in (False, True):
        account = Account.objects.get(pk=person.pk)
        account.is_active = is_active
        account.save(update_fields=["is_active"])


def delete(person: Account, here: Browser) -> None:
    deleting.delete_account(Account.objects.get(pk=person.pk))


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize(
    ("end", "stays_here"),
    [
        (change_password, True),
        (sign_out_everywhere_else, True),
        (deactivate_and_reactivate, False),
        (delete, False),
    ],
)
def test_ending_sessions_ends_all_of_them(
    end: Callable[[Account, Browser], None], stays_here: bool, listed: bool, person: Account
) -> None:
    here, elsewhere = sign_in(Browser(), person), sign_in(Browser(), person)
    if not listed:
        UserSession.objects.all().delete()
    end(person, here)
    assert not is_signed_in(elsewhere)
    assert is_signed_in(here) == stays_here


def test_signing_out_elsewhere_ends_copies_of_this_session_too(person: Account) -> None:
    browser = sign_in(Browser(), person)
    stolen = with_cookie(browser.cookies[COOKIE].value)
    assert is_signed_in(stolen)
    started = UserSession.objects.get().created_at
    sign_out_everywhere_else(person, browser)
    assert is_signed_in(browser)
    assert not is_signed_in(stolen)
    assert UserSession.objects.get().created_at == started
    assert "This browser" in browser.get("/account/sessions/").content.decode()


def finish_with_app(browser: Browser, secret: str) -> None:
    browser.post("/account/2fa/authenticate/", {"code": totp(secret)})


def test_ending_sessions_ends_a_reset_that_waits_for_the_second_factor(person: Account) -> None:
    secret = give_app(person)
    browser = sign_in_by_mail(person)
    end_all_sessions(Account.objects.get(pk=person.pk))
    finish_with_app(browser, secret)
    assert not is_signed_in(browser)


@pytest.mark.parametrize("typed", ["before", "after"])
@pytest.mark.parametrize("end", [change_password, sign_out_everywhere_else, deactivate_and_reactivate])
def test_a_reset_code_from_before_sets_no_password(
    end: Callable[[Account, Browser], None], typed: str, person: Account
) -> None:
    """Someone who could read the mailbox for a moment can't use the code after the owner has reacted."""
    owner, thief = sign_in(Browser(), person), Browser()
    thief.post("/account/password/reset/", {"email": person.email})
    code = {"code": code_mailed_to(person.email)}
    if typed == "before":
        thief.post("/account/password/reset/confirm/", code)
    end(person, owner)
    if typed == "after":
        assert thief.post("/account/password/reset/confirm/", code)["Location"] == "/account/login/"
    password = Account.objects.get(pk=person.pk).password
    form = {"password1": "another thief 7 battery", "password2": "another thief 7 battery"}
    leads_to = "/account/login/" if typed == "before" else "/account/password/reset/"
    assert thief.post("/account/password/reset/complete/", form)["Location"] == leads_to
    assert Account.objects.get(pk=person.pk).password == password


def test_a_reset_sets_no_password_of_an_account_that_is_off(person: Account) -> None:
    browser = Browser()
    browser.post("/account/password/reset/", {"email": person.email})
    browser.post("/account/password/reset/confirm/", {"code": code_mailed_to(person.email)})
    person.is_active = False
    person.save(update_fields=["is_active"])
    browser.post("/account/password/reset/complete/", {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD})
    assert not Account.objects.get(pk=person.pk).check_password(NEW_PASSWORD)


def test_ending_sessions_ends_a_sign_in_even_after_the_rejected_reset_of_another_account(person: Account) -> None:
    secret, thief = give_app(person), make_account("thief@example.com")
    browser, _ = sign_in_as_far_as_possible(person)
    browser.post("/account/password/reset/", {"email": thief.email})
    browser.post("/account/password/reset/confirm/", {"code": code_mailed_to(thief.email)})
    for rows in (Account.objects.filter(pk=thief.pk), EmailAddress.objects.filter(user=thief)):
        rows.update(email="thief@work.example.com")
    rejected = {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    assert browser.post("/account/password/reset/complete/", rejected)["Location"] == "/account/login/"
    end_all_sessions(Account.objects.get(pk=person.pk))
    finish_with_app(browser, secret)
    assert not is_signed_in(browser)


def test_the_form_is_shown_even_with_a_single_session(signed_in: Browser) -> None:
    page = signed_in.get("/account/sessions/").content.decode()
    assert "Sign out everywhere else" in page
    assert 'action="/account/sessions/"' in page


def test_sessions_of_other_people_continue(person: Account, client: Browser) -> None:
    other = sign_in(Browser(), make_account())
    sign_out_everywhere_else(person, sign_in(client, person))
    assert is_signed_in(other)


def test_deleting_a_person_deletes_their_session_records(person: Account) -> None:
    sign_in(Browser(), person)
    deleting.delete_account(person)
    assert not Session.objects.exists()


def test_a_profile_that_is_saved_late_brings_nothing_back(person: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    from accounts.views.forms import ProfileForm

    form = ProfileForm({"given_name": "Late"}, instance=Account.objects.get(pk=person.pk))
    assert form.is_valid()
    account = Account.objects.get(pk=person.pk)
    account.is_active = False
    account.save(update_fields=["is_active"])
    stamp = account.session_stamp
    form.save()
    account.refresh_from_db()
    assert (account.given_name, account.is_active, account.session_stamp) == ("Late", False, stamp)
