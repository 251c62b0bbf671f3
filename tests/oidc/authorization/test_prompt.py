"""prompt, max_age, login_hint and id_token_hint (OpenID Connect Core 3.1.2.1)."""

import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from django.test import Client as Browser

from accounts.models import Account
from oidc.authorization.interactions import pending_interactions
from oidc.models import Client, TokenFamily
from tests.accounts.factors.conftest import NEW_PASSWORD, code_mailed_to, give_app
from tests.factories import PASSWORD, make_account, make_client
from tests.relying_party import RelyingParty, age_sign_in, answer_of, claims_of, sign_in
from tests.totp import totp


def path_of(response: Any) -> str:
    assert response.status_code == 302, (response.status_code, response.content[:300])
    return str(urlsplit(response["Location"]).path)


def reauthenticate(browser: Browser, redirect: Any, login: str, password: str = PASSWORD) -> Any:
    """Fill in the page that asks again, and go where it leads, one step."""
    page = browser.get(redirect["Location"])
    assert page.status_code == 200
    form = {"login": login, "password": password, "next": page.context["redirect_field_value"]}
    return browser.post("/account/reauthenticate/", form)


# --- none ---


def test_none_with_a_new_scope_is_consent_required(app: RelyingParty) -> None:
    app.tokens(scope="openid")
    assert answer_of(app.authorize(prompt="none", scope="openid email"))["error"] == "consent_required"


def test_prompt_none_shows_no_page_and_stores_nothing(app: RelyingParty) -> None:
    app.authorize(prompt="none")
    assert not app.browser.session.get("pending_authorizations")


def test_none_with_an_old_sign_in_is_login_required(app: RelyingParty) -> None:
    app.tokens()
    age_sign_in(app.browser, 100)
    assert answer_of(app.authorize(prompt="none", max_age="60"))["error"] == "login_required"
    assert "code" in answer_of(app.authorize(prompt="none", max_age="200"))


@pytest.mark.parametrize("prompt", ["none login", "none consent", "none none", "nonsense", "LOGIN", "login nonsense"])
def test_unknown_prompts_and_none_with_another_value_are_invalid(app: RelyingParty, prompt: str) -> None:
    app.tokens()
    assert answer_of(app.authorize(prompt=prompt))["error"] == "invalid_request"


# --- consent ---


def test_consent_always_asks(app: RelyingParty) -> None:
    app.tokens()
    page = app.authorize(prompt="consent")
    assert page.status_code == 200
    assert "code" in answer_of(app.answer_consent(page))
    assert app.authorize(prompt="consent").status_code == 200


# --- login ---


def test_login_asks_a_signed_in_person_again(app: RelyingParty, person: Account) -> None:
    app.tokens()
    age_sign_in(app.browser, 50)
    before = TokenFamily.objects.latest("pk").auth_time
    response = app.authorize(prompt="login")
    assert path_of(response) == "/account/reauthenticate/"
    back = reauthenticate(app.browser, response, person.email)
    assert path_of(back) == "/connect/resume"
    again = app.browser.get(back["Location"])
    answer = answer_of(app.browser.get(again["Location"]))
    assert app.exchange(answer["code"]).status_code == 200
    assert TokenFamily.objects.latest("pk").auth_time > before


def test_a_wrong_password_does_not_bypass_prompt_login(app: RelyingParty, person: Account) -> None:
    app.tokens()
    response = app.authorize(prompt="login")
    assert reauthenticate(app.browser, response, person.email, "wrong").status_code == 200
    assert path_of(app.authorize(prompt="login")) == "/account/reauthenticate/"


def test_a_new_password_by_mail_leads_back_to_the_app(app: RelyingParty, person: Account) -> None:
    app.tokens()
    app.authorize(prompt="login")
    app.browser.post("/account/password/reset/", {"email": person.email})
    confirmed = app.browser.post("/account/password/reset/confirm/", {"code": code_mailed_to(person.email)})
    response = app.browser.post(confirmed["Location"], {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD})
    assert path_of(response) == "/connect/resume"
    answer = answer_of(app.browser.get(app.browser.get(response["Location"])["Location"]))
    assert app.exchange(answer["code"]).status_code == 200


