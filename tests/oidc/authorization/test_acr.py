"""Apps that ask for more: acr_values, `acr` in claims, a least level (docs/sign-in.md#authentication-levels)."""

import json
import time
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.test import Client as Browser

from accounts.models import Account
from oidc.models import Client, TokenFamily
from oidc.models.clients import MULTI_FACTOR, PHISHING_RESISTANT
from tests.factories import PASSWORD, make_account
from tests.relying_party import RelyingParty, age_sign_in, answer_of, claims_of, sign_in
from tests.soft_key import A_YEAR_AGO, SoftKey, add_key, give_key
from tests.totp import totp

UNMET = "unmet_authentication_requirements"


def essential(*values: str) -> str:
    return json.dumps({"id_token": {"acr": {"essential": True, "values": list(values)}}})


def confirm_password(browser: Browser, person: Account) -> None:
    browser.post("/account/reauthenticate/", {"login": person.email, "password": PASSWORD})


def set_up_app(person: Account) -> str:
    """Give the person an authenticator app that they have had for a year."""
    secret: str = generate_totp_secret()
    TOTP.activate(person, secret)
    Authenticator.objects.filter(user=person).update(created_at=A_YEAR_AGO)
    return secret


@pytest.fixture
def key(app: RelyingParty, person: Account) -> SoftKey:
    """A key that the person has had for a year."""
    made = SoftKey()
    give_key(person, made)
    return made


def shows(page: Any, heading: str) -> bool:
    assert page.status_code == 200, page
    return f"asks for {heading}" in page.content.decode()


def press(app: RelyingParty, page: Any, decision: str) -> Any:
    return app.browser.post("/connect/step-up", {"reference": page.context["reference"], "decision": decision})


def use_key(app: RelyingParty, page: Any, key: SoftKey) -> Any:
    """Use the key on the page that asks for it, and return where that leads."""
    credential = key.signed(page.context["js_data"]["request_options"])
    back = app.browser.post("/connect/step-up", {"reference": page.context["reference"], "credential": credential})
    assert back.status_code == 303, back
    return app.browser.get(back["Location"])


def follow_code_link(app: RelyingParty, page: Any, code: str) -> Any:
    """Type a code behind the page's link, and go where it leads, to the authorization endpoint."""
    query = parse_qs(urlsplit(page.context["next_url"]).query)
    back = app.browser.post("/account/2fa/reauthenticate/", {"code": code, "next": query["next"][0]})
    return app.browser.get(app.browser.get(back["Location"])["Location"])


def tokens_after(app: RelyingParty, response: Any) -> dict[str, Any]:
    """Consent if asked, exchange, and return the token answer."""
    answer: dict[str, Any] = app.exchange(answer_of(app.consent_if_asked(response))["code"]).json()
    return answer


# --- As it was ---


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"acr_values": "1 2"},
        {"acr_values": "PHR phrh urn:okta:loa:2fa:any"},
        {"claims": '{"id_token":{"acr":{"values":["gold"]}}}'},
        {"claims": '{"userinfo":{"acr":{"essential":true,"value":"phr"},"email":null}}'},
        {"claims": '{"id_token":{"email":{"essential":true}}}'},
    ],
)
def test_tokens_have_no_acr_without_a_known_level(app: RelyingParty, sent: dict[str, str]) -> None:
    tokens = app.tokens(**sent)
    assert set(claims_of(tokens["id_token"])) == {
        "sub", "email", "email_verified", "name", "given_name", "family_name",
        "iss", "aud", "exp", "iat", "auth_time", "nonce", "at_hash", "sid",
    }  # fmt: skip
    assert set(claims_of(tokens["access_token"])) == {"iss", "sub", "aud", "client_id", "scope", "iat", "exp", "jti"}
    assert TokenFamily.objects.get().authentication_claims is None


# --- What was done ---


