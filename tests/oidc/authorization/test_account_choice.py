"""The account chooser on the way to an app: select_account, login_hint, id_token_hint, switching at consent."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client as Browser

from accounts.models import Account
from core import clock
from oidc.models import Client, Connection
from tests.factories import PASSWORD, make_account, make_client, make_project
from tests.oidc.test_budgets import Counted
from tests.relying_party import RelyingParty, age_sign_in, answer_of, claims_of, sign_in
from tests.several_accounts import (
    ANOTHER,
    CHOOSE,
    add_account,
    choices_of,
    choose,
    other_keys,
    present,
    with_accounts,
)


@pytest.fixture
def bob(db: None) -> Account:
    return make_account("bob@example.com", given_name="Bob", family_name="Boole")


@pytest.fixture
def both(spa: Client, person: Account, bob: Account) -> RelyingParty:
    """An app in front of a browser in which Bob and Ada (`person`) are signed in, Ada at present."""
    return RelyingParty(spa, with_accounts(bob, person))


def leads_to_chooser(response: Any) -> bool:
    return bool(response.status_code == 302 and response["Location"].startswith(f"{CHOOSE}?request="))


def email_of(app: RelyingParty, response: Any) -> str:
    """Return whom the app learns of, after consent where that is asked for."""
    claims = claims_of(app.exchange(answer_of(app.consent_if_asked(response))["code"]).json()["id_token"])
    return str(claims["email"])


# --- prompt=select_account ---


def test_select_account_shows_the_accounts_of_this_browser(both: RelyingParty) -> None:
    both.tokens()
    response = both.authorize(prompt="select_account")
    assert leads_to_chooser(response)
    page = both.browser.get(response["Location"])
    assert [*choices_of(page)] == ["ada@example.com", "bob@example.com"]
    text = page.content.decode()
    assert "Use another account" in text
    assert "Orbit Notes" in text


def test_account_choice_is_shown_even_with_one_account(app: RelyingParty, person: Account) -> None:
    app.tokens()
    response = app.authorize(prompt="select_account")
    assert leads_to_chooser(response)
    back = choose(app.browser, person, response["Location"])
    assert email_of(app, app.browser.get(back["Location"])) == person.email


def test_choosing_another_signed_in_account_needs_no_sign_in(both: RelyingParty, bob: Account) -> None:
    both.tokens()
    back = choose(both.browser, bob, both.authorize(prompt="select_account")["Location"])
    assert email_of(both, both.browser.get(back["Location"])) == bob.email
    assert present(both.browser) == bob.email


def test_a_choice_needs_no_sign_in_and_is_used_for_one_request_only(both: RelyingParty, person: Account) -> None:
    age_sign_in(both.browser, 5000)
    both.tokens()
    for _ in range(2):
        back = choose(both.browser, person, both.authorize(prompt="select_account")["Location"])
        assert "code" in answer_of(both.browser.get(back["Location"]))
    other_request = RelyingParty(both.client, both.browser)
    assert leads_to_chooser(other_request.authorize(prompt="select_account"))


def test_a_choice_is_not_used_for_another_account(both: RelyingParty, person: Account, bob: Account) -> None:
    url = both.authorize(prompt="select_account")["Location"]
    choose(both.browser, person, url)
    choose(both.browser, bob)  # from the header: for no request
    assert leads_to_chooser(both.authorize(prompt="select_account"))


def test_select_account_with_login_asks_for_the_chosen_persons_password(both: RelyingParty, bob: Account) -> None:
    both.tokens()
    response = both.authorize(prompt="login select_account")
    assert leads_to_chooser(response)
    again = both.browser.get(choose(both.browser, bob, response["Location"])["Location"])
    assert urlsplit(again["Location"]).path == "/account/reauthenticate/"
    signed_in = both.browser.post(again["Location"], {"login": bob.email, "password": PASSWORD})
    resumed = both.browser.get(signed_in["Location"])
    assert email_of(both, both.browser.get(resumed["Location"])) == bob.email


def test_max_age_applies_to_the_chosen_account(both: RelyingParty, person: Account, bob: Account) -> None:
    choose(both.browser, bob)
    age_sign_in(both.browser, 5000)
    choose(both.browser, person)
    assert both.authorize(max_age="600").status_code == 200
    back = choose(both.browser, bob, both.authorize(max_age="600", prompt="select_account")["Location"])
    assert urlsplit(both.browser.get(back["Location"])["Location"]).path == "/account/reauthenticate/"


def test_using_another_account_adds_one_and_keeps_the_request(both: RelyingParty) -> None:
    cyd = make_account("cyd@example.com")
    response = both.authorize(prompt="select_account")
    key = parse_qs(urlsplit(response["Location"]).query)["request"][0]
    leads = both.browser.post(CHOOSE, ANOTHER | {"request": key})
    assert urlsplit(leads["Location"]).path == "/account/login/"
    back_to = parse_qs(urlsplit(leads["Location"]).query)["next"][0]
    form = {"login": cyd.email, "password": PASSWORD, "next": back_to}
    resumed = both.browser.get(both.browser.post("/account/login/", form)["Location"])
    assert email_of(both, both.browser.get(resumed["Location"])) == cyd.email
    assert [*choices_of(both.browser.get(CHOOSE))] == [cyd.email, "ada@example.com", "bob@example.com"]


# --- Consent ---


def test_switching_accounts_at_consent_continues_as_the_other_account(both: RelyingParty, bob: Account) -> None:
    page = both.authorize()
    assert b"ada@example.com" in page.content
    back = choose(both.browser, bob, page.context["choose_url"])
    shown = both.browser.get(back["Location"])
    assert b"bob@example.com" in shown.content
    assert b"ada@example.com" not in shown.content
    assert email_of(both, shown) == bob.email
    assert [*Connection.objects.values_list("account__email", flat=True)] == [bob.email]


def test_everything_is_checked_again_after_a_switch(both: RelyingParty, bob: Account) -> None:
    url = both.authorize().context["choose_url"]
    Client.objects.update(enabled=False)
    back = choose(both.browser, bob, url)
    assert both.browser.get(back["Location"]).status_code == 403


def test_an_account_chosen_from_the_header_goes_to_its_own_pages(both: RelyingParty, bob: Account) -> None:
    both.authorize()
    assert choose(both.browser, bob)["Location"] == "/account/"
    assert b"Orbit Notes</strong> is waiting" in both.browser.get("/account/").content


# --- Nobody present ---


def test_after_sign_out_the_other_accounts_are_offered(both: RelyingParty, bob: Account) -> None:
    both.browser.post("/account/logout/")
    assert answer_of(both.authorize(prompt="none"))["error"] == "login_required"
    response = both.authorize()
    assert leads_to_chooser(response)
    assert [*choices_of(both.browser.get(response["Location"]))] == [bob.email]
    back = choose(both.browser, bob, response["Location"])
    assert email_of(both, both.browser.get(back["Location"])) == bob.email


def test_without_signed_in_accounts_the_sign_in_page_is_shown(both: RelyingParty, bob: Account) -> None:
    both.browser.post("/account/logout/")
    bob.is_active = False
    bob.save()
    leads = both.browser.get(both.authorize(login_hint="eve@example.com")["Location"])
    assert urlsplit(leads["Location"]).path == "/account/login/"
    assert "request%3D" in leads["Location"]
    assert urlsplit(both.authorize()["Location"]).path == "/account/login/"  # the cookie is gone


def test_prompt_create_shows_sign_up_although_accounts_are_signed_in(both: RelyingParty) -> None:
    both.browser.post("/account/logout/")
    assert urlsplit(both.authorize(prompt="create")["Location"]).path == "/account/signup/"


# --- login_hint ---


def test_login_hint_lists_the_hinted_account_first(both: RelyingParty, bob: Account) -> None:
    both.tokens()
    response = both.authorize(login_hint=" BOB@example.com")
    assert leads_to_chooser(response)
    page = both.browser.get(response["Location"])
    assert [*choices_of(page)] == [bob.email, "ada@example.com"]
    assert page.content.decode().count("Asked for") == 1
    assert email_of(both, both.browser.get(choose(both.browser, bob, response["Location"])["Location"])) == bob.email


def test_the_chosen_account_is_used_even_if_the_hint_differs(both: RelyingParty, person: Account) -> None:
    both.tokens()
    back = choose(both.browser, person, both.authorize(login_hint="bob@example.com")["Location"])
    assert "code" in answer_of(both.browser.get(back["Location"]))


def test_login_hint_of_an_unknown_account_shows_the_sign_in_page(both: RelyingParty) -> None:
    key = both.authorize(login_hint="cyd@example.com")["Location"].partition("request=")[2]
    leads = both.browser.post(CHOOSE, ANOTHER | {"request": key})
    assert parse_qs(urlsplit(leads["Location"]).query)["login_hint"] == ["cyd@example.com"]


@pytest.mark.parametrize("hint", ["ada@example.com", "ADA@example.com"])
def test_login_hint_of_the_current_account_continues(both: RelyingParty, hint: str) -> None:
    assert both.authorize(login_hint=hint).status_code == 200  # the consent page, which comes anyway
    both.tokens()
    assert "code" in answer_of(both.authorize(login_hint=hint))


def test_with_one_account_a_hint_changes_nothing(app: RelyingParty) -> None:
    app.tokens()
    assert "code" in answer_of(app.authorize(login_hint="bob@example.com"))


@pytest.mark.parametrize("hint", ["bob@example.com", "ada@example.com", "nobody@example.com"])
def test_login_hint_reveals_no_email_addresses_to_apps(both: RelyingParty, hint: str) -> None:
    """Whether a page comes must not depend on whose address an app guesses."""
    both.tokens(scope="openid")
    assert leads_to_chooser(both.authorize(scope="openid", login_hint=hint))
    assert "code" in answer_of(both.authorize(scope="openid", login_hint=hint, prompt="none"))


@pytest.mark.parametrize("left_out", ["email", "email offline_access"])
@pytest.mark.parametrize("hint", ["ada@example.com", "bob@example.com", "nobody@example.com"])
def test_login_hint_reveals_no_email_address_that_was_not_granted(both: RelyingParty, hint: str, left_out: str) -> None:
    """A scope that the person left out is not asked for again, so it brings no page that would hide the answer."""
    Client.objects.filter(pk=both.client.pk).update(optional_scopes=left_out)
    scope = "openid email profile offline_access"
    both.answer_consent(both.authorize(scope=scope))
    assert Connection.objects.get(client=both.client).left_out
    assert leads_to_chooser(both.authorize(scope=scope, login_hint=hint))
    assert leads_to_chooser(both.authorize(scope="openid", login_hint=hint))
    assert "code" in answer_of(both.authorize(scope=scope, login_hint=hint, prompt="none"))


def test_login_hint_leads_to_the_consent_page_for_new_scopes(both: RelyingParty) -> None:
    Client.objects.filter(pk=both.client.pk).update(optional_scopes="email")
    both.answer_consent(both.authorize(scope="openid email"))
    assert both.authorize(scope="openid email profile", login_hint="ada@example.com").status_code == 200


# --- An app that several accounts have allowed ---


@pytest.fixture
def allowed_twice(both: RelyingParty, bob: Account) -> RelyingParty:
    """The app, after Ada and Bob have allowed it."""
    both.beside(sign_in(Browser(), bob)).tokens()
    both.tokens()
    return both


def set_which(browser: Browser, which: str) -> None:
    assert browser.post("/account/apps/which-account", {"which": which})["Location"] == "/account/apps/"


def test_an_app_that_two_accounts_allowed_shows_the_chooser(allowed_twice: RelyingParty, bob: Account) -> None:
    response = allowed_twice.authorize()
    assert leads_to_chooser(response)
    page = allowed_twice.browser.get(response["Location"])
    assert "You can turn this question off" in page.content.decode()
    back = choose(allowed_twice.browser, bob, response["Location"])
    assert email_of(allowed_twice, allowed_twice.browser.get(back["Location"])) == bob.email
    assert leads_to_chooser(allowed_twice.authorize(state="next")), "every time"


def test_the_person_can_choose_to_continue_with_the_last_account(
    allowed_twice: RelyingParty, bob: Account, person: Account
) -> None:
    browser = allowed_twice.browser
    assert 'value="ask" checked' in browser.get("/account/apps/").content.decode()
    set_which(browser, "last")
    assert 'value="last" checked' in browser.get("/account/apps/").content.decode()
    assert email_of(allowed_twice, allowed_twice.authorize()) == person.email
    choose(browser, bob)
    assert leads_to_chooser(allowed_twice.authorize()), "it is Ada's setting"
    set_which(browser, "last")
    assert email_of(allowed_twice, allowed_twice.authorize()) == bob.email
    set_which(browser, "ask")
    assert leads_to_chooser(allowed_twice.authorize(state="next"))


@pytest.mark.parametrize("which", ["", "never", "\x00"])
def test_other_settings_change_nothing(signed_in: Browser, person: Account, which: str) -> None:
    set_which(signed_in, "last")
    signed_in.post("/account/apps/which-account", {"which": which})
    person.refresh_from_db()
    assert person.asks_which_account is False


def test_hints_name_the_account_already(allowed_twice: RelyingParty, person: Account) -> None:
    token = allowed_twice.beside(sign_in(Browser(), person)).tokens()["id_token"]
    for changes in ({"login_hint": person.email}, {"id_token_hint": token}, {"prompt": "none"}):
        assert "code" in answer_of(allowed_twice.authorize(**changes)), changes


def test_only_accounts_that_allow_the_app_cause_the_chooser(both: RelyingParty, bob: Account) -> None:
    """Otherwise the app could find out that someone else uses this browser."""
    both.tokens()
    other = RelyingParty(make_client(make_project(), name="Tern"), sign_in(Browser(), bob))
    other.tokens()
    assert "code" in answer_of(both.authorize())
    both.beside(sign_in(Browser(), bob)).tokens()
    assert leads_to_chooser(both.authorize())
    Connection.objects.filter(client=both.client, account=bob).update(removed_at=clock.now())
    assert "code" in answer_of(both.authorize())


def test_an_account_that_was_signed_out_does_not_count(allowed_twice: RelyingParty, bob: Account) -> None:
    bob.is_active = False
    bob.save()
    assert "code" in answer_of(allowed_twice.authorize())


# --- id_token_hint ---


def hint_of_bob(app: RelyingParty, bob: Account) -> str:
    return str(app.beside(sign_in(Browser(), bob)).tokens()["id_token"])


def test_the_id_token_of_another_account_offers_it_first(both: RelyingParty, bob: Account) -> None:
    both.tokens()
    response = both.authorize(id_token_hint=hint_of_bob(both, bob))
    assert leads_to_chooser(response)
    assert [*choices_of(both.browser.get(response["Location"]))] == [bob.email, "ada@example.com"]
    back = choose(both.browser, bob, response["Location"])
    assert email_of(both, both.browser.get(back["Location"])) == bob.email


def test_the_app_gets_an_error_if_another_account_is_chosen(both: RelyingParty, person: Account, bob: Account) -> None:
    both.tokens()
    hint = hint_of_bob(both, bob)
    assert answer_of(both.authorize(id_token_hint=hint, prompt="none"))["error"] == "login_required"
    back = choose(both.browser, person, both.authorize(id_token_hint=hint)["Location"])
    assert answer_of(both.browser.get(back["Location"]))["error"] == "login_required"


def test_an_id_token_of_someone_elsewhere_looks_the_same_to_the_app(both: RelyingParty) -> None:
    eve = make_account("eve@example.com")
    response = both.authorize(id_token_hint=hint_of_bob(both, eve))
    assert leads_to_chooser(response)
    assert "Asked for" not in both.browser.get(response["Location"]).content.decode()


def test_one_other_account_returns_login_required(app: RelyingParty) -> None:
    eve = make_account("eve@example.com")
    assert answer_of(app.authorize(id_token_hint=hint_of_bob(app, eve)))["error"] == "login_required"


# --- Where else it is offered ---


def test_the_page_that_asks_again_leads_to_the_chooser(both: RelyingParty, bob: Account) -> None:
    both.tokens()
    page = both.browser.get(both.authorize(prompt="login")["Location"])
    key = page.context["asking"]()["request_key"]
    assert f'href="{CHOOSE}?request={key}"' in page.content.decode()
    assert "Choose an account" not in page.content.decode()


def test_the_sign_in_page_leads_back_to_it(both: RelyingParty) -> None:
    assert CHOOSE not in Browser().get("/account/login/").content.decode()
    leads = both.browser.post(CHOOSE, ANOTHER)
    assert f'href="{CHOOSE}"' in both.browser.get(leads["Location"]).content.decode()


def test_an_unfinished_sign_in_signs_nobody_out(both: RelyingParty, bob: Account) -> None:
    unproven = make_account("eve@example.com", verified=False)
    both.authorize()
    both.browser.post(CHOOSE, ANOTHER)
    form = {"login": unproven.email, "password": PASSWORD}
    page = both.browser.get(both.browser.post("/account/login/", form)["Location"])
    key = page.context["asking"]()["request_key"]
    left = both.browser.post(CHOOSE, ANOTHER | {"request": key})
    assert "request%3D" in left["Location"]
    assert both.browser.get(left["Location"]).status_code == 200
    assert {*choices_of(both.browser.get(CHOOSE))} == {bob.email, "ada@example.com"}


# --- Statements ---


def test_the_account_choice_needs_few_statements(both: RelyingParty, spa: Client) -> None:
    for number in range(4):
        add_account(both.browser, make_account(f"p{number}@example.com"))
    assert len(other_keys(both.browser)) == 5
    for url in (CHOOSE, both.authorize(prompt="select_account")["Location"]):
        with Counted() as counted:
            page = both.browser.get(url)
        assert len(choices_of(page)) == 6
        assert len(counted.statements) <= 6, "\n".join(counted.statements)


def test_other_pages_do_not_load_other_accounts(both: RelyingParty) -> None:
    single = RelyingParty(both.client, sign_in(Browser(), make_account()))
    for path in ("/account/", "/account/apps/", "/account/sessions/"):
        counts = []
        for app in (both, single):
            app.browser.get(path)
            with Counted() as counted:
                app.browser.get(path)
            counts.append(len(counted.statements))
        assert counts[0] == counts[1], path
