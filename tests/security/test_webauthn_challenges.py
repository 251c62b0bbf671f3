"""A WebAuthn challenge counts for one purpose, one account, one response and five minutes."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.core import mail
from django.test import Client as Browser

from accounts.models import Account
from accounts.sessions import keys
from tests.accounts.factors.conftest import sign_in_by_mail
from tests.factories import PASSWORD, make_account
from tests.oidc.authorization.test_acr import essential
from tests.relying_party import RelyingParty, age_sign_in, sign_in
from tests.security.test_sessions import is_signed_in
from tests.soft_key import SoftKey, give_key

pytestmark = pytest.mark.django_db

LOGIN, TWO_STEP_PAGE = "/account/2fa/webauthn/login/", "/account/2fa/authenticate/"
REAUTHENTICATE, ADD = "/account/2fa/webauthn/reauthenticate/", "/account/2fa/webauthn/add/"
STEP_UP, SIGN_UP = "/connect/step-up", "/account/2fa/webauthn/signup/"
Options = dict[str, Any]


def login_options(browser: Browser) -> Options:
    options: Options = browser.get(LOGIN, headers={"Accept": "application/json"}).json()["request_options"]
    return options


def reach_two_step_page(browser: Browser, account: Account) -> Options:
    page = browser.post("/account/login/", {"login": account.email, "password": PASSWORD}, follow=True)
    options: Options = page.context["js_data"]["request_options"]
    return options


def reach_two_step_page_by_reset(account: Account) -> tuple[Browser, Options]:
    """Choose a new password by a code from the email, and stop at two-step verification until it has expired."""
    browser = sign_in_by_mail(account)
    options: Options = browser.get(TWO_STEP_PAGE).context["js_data"]["request_options"]
    let_expire(browser)
    return browser, options


def let_expire(browser: Browser) -> None:
    """Let the sign-in that waits for two-step verification expire; its challenge stays in the session."""
    session = browser.session
    del session["account_login"]
    session.save()


def sign_in_with_both(account: Account, key: SoftKey) -> Browser:
    browser = Browser()
    options = reach_two_step_page(browser, account)
    assert browser.post(TWO_STEP_PAGE, {"credential": key.signed(options)}).status_code == 302
    assert is_signed_in(browser)
    return browser


def options_for(purpose: str, account: Account, key: SoftKey) -> tuple[Browser, Options]:
    """Return a browser, and the challenge that its session got for a purpose."""
    if purpose == LOGIN:
        browser = Browser()
        return browser, login_options(browser)
    if purpose == TWO_STEP_PAGE:
        browser = Browser()
        return browser, reach_two_step_page(browser, account)
    browser = sign_in_with_both(account, key)
    data = browser.get(purpose).context["js_data"]
    return browser, data.get("request_options") or data["creation_options"]


PURPOSES = [LOGIN, TWO_STEP_PAGE, REAUTHENTICATE, ADD]


@pytest.fixture
def key(person: Account) -> SoftKey:
    made = SoftKey()
    give_key(person, made)
    return made


# --- One purpose ---


@pytest.mark.parametrize("is_staff", [False, True])
def test_a_two_step_challenge_signs_nobody_in_alone(is_staff: bool, person: Account, key: SoftKey) -> None:
    """The person reaches two-step verification of their account, and answers with someone else's key."""
    victim = make_account("victim@example.com", is_staff=is_staff, is_superuser=is_staff)
    stolen = SoftKey(verifies=False, id=b"a key that lay around")
    give_key(victim, stolen)
    browser, options = reach_two_step_page_by_reset(person)
    browser.post(LOGIN, {"credential": stolen.signed(options, victim)})
    assert not is_signed_in(browser)
    assert browser.get("/admin/").status_code == 302