def test_a_password_alone_reaches_no_level(app: RelyingParty) -> None:
    claims = claims_of(app.tokens(claims='{"id_token":{"acr":null}}')["id_token"])
    assert "acr" not in claims
    assert claims["amr"] == ["pwd"]


def test_a_password_and_a_code_are_two_factors(spa: Client, person: Account) -> None:
    secret = set_up_app(person)
    browser = Browser()
    step = browser.post("/account/login/", {"login": person.email, "password": PASSWORD})
    browser.post(step["Location"], {"code": totp(secret)})
    tokens = RelyingParty(spa, browser).tokens(acr_values=MULTI_FACTOR)
    told = claims_of(tokens["id_token"])
    assert (told["acr"], told["amr"]) == (MULTI_FACTOR, ["otp", "pwd", "mfa"])


def test_a_passkey_that_signs_in_is_phishing_resistant(app: RelyingParty, person: Account, key: SoftKey) -> None:
    browser = Browser()
    options = browser.get("/account/2fa/webauthn/login/", headers={"X-Requested-With": "XMLHttpRequest"}).json()
    form = {"credential": key.signed(options["request_options"], person)}
    assert browser.post("/account/2fa/webauthn/login/", form).status_code == 302
    told = claims_of(app.beside(browser).tokens(acr_values="phr")["id_token"])
    assert (told["acr"], told["amr"]) == ("phr", ["pop", "user", "mfa"])


def test_all_tokens_of_a_family_have_the_level(app: RelyingParty, key: SoftKey) -> None:
    page = app.authorize(acr_values="phr")
    tokens = tokens_after(app, use_key(app, page, key))
    later = app.refresh(tokens["refresh_token"]).json()
    for answer in (tokens, later):
        id_token, access_token = claims_of(answer["id_token"]), claims_of(answer["access_token"])
        assert id_token["acr"] == access_token["acr"] == "phr"
        assert id_token["amr"] == access_token["amr"] == ["pop", "pwd", "user", "mfa"]
        assert id_token["auth_time"] == access_token["auth_time"]
    assert app.call("/v1/me", later["access_token"]).status_code == 200


def test_a_stronger_level_is_returned_under_the_requested_name(app: RelyingParty, key: SoftKey) -> None:
    tokens_after(app, use_key(app, app.authorize(acr_values="phr"), key))
    for sent in ({"acr_values": MULTI_FACTOR}, {"claims": essential(MULTI_FACTOR, "gold")}):
        assert claims_of(tokens_after(app, app.authorize(**sent))["id_token"])["acr"] == MULTI_FACTOR
    assert claims_of(app.tokens(claims='{"id_token":{"acr":null}}')["id_token"])["acr"] == "phr"


def test_a_level_is_not_used_for_another_person(app: RelyingParty, key: SoftKey) -> None:
    tokens_after(app, use_key(app, app.authorize(acr_values="phr"), key))
    app.browser.post("/account/choose", {"decision": "another"})
    sign_in(app.browser, make_account("bob@example.com"))
    assert "acr" not in claims_of(app.tokens(acr_values="phr")["id_token"])
    # Both accounts have allowed the app by now, so a request has to name the one that it is for.
    assert shows(app.authorize(claims=essential("phr"), login_hint="bob@example.com"), "a passkey")


def test_records_of_another_person_are_ignored(app: RelyingParty, person: Account) -> None:
    for of, is_asked in ((str(person.pk + 1), True), (str(person.pk), False)):
        app.code()
        session = app.browser.session
        step = {"kind": "webauthn", "at": time.time(), "verified": True}
        session["authentication_steps"] = {"of": of, "steps": [step]}
        session.save()
        response = app.authorize(claims=essential("phr"))
        assert shows(response, "a passkey") if is_asked else answer_of(response)["code"]


# --- What has to be met ---