def test_another_persons_email_address_does_not_bypass_prompt_login(app: RelyingParty) -> None:
    app.tokens()
    other = make_account("bob@example.com")
    assert reauthenticate(app.browser, app.authorize(prompt="login"), other.email).status_code == 200
    assert path_of(app.authorize(prompt="login")) == "/account/reauthenticate/"


@pytest.mark.parametrize("sent", [{"prompt": "login"}, {"max_age": "600"}])
def test_a_password_alone_is_no_new_sign_in_for_people_with_a_second_factor(
    person: Account, spa: Client, sent: dict[str, str]
) -> None:
    secret, app = give_app(person), RelyingParty(spa, Browser())
    app.browser.post("/account/login/", {"login": person.email, "password": PASSWORD})
    app.browser.post("/account/2fa/authenticate/", {"code": totp(secret)})
    app.tokens()
    age_sign_in(app.browser, 3600)
    before = int(time.time())
    asked = reauthenticate(app.browser, app.authorize(**sent), person.email)
    assert path_of(asked) == "/account/2fa/reauthenticate/"
    assert path_of(app.authorize(**sent)) == "/account/reauthenticate/"
    app.browser.post(asked["Location"], {"code": totp(secret, 1)})
    told = claims_of(app.exchange(answer_of(app.authorize(**sent))["code"]).json()["id_token"])
    assert told["auth_time"] >= before


def test_a_password_after_the_second_factor_is_a_new_sign_in(person: Account, spa: Client) -> None:
    secret, app = give_app(person), RelyingParty(spa, Browser())
    app.browser.post("/account/login/", {"login": person.email, "password": PASSWORD})
    app.browser.post("/account/2fa/authenticate/", {"code": totp(secret)})
    app.tokens()
    back = reauthenticate(app.browser, app.authorize(prompt="login"), person.email)
    assert path_of(back) == "/connect/resume"
    assert "code" in answer_of(app.authorize(prompt="login"))


def test_repeating_the_request_does_not_bypass_prompt_login(app: RelyingParty) -> None:
    app.tokens()
    for _ in range(3):
        assert path_of(app.authorize(prompt="login")) == "/account/reauthenticate/"
    resumed = app.browser.get("/connect/resume")
    assert path_of(app.browser.get(resumed["Location"])) == "/account/reauthenticate/"


def test_one_fresh_sign_in_answers_one_login_request(app: RelyingParty, person: Account) -> None:
    app.tokens()
    for _ in range(2):
        back = reauthenticate(app.browser, app.authorize(prompt="login"), person.email)
        again = app.browser.get(back["Location"])
        assert "code" in answer_of(app.browser.get(again["Location"]))


@pytest.mark.parametrize("raw", ["a|b", "{a}", "a\\b", 'a"b'])
def test_login_asks_once_whatever_characters_the_app_leaves_unencoded(
    app: RelyingParty, person: Account, raw: str
) -> None:
    """Browsers send most of them as they are, and Django encodes them in its redirects."""
    app.tokens()
    url = f"/connect/authorize?{urlencode(app.parameters(prompt='login', state=None))}&state={raw}"
    back = reauthenticate(app.browser, app.browser.get(url), person.email)
    again = app.browser.get(back["Location"])
    answer = answer_of(app.browser.get(again["Location"]))
    assert answer["state"] == raw
    assert "code" in answer
    assert not pending_interactions(app.browser.session)


def test_login_takes_a_fresh_first_sign_in(spa: Client, person: Account) -> None:
    app = RelyingParty(spa, Browser())
    assert path_of(app.authorize(prompt="login")) == "/account/login/"
    sign_in(app.browser, person)
    assert app.authorize(prompt="login").status_code == 200


def test_login_and_consent_ask_both(app: RelyingParty, person: Account) -> None:
    app.tokens()
    response = app.authorize(prompt="login consent")
    assert path_of(response) == "/account/reauthenticate/"
    back = reauthenticate(app.browser, response, person.email)
    again = app.browser.get(back["Location"])
    page = app.browser.get(again["Location"])
    assert page.status_code == 200
    assert "code" in answer_of(app.answer_consent(page))


# --- create (select_account: test_account_choice.py) ---


def test_prompt_create_shows_sign_up_to_people_who_are_not_signed_in(spa: Client) -> None:
    response = RelyingParty(spa, Browser()).authorize(prompt="create", login_hint="new@example.com")
    assert path_of(response) == "/account/signup/"
    assert b'value="new@example.com"' in RelyingParty(spa, Browser()).browser.get(response["Location"]).content