@pytest.mark.parametrize("made_for", [TWO_STEP_PAGE, LOGIN])
@pytest.mark.parametrize("verifies", [False, True])
def test_sign_in_and_two_step_verification_do_not_share_challenges(
    made_for: str, verifies: bool, person: Account, key: SoftKey
) -> None:
    key.verifies = verifies
    if made_for == TWO_STEP_PAGE:
        browser, options = reach_two_step_page_by_reset(person)
        sent_to = LOGIN
    else:
        browser = Browser()
        options, sent_to = login_options(browser), TWO_STEP_PAGE
        reach_two_step_page(browser, person)
    browser.post(sent_to, {"credential": key.signed(options, person)})
    assert not is_signed_in(browser)


@pytest.mark.parametrize("made_for", [REAUTHENTICATE, ADD])
def test_the_challenges_of_signed_in_pages_open_no_other_page(made_for: str, person: Account, key: SoftKey) -> None:
    browser, options = options_for(made_for, person, key)
    age_sign_in(browser, 1000)
    for path in (REAUTHENTICATE, STEP_UP, LOGIN):
        if path != made_for:
            browser.post(path, {"credential": key.signed(options, person), "reference": "x"})
    assert browser.get(ADD).status_code == 302  # asks for a factor, so none of these counted


def test_a_challenge_of_another_account_is_refused(person: Account, key: SoftKey) -> None:
    other = make_account()
    give_key(other, SoftKey(id=b"of the other"))
    browser = Browser()
    options = reach_two_step_page(browser, other)
    kept = browser.session["webauthn_challenges"]
    browser.post("/account/choose", {"decision": "another"})
    reach_two_step_page(browser, person)
    session = browser.session
    session["webauthn_challenges"] = kept
    session.save()
    browser.post(TWO_STEP_PAGE, {"credential": key.signed(options)})
    assert not is_signed_in(browser)


# --- One response, and five minutes ---


@pytest.mark.parametrize("purpose", PURPOSES)
def test_a_challenge_ends_after_five_minutes(
    purpose: str, person: Account, key: SoftKey, later: Callable[[float], None], settings: Any
) -> None:
    settings.ACCOUNT_REAUTHENTICATION_TIMEOUT = 900
    browser, options = options_for(purpose, person, key)
    later(301)
    if purpose == ADD:
        added = SoftKey(id=b"another key")
        page = browser.post(ADD, {"name": "A key", "passwordless": "true", "credential": added.made(options)})
        assert "This took too long" in page.content.decode()
        assert person.authenticator_set.count() == 1  # type: ignore[attr-defined]
        return
    answer = browser.post(purpose, {"credential": key.signed(options, person)}, follow=True)
    assert "This took too long" in answer.content.decode()
    if purpose != REAUTHENTICATE:
        assert not is_signed_in(browser)


@pytest.mark.parametrize("purpose", [LOGIN, TWO_STEP_PAGE, REAUTHENTICATE])
@pytest.mark.parametrize("wrong", ["{}", "", "[", '{"response":{}}', "signed by another key"])
def test_a_wrong_response_uses_a_challenge_up(purpose: str, wrong: str, person: Account, key: SoftKey) -> None:
    browser, options = options_for(purpose, person, key)
    if wrong == "signed by another key":
        wrong = SoftKey().signed(options, person)
    session_before = browser.session["webauthn_challenges"]
    browser.post(purpose, {"credential": wrong})
    assert browser.session.get("webauthn_challenges", {}) != session_before
    age_sign_in(browser, 1000) if purpose == REAUTHENTICATE else None
    browser.post(purpose, {"credential": key.signed(options, person)})
    if purpose == REAUTHENTICATE:
        assert browser.get(ADD).status_code == 302
    else:
        assert not is_signed_in(browser)


def test_a_response_is_accepted_once(person: Account, key: SoftKey) -> None:
    browser, options = options_for(LOGIN, person, key)
    form = {"credential": key.signed(options, person)}
    browser.post(LOGIN, form)
    assert is_signed_in(browser)
    again = Browser()
    session = browser.session
    assert "webauthn_challenges" not in session
    assert "mfa.webauthn.state" not in session
    again.post(LOGIN, form)
    assert not is_signed_in(again)


def test_a_sign_in_forgets_the_challenges_before_it(person: Account) -> None:
    browser = Browser()
    login_options(browser)
    sign_in(browser, person)
    assert "webauthn_challenges" not in browser.session