def test_people_without_a_passkey_set_one_up_and_return(app: RelyingParty, person: Account) -> None:
    page = app.authorize(claims=essential("phr"))
    assert shows(page, "a passkey")
    assert "Set up a passkey" in page.content.decode()
    confirm_password(app.browser, person)
    assert add_key(app.browser, SoftKey()).status_code == 302
    waiting = app.browser.get("/account/2fa/")
    assert f"Continue to {app.client.name}" in waiting.content.decode()
    back = app.browser.get(app.browser.get(waiting.context["waiting_app"]()["resume_url"])["Location"])
    assert claims_of(tokens_after(app, back)["id_token"])["acr"] == "phr"


def test_people_with_a_passkey_are_asked_for_it(app: RelyingParty, key: SoftKey) -> None:
    page = app.authorize(claims=essential("phr"))
    assert page.context["js_data"]["request_options"]["publicKey"]["userVerification"] == "required"
    assert claims_of(tokens_after(app, use_key(app, page, key))["id_token"])["acr"] == "phr"
    assert answer_of(app.authorize(claims=essential("phr")))["code"]  # done in this session


def test_a_key_without_user_verification_is_not_enough(app: RelyingParty, key: SoftKey) -> None:
    key.verifies = False
    page = app.authorize(claims=essential("phr"))
    again = use_key(app, page, key)
    assert shows(again, "a passkey")
    assert "was not accepted" in again.content.decode()
    # Beside a password it is a second factor all the same.
    two = app.authorize(claims=essential(MULTI_FACTOR))
    told = claims_of(tokens_after(app, use_key(app, two, key))["id_token"])
    assert (told["acr"], told["amr"]) == (MULTI_FACTOR, ["pop", "pwd", "user", "mfa"])
    assert shows(app.authorize(claims=essential("phr")), "a passkey")


def test_a_password_followed_by_a_code_counts_as_two_factors(app: RelyingParty, person: Account) -> None:
    secret = set_up_app(person)
    page = app.authorize(claims=essential(MULTI_FACTOR))
    assert shows(page, "two-step verification")
    assert claims_of(tokens_after(app, follow_code_link(app, page, totp(secret)))["id_token"])["acr"] == MULTI_FACTOR
    assert shows(app.authorize(claims=essential("phr")), "a passkey"), "a code does not count as one"


@pytest.mark.django_db(transaction=True)  # allauth says so once the app is stored
def test_setting_up_an_authenticator_app_counts(app: RelyingParty, person: Account) -> None:
    assert "Set up an authenticator app" in app.authorize(claims=essential(MULTI_FACTOR)).content.decode()
    confirm_password(app.browser, person)
    form = app.browser.get("/account/2fa/totp/activate/").context["form"]
    app.browser.post("/account/2fa/totp/activate/", {"code": totp(form.secret)})
    assert (
        claims_of(tokens_after(app, app.authorize(claims=essential(MULTI_FACTOR)))["id_token"])["acr"] == MULTI_FACTOR
    )


def test_showing_recovery_codes_is_not_a_sign_in_step(app: RelyingParty, person: Account, key: SoftKey) -> None:
    """Getting recovery codes proves nothing; only the key that brings them does, in the browser where it was used."""
    page = app.authorize(claims=essential(MULTI_FACTOR))
    assert shows(page, "two-step verification")
    confirm_password(app.browser, person)
    app.browser.post("/account/2fa/recovery-codes/generate/")
    assert shows(app.authorize(claims=essential(MULTI_FACTOR)), "two-step verification")


@pytest.mark.parametrize("values", [["gold", "PHR"], [""], ["phr\x00"], ["\ud800"]])
def test_an_unsupported_level_is_rejected_immediately(app: RelyingParty, values: list[str]) -> None:
    for asking in (app, app.beside(Browser())):
        answer = answer_of(asking.authorize(claims=essential(*values)))
        assert (answer["error"], answer["state"]) == (UNMET, asking.state)