def test_prompt_create_does_not_affect_signed_in_people(app: RelyingParty) -> None:
    app.tokens()
    assert "code" in answer_of(app.authorize(prompt="create"))


# --- max_age ---


def test_max_age_asks_again_once_exceeded(app: RelyingParty, person: Account) -> None:
    app.tokens()
    age_sign_in(app.browser, 100)
    assert "code" in answer_of(app.authorize(max_age="1000"))
    assert path_of(app.authorize(max_age="0")) == "/account/reauthenticate/"
    response = app.authorize(max_age="60")
    assert path_of(response) == "/account/reauthenticate/"
    back = reauthenticate(app.browser, response, person.email)
    again = app.browser.get(back["Location"])
    assert "code" in answer_of(app.browser.get(again["Location"]))


@pytest.mark.parametrize("max_age", ["-1", "soon", "1.5", " 5", "9" * 400])
def test_max_age_must_be_a_number_of_seconds(app: RelyingParty, max_age: str) -> None:
    assert answer_of(app.authorize(max_age=max_age))["error"] == "invalid_request"


def test_auth_time_is_the_moment_of_the_sign_in(app: RelyingParty) -> None:
    age_sign_in(app.browser, 500)
    claims = claims_of(app.tokens()["id_token"])
    assert 499 <= claims["iat"] - claims["auth_time"] <= 520


# --- login_hint ---


@pytest.mark.parametrize(
    ("query", "filled_in"),
    [
        ("ada@example.com", "ada@example.com"),
        ("ada+news@example.com", "ada+news@example.com"),
        ("ada%2Bnews@example.com", "ada+news@example.com"),
        ("+ada++news@example.com+", "ada++news@example.com"),
    ],
)
def test_login_hint_fills_in_the_sign_in_page(spa: Client, query: str, filled_in: str) -> None:
    """A plus sign need not be encoded."""
    app = RelyingParty(spa, Browser())
    location = app.browser.get(f"/connect/authorize?{urlencode(app.parameters())}&login_hint={query}")["Location"]
    assert f'value="{filled_in}"' in app.browser.get(location).content.decode()


def test_login_hint_is_only_text(spa: Client) -> None:
    app = RelyingParty(spa, Browser())
    page = app.browser.get(app.authorize(login_hint='"><script>alert(1)</script>')["Location"])
    assert page.status_code == 200
    assert b"<script>alert" not in page.content


# --- id_token_hint ---


def test_id_token_hint_of_the_signed_in_person_is_accepted(app: RelyingParty, later: Callable[[float], None]) -> None:
    hint = app.tokens()["id_token"]
    for seconds in (0, 600):  # also after it has expired
        later(seconds)
        assert "code" in answer_of(app.authorize(id_token_hint=hint))
        assert "code" in answer_of(app.authorize(id_token_hint=hint, prompt="none"))


@pytest.mark.parametrize("prompt", [None, "none"])
def test_the_hint_of_another_person_is_login_required(app: RelyingParty, prompt: str | None) -> None:
    app.tokens()
    other = app.beside(sign_in(Browser(), make_account("bob@example.com")))
    hint = other.tokens()["id_token"]
    assert answer_of(app.authorize(id_token_hint=hint, prompt=prompt))["error"] == "login_required"


def test_a_hint_from_another_project_does_not_name_a_person_here(app: RelyingParty, web_app: RelyingParty) -> None:
    app.tokens()
    hint = web_app.tokens()["id_token"]
    assert answer_of(app.authorize(id_token_hint=hint, prompt="none"))["error"] == "login_required"


def test_a_hint_from_a_client_of_the_same_project_is_accepted(app: RelyingParty) -> None:
    app.tokens()
    sibling = RelyingParty(make_client(app.client.project, name="Orbit Mobile"), app.browser)
    hint = sibling.tokens()["id_token"]
    assert "code" in answer_of(app.authorize(id_token_hint=hint, prompt="none"))


def test_id_token_hint_must_be_an_id_token(app: RelyingParty) -> None:
    for hint in ("x", "eyJhbGciOiJub25lIn0.e30.", "ü", "." * 2000, app.tokens()["access_token"]):
        assert answer_of(app.authorize(id_token_hint=hint))["error"] == "invalid_request", hint