def test_cancel_forgets_the_challenge(spa: Any, person: Account, key: SoftKey) -> None:
    browser = Browser()
    reach_two_step_page(browser, person)
    browser.post("/account/choose", {"decision": "another"})
    assert "webauthn_challenges" not in browser.session

    browser = sign_in_with_both(person, key)
    app = RelyingParty(spa, browser)
    age_sign_in(browser, 1000)
    app.authorize(claims=essential("phr"), prompt="login")
    browser.post("/account/reauthenticate/", {"login": person.email, "password": PASSWORD})
    page = app.authorize(claims=essential("phr"), prompt="login")
    assert "step_up" in browser.session["webauthn_challenges"]
    browser.post(STEP_UP, {"reference": page.context["reference"], "decision": "cancel"})
    assert "step_up" not in browser.session.get("webauthn_challenges", {})


def test_the_passkey_of_a_sign_up_needs_the_challenge_of_that_page() -> None:
    browser = Browser()
    options = login_options(browser)
    browser.post("/account/signup/passkey/", {"email": "new@example.com", "given_name": "N", "family_name": ""})
    code = re.search(r"^ {4}(\S+)$", str(mail.outbox[-1].body), re.MULTILINE)
    assert code
    browser.post("/account/confirm-email/", {"code": code[1]})
    form = {"name": "A key", "credential": SoftKey().made(options)}
    answer = browser.post(SIGN_UP, form)
    assert "This took too long" in str(answer.context["form"].errors)
    options = answer.context["js_data"]["creation_options"]  # the page that says so has a new one
    assert browser.post(SIGN_UP, {"name": "A key", "credential": SoftKey().made(options)}).status_code == 302
    assert is_signed_in(browser)


# --- Keys that sign in alone ---


@pytest.mark.parametrize("asked_for", ["required", "preferred", "discouraged", None])
def test_a_key_alone_has_to_verify_its_user_whatever_was_asked_for(
    asked_for: str | None, person: Account, key: SoftKey
) -> None:
    key.verifies = False
    browser = Browser()
    options = login_options(browser)
    session = browser.session
    session["webauthn_challenges"]["sign_in"]["state"]["user_verification"] = asked_for
    session.save()
    browser.post(LOGIN, {"credential": key.signed(options, person)})
    assert not is_signed_in(browser)


def test_a_two_step_key_does_not_sign_in_alone(person: Account) -> None:
    key = SoftKey()
    give_key(person, key, signs_in_alone=False)
    browser = Browser()
    answer = browser.post(LOGIN, {"credential": key.signed(login_options(browser), person)}, follow=True)
    assert "works only after your password" in answer.content.decode()
    assert not is_signed_in(browser)
    assert is_signed_in(sign_in_with_both(person, key))


@pytest.mark.parametrize("claimed", [{"signs_in_alone": True}, {"clientExtensionResults": {"credProps": {"rk": True}}}])
def test_claims_of_the_browser_about_a_new_key_do_not_count(claimed: dict[str, Any], signed_in: Browser) -> None:
    made = SoftKey()
    options = signed_in.get(ADD).context["js_data"]["creation_options"]
    credential = json.dumps(json.loads(made.made(options)) | claimed)
    form = {"name": "A key", "passwordless": "false", "credential": credential, "signs_in_alone": "true"}
    assert signed_in.post(ADD, form).status_code == 302
    row = Authenticator.objects.get(type="webauthn")
    assert not keys.signs_in_alone(row)
    browser = Browser()
    browser.post(LOGIN, {"credential": made.signed(login_options(browser), row.user)})
    assert not is_signed_in(browser)


def test_a_key_without_the_flag_does_not_sign_in_alone(person: Account) -> None:
    key = SoftKey()
    row = give_key(person, key)
    del row.data["signs_in_alone"]
    row.save()
    browser = Browser()
    browser.post(LOGIN, {"credential": key.signed(login_options(browser), person)})
    assert not is_signed_in(browser)