def test_prompt_none_shows_no_page_for_a_missing_level(app: RelyingParty, key: SoftKey) -> None:
    app.tokens()
    answer = answer_of(app.authorize(claims=essential("phr"), prompt="none"))
    assert (answer["error"], answer["state"], answer["iss"]) == (UNMET, app.state, "http://localhost:8000/")
    assert answer_of(app.authorize(acr_values="phr", prompt="none"))["code"]
    use_key(app, app.authorize(claims=essential("phr")), key)
    assert answer_of(app.authorize(claims=essential("phr"), prompt="none"))["code"]


@pytest.mark.parametrize(
    ("sent", "error"), [({"claims": essential("phr")}, UNMET), ({"acr_values": "phr"}, "access_denied")]
)
def test_cancel_returns_to_the_app(app: RelyingParty, key: SoftKey, sent: dict[str, str], error: str) -> None:
    page = app.authorize(**sent)
    for _ in range(2):  # the button may be pressed twice
        answer = answer_of(press(app, page, "cancel"))
        assert (answer["error"], answer["state"]) == (error, app.state)


def test_the_form_sent_twice_leads_to_the_app_by_a_page_both_times(app: RelyingParty, key: SoftKey) -> None:
    app.code()
    page = app.authorize(acr_values="phr")
    for _ in range(2):
        back = app.browser.get(press(app, page, "go-on")["Location"])
        assert (back.status_code, "code" in answer_of(back)) == (200, True)


def test_a_required_level_can_not_be_skipped(app: RelyingParty) -> None:
    page = app.authorize(claims=essential("phr"))
    back = press(app, page, "go-on")
    assert shows(app.browser.get(back["Location"]), "a passkey")


@pytest.mark.parametrize("reference", ["", "x", "x:y:z", "\x00", "a" * 5000])
def test_a_forged_reference_does_nothing(app: RelyingParty, reference: str) -> None:
    app.authorize(claims=essential("phr"))
    for decision in ("cancel", "go-on", ""):
        back = app.browser.post("/connect/step-up", {"reference": reference, "decision": decision, "credential": "{}"})
        assert (back.status_code, back["Location"]) == (302, "/connect/resume")


@pytest.mark.parametrize("credential", ["", "{", "[]", '{"response":{}}', "9" * 3000])
def test_a_broken_credential_is_refused_in_the_page(app: RelyingParty, key: SoftKey, credential: str) -> None:
    page = app.authorize(claims=essential("phr"))
    form = {"reference": page.context["reference"], "credential": credential}
    back = app.browser.post("/connect/step-up", form)
    assert shows(app.browser.get(back["Location"]), "a passkey")


def test_a_form_is_accepted_once(app: RelyingParty, key: SoftKey) -> None:
    page = app.authorize(claims=essential("phr"))
    credential = key.signed(page.context["js_data"]["request_options"])
    use_key(app, page, key)
    asked = app.authorize(claims=essential("phr"), prompt="login")
    form = {"reference": asked.context["reference"], "credential": credential}
    back = app.browser.post("/connect/step-up", form)
    assert shows(app.browser.get(back["Location"]), "a passkey")


# --- What the app would like ---


def test_an_optional_level_changes_nothing_for_people_who_can_not_meet_it(app: RelyingParty) -> None:
    told = claims_of(app.tokens(acr_values=f"phr {MULTI_FACTOR}")["id_token"])
    assert "acr" not in told
    assert told["amr"] == ["pwd"]


def test_people_who_can_meet_an_optional_level_are_asked_and_can_skip_it(app: RelyingParty, key: SoftKey) -> None:
    page = app.authorize(acr_values="phr")
    assert shows(page, "a passkey")
    back = press(app, page, "go-on")
    tokens = tokens_after(app, app.browser.get(back["Location"]))
    assert "acr" not in claims_of(tokens["id_token"])
    assert shows(app.authorize(acr_values="phr"), "a passkey")  # a later request asks again


def test_the_best_level_that_the_person_can_meet_is_requested(app: RelyingParty, person: Account) -> None:
    set_up_app(person)
    assert shows(app.authorize(acr_values=f"gold phr {MULTI_FACTOR}"), "two-step verification")


def test_claims_takes_precedence_over_acr_values(app: RelyingParty, key: SoftKey) -> None:
    tokens_after(app, use_key(app, app.authorize(acr_values="phr"), key))
    told = claims_of(app.tokens(claims=essential(MULTI_FACTOR), acr_values="phr")["id_token"])
    assert told["acr"] == MULTI_FACTOR


# --- A new sign-in that has to meet it ---


@pytest.mark.parametrize("sent", [{"prompt": "login"}, {"max_age": "60"}])
def test_a_new_sign_in_has_to_meet_the_level_too(app: RelyingParty, key: SoftKey, sent: dict[str, str]) -> None:
    tokens_after(app, use_key(app, app.authorize(claims=essential("phr")), key))
    age_sign_in(app.browser, 1000)
    before = time.time()
    page = app.authorize(claims=essential("phr"), **sent)
    assert shows(page, "a passkey")
    told = claims_of(tokens_after(app, use_key(app, page, key))["id_token"])
    assert told["acr"] == "phr"
    assert told["auth_time"] >= int(before)


def test_a_new_password_beside_an_old_passkey_is_not_enough(app: RelyingParty, key: SoftKey, person: Account) -> None:
    tokens_after(app, use_key(app, app.authorize(claims=essential("phr")), key))
    age_sign_in(app.browser, 1000)
    app.authorize(claims=essential("phr"), prompt="login")
    confirm_password(app.browser, person)
    assert shows(app.authorize(claims=essential("phr"), prompt="login"), "a passkey")
    assert shows(app.authorize(claims=essential("phr"), max_age="300"), "a passkey")
    assert answer_of(app.authorize(claims=essential("phr"), max_age="300", prompt="none"))["error"] == "login_required"


def test_two_factors_again_are_a_password_and_a_code(app: RelyingParty, person: Account) -> None:
    secret = set_up_app(person)
    follow_code_link(app, app.authorize(claims=essential(MULTI_FACTOR)), totp(secret))
    age_sign_in(app.browser, 1000)
    page = app.authorize(claims=essential(MULTI_FACTOR), prompt="login")
    assert page.context["next_step"] == "password"
    confirm_password(app.browser, person)
    page = app.authorize(claims=essential(MULTI_FACTOR), prompt="login")
    assert page.context["next_step"] == "totp"
    told = claims_of(tokens_after(app, follow_code_link(app, page, totp(secret, 1)))["id_token"])
    assert (told["acr"], told["amr"]) == (MULTI_FACTOR, ["otp", "pwd", "mfa"])


def test_setting_up_a_passkey_is_not_a_new_sign_in(app: RelyingParty, person: Account) -> None:
    app.tokens()
    confirm_password(app.browser, person)
    age_sign_in(app.browser, 100)
    app.authorize(claims=essential("phr"), prompt="login")
    add_key(app.browser, SoftKey())
    response = app.authorize(claims=essential("phr"), prompt="login")
    assert urlsplit(response["Location"]).path == "/account/reauthenticate/"


# --- A client's least level ---


@pytest.mark.parametrize(
    ("least", "heading"), [(MULTI_FACTOR, "two-step verification"), (PHISHING_RESISTANT, "a passkey")]
)
def test_a_required_level_of_a_client_applies_to_every_request(app: RelyingParty, least: str, heading: str) -> None:
    Client.objects.filter(pk=app.client.pk).update(least_acr=least)
    for sent in ({}, {"acr_values": "gold"}, {"claims": essential(MULTI_FACTOR)}, {"prompt": "login"}):
        page = app.authorize(**sent)
        assert shows(page, heading)
        assert "requires this from everyone who signs in" in page.content.decode()
    assert answer_of(app.authorize(prompt="none"))["error"] == UNMET


def test_a_level_of_one_request_is_not_described_as_required_by_the_client(app: RelyingParty) -> None:
    Client.objects.filter(pk=app.client.pk).update(least_acr=MULTI_FACTOR)
    page = app.authorize(claims=essential("phr"))
    assert shows(page, "a passkey")
    assert "requires this from everyone" not in page.content.decode()


def test_a_required_level_applies_from_the_next_authorization(app: RelyingParty, key: SoftKey) -> None:
    tokens = app.tokens()
    Client.objects.filter(pk=app.client.pk).update(least_acr=PHISHING_RESISTANT)
    assert app.refresh(tokens["refresh_token"]).status_code == 200
    page = app.authorize()
    assert shows(page, "a passkey")
    assert claims_of(tokens_after(app, use_key(app, page, key))["id_token"])["acr"] == "phr"


def test_consent_can_not_be_given_before_the_level_is_met(app: RelyingParty) -> None:
    """The consent page that was open when a least level was set does not lead past it."""
    page = app.authorize()
    Client.objects.filter(pk=app.client.pk).update(least_acr=PHISHING_RESISTANT)
    assert shows(app.answer_consent(page), "a passkey")
    assert not TokenFamily.objects.exists()


# --- The parameter ---


@pytest.mark.parametrize(
    "claims",
    [
        "no json",
        "[]",
        "null",
        "{}x",
        '{"id_token":[]}',
        '{"id_token":{"acr":"phr"}}',
        '{"id_token":{"acr":{"essential":"true","value":"phr"}}}',
        '{"id_token":{"acr":{"value":7}}}',
        '{"id_token":{"acr":{"values":"phr"}}}',
        '{"id_token":{"acr":{"values":[]}}}',
        '{"id_token":{"acr":{"values":["phr",7]}}}',
        '{"id_token":{"acr":{"value":"phr","values":["phr"]}}}',
        '{"id_token":{"acr":null},"id_token":{"acr":{"essential":true,"value":"phr"}}}',
        '{"id_token":{"acr":{"essential":false,"essential":true}}}',
        '{"x":NaN}',
        '{"x":' + "[" * 11 + "]" * 11 + ',"y":' + "[" * 12 + "]" * 12 + "}",
        json.dumps({"x": "y" * 2048}),
    ],
)
def test_unreadable_claims_are_rejected(app: RelyingParty, claims: str) -> None:
    answer = answer_of(app.authorize(claims=claims))
    assert (answer["error"], answer["state"]) == ("invalid_request", app.state)


@pytest.mark.parametrize("name", ["claims", "acr_values"])
def test_repeated_or_unreadable_parameters_are_rejected(app: RelyingParty, name: str) -> None:
    query = urlencode(app.parameters())
    for more in (f"{name}=%7B%7D&{name}=%7B%7D", f"{name}=%00", f"{name}=%FF", f"{name}=%7B%7D%00"):
        answer = answer_of(app.browser.get(f"/connect/authorize?{query}&{more}"))
        assert (answer["error"], answer["state"]) == ("invalid_request", app.state)


@pytest.mark.parametrize(
    "claims",
    [
        "{}",
        '{"id_token":{},"userinfo":{"email":null}}',
        '{"x":' + "[" * 10 + "]" * 10 + "}",
        '{"\\u0000":"\\ud800"}',
        '{"userinfo":{"verified_claims":{"verification":{"evidence":[{"document":{"issuer":{"country":null}}}]}}}}',
    ],
)
def test_unknown_members_of_claims_are_ignored(app: RelyingParty, claims: str) -> None:
    assert "acr" not in claims_of(app.tokens(claims=claims)["id_token"])


@pytest.mark.parametrize("acr_values", ["  ", "phr" * 300, "phr,mfa", "💥 phŕ"])
def test_unusual_acr_values_are_ignored(app: RelyingParty, key: SoftKey, acr_values: str) -> None:
    assert "acr" not in claims_of(app.tokens(acr_values=acr_values)["id_token"])
