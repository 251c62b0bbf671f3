"""What pages tell the browser about its passkeys, and the passkey that it creates after a sign-in with a password."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client as Browser
from fido2.utils import websafe_decode, websafe_encode

from accounts.factors.forms import UNKNOWN, UNUSABLE
from accounts.models import Account, Outbox, SecurityEvent
from accounts.roles import set_roles
from accounts.sessions import keys
from tests.accounts.factors.conftest import give_app, give_codes, sign_in_as_far_as_possible
from tests.factories import PASSWORD, make_account
from tests.soft_key import SoftKey, add_key, give_key
from tests.totp import totp

LOGIN_KEY, CONDITIONAL = "/account/2fa/webauthn/login/", "/account/2fa/webauthn/conditional/"
PAGES = ("/account/", "/account/2fa/webauthn/")
JSON = {"Accept": "application/json", "X-Requested-With": "XMLHttpRequest"}


def signals_on(browser: Browser, page: str) -> Any:
    """Return what the page tells the browser, None if it tells nothing."""
    return signals_in(browser.get(page).content.decode())


def signals_in(text: str) -> Any:
    found = re.search(r'<script id="passkey_signals" type="application/json">(.*?)</script>', text)
    assert bool(found) <= ("js/browser-passkeys" in text)
    return json.loads(found[1]) if found else None


def sign_in_with(browser: Browser, key: SoftKey, account: Account) -> Any:
    options = browser.get(LOGIN_KEY, headers=JSON).json()["request_options"]
    return browser.post(LOGIN_KEY, {"credential": key.signed(options, account)})


# --- The passkeys of the account ---


@pytest.mark.parametrize("page", PAGES)
def test_pages_list_the_passkeys_and_the_current_name(page: str, signed_in: Browser, person: Account) -> None:
    give_key(person, SoftKey(id=b"one"))
    give_key(person, SoftKey(id=b"two"), signs_in_alone=False)
    Account.objects.filter(pk=person.pk).update(given_name="Augusta", family_name="King")
    person.refresh_from_db()
    user = {"rpId": "testserver", "userId": person.passkey_handle}
    assert signals_on(signed_in, page) == {
        "accepted": user | {"allAcceptedCredentialIds": sorted([websafe_encode(b"one"), websafe_encode(b"two")])},
        "details": user | {"name": person.email, "displayName": "Augusta King"},
    }


def test_each_account_has_a_random_user_handle(person: Account) -> None:
    made = [keys.make_user_handle(Account.objects.get(pk=person.pk)) for _ in range(2)]
    assert made[0] == made[1] != keys.make_user_handle(make_account("bob@example.com"))
    assert len(made[0]) == 64


def test_a_passkey_is_created_with_the_stored_user_handle(signed_in: Browser, person: Account) -> None:
    signed_in.post("/account/reauthenticate/", {"login": person.email, "password": PASSWORD})
    page = signed_in.get("/account/2fa/webauthn/add/")
    person.refresh_from_db()
    user = page.context["js_data"]["creation_options"]["publicKey"]["user"]
    assert user["id"] == person.passkey_handle
    assert len(websafe_decode(user["id"])) == 64


def test_a_user_handle_that_no_account_has_signs_nobody_in(person: Account) -> None:
    key, browser = SoftKey(), Browser()
    give_key(person, key)
    handles: list[Any] = [1, [], {}, "\0" * 86, "é" * 86, "A" * 86, "A" * 85 + "=", "A" * 5000]
    for handle in handles:
        options = browser.get(LOGIN_KEY, headers=JSON).json()["request_options"]
        answer = json.loads(key.signed(options, person))
        answer["response"]["userHandle"] = handle
        assert browser.post(LOGIN_KEY, {"credential": json.dumps(answer)}).status_code in (200, 302)
        assert "_auth_user_id" not in browser.session, handle


def test_the_pages_of_passkeys_also_say_that_none_is_left(signed_in: Browser, person: Account) -> None:
    give_key(person, SoftKey()).delete()
    assert signals_on(signed_in, "/account/profile") is None
    assert signals_on(signed_in, "/account/2fa/webauthn/")["accepted"]["allAcceptedCredentialIds"] == []


def test_nothing_is_said_if_a_key_can_not_be_read(signed_in: Browser, person: Account) -> None:
    give_key(person, SoftKey(id=b"one"))
    broken = give_key(person, SoftKey(id=b"two"))
    broken.data["credential"]["response"]["attestationObject"] = "AAAA"
    broken.save()
    assert signals_on(signed_in, "/account/") is None


# --- A removed passkey ---


def test_a_sign_in_with_a_removed_passkey_says_so_and_tells_this_browser_once(person: Account) -> None:
    key, browser = SoftKey(), Browser()
    give_key(person, key).delete()
    assert sign_in_with(browser, key, person)["Location"] == "/account/login/"
    assert signals_on(Browser(), "/account/login/") is None
    page = browser.get("/account/login/").content.decode()
    assert UNKNOWN in page
    assert signals_in(page) == {"unknown": {"rpId": "testserver", "credentialId": websafe_encode(key.id)}}
    assert signals_on(browser, "/account/login/") is None


def test_a_passkey_that_only_fails_is_not_reported(person: Account) -> None:
    key, browser = SoftKey(), Browser()
    give_key(person, key)
    sign_in_with(browser, SoftKey(id=key.id), person)  # with another private key
    page = browser.get("/account/login/").content.decode()
    assert (UNUSABLE in page, UNKNOWN in page, signals_in(page)) == (True, False, None)
    sign_in_with(browser, SoftKey(id=key.id, private=key.private, verifies=False), person)
    assert signals_on(browser, "/account/login/") is None


def test_a_passkey_that_another_service_may_have_created_is_not_reported(person: Account) -> None:
    for handle in (None, "", "AAAA", "_w", "bm90IGEgbnVtYmVy"):
        browser = Browser()
        options = browser.get(LOGIN_KEY, headers=JSON).json()["request_options"]
        answer = json.loads(SoftKey().signed(options, person))
        answer["response"]["userHandle"] = handle
        browser.post(LOGIN_KEY, {"credential": json.dumps(answer)})
        assert signals_on(browser, "/account/login/") is None, handle


def test_a_passkey_of_a_deleted_account_is_reported(person: Account) -> None:
    browser, gone = Browser(), make_account()
    options = browser.get(LOGIN_KEY, headers=JSON).json()["request_options"]
    answer = SoftKey().signed(options, gone)
    gone.delete()
    browser.post(LOGIN_KEY, {"credential": answer})
    page = browser.get("/account/login/").content.decode()
    assert UNKNOWN in page
    assert "unknown" in signals_in(page)


def test_other_sites_can_not_have_a_passkey_reported(person: Account) -> None:
    key, browser = SoftKey(), Browser(enforce_csrf_checks=True)
    options = browser.get(LOGIN_KEY, headers=JSON).json()["request_options"]
    assert browser.post(LOGIN_KEY, {"credential": key.signed(options, person)}).status_code == 403
    assert browser.get(f"{LOGIN_KEY}?credential={websafe_encode(key.id)}").status_code == 302
    assert signals_on(browser, f"/account/login/?credentialId={websafe_encode(key.id)}") is None


def test_a_response_to_no_challenge_is_not_reported(person: Account) -> None:
    key, browser = SoftKey(), Browser()
    options = Browser().get(LOGIN_KEY, headers=JSON).json()["request_options"]
    browser.post(LOGIN_KEY, {"credential": key.signed(options, person)})
    assert signals_on(browser, "/account/login/") is None


# --- A passkey that the browser creates ---


class UnattendedKey(SoftKey):
    """A device that tests neither presence nor the person, as browsers do that create a passkey by themselves."""

    @property
    def _flags(self) -> Any:
        return type(super()._flags)(0)


@pytest.fixture
def secret(person: Account) -> str:
    give_codes(person)
    return give_app(person)


def sign_in_with_app(person: Account, secret: str) -> Browser:
    browser, _ = sign_in_as_far_as_possible(person)
    browser.post("/account/2fa/authenticate/", {"code": totp(secret)})
    return browser


@pytest.fixture
def after_password(person: Account, secret: str) -> Browser:
    """A browser that has just signed in with password and app."""
    return sign_in_with_app(person, secret)


def is_offered(browser: Browser) -> bool:
    """Return whether the page lets the browser create a passkey; the endpoint has to agree."""
    is_on_page = 'id="conditional_passkey"' in browser.get("/account/").content.decode()
    assert browser.get(CONDITIONAL).status_code == (200 if is_on_page else 204)
    return is_on_page


def create(browser: Browser, key: SoftKey) -> Any:
    return browser.post(CONDITIONAL, {"credential": key.made(browser.get(CONDITIONAL).json())})


@pytest.mark.parametrize("key", [SoftKey(), UnattendedKey()], ids=["attended", "unattended"])
def test_the_browser_creates_a_passkey_after_a_password(key: SoftKey, after_password: Browser, person: Account) -> None:
    assert is_offered(after_password)
    options = after_password.get(CONDITIONAL).json()["publicKey"]
    assert options["authenticatorSelection"]["residentKey"] == "required"
    assert options["authenticatorSelection"]["userVerification"] == "preferred"
    assert create(after_password, key).status_code == 204
    row = Authenticator.objects.get(type="webauthn")
    assert (row.user, row.data["signs_in_alone"]) == (person, True)
    assert SecurityEvent.objects.filter(account=person, kind="passkey_added").exists()
    notice = Outbox.objects.get(subject__contains="A passkey has been added")
    assert notice.to == person.email
    assert "Your password manager created a passkey" in after_password.get("/account/").content.decode()
    assert not is_offered(after_password)


def test_the_new_passkey_signs_in_only_if_it_verifies_its_user(after_password: Browser, person: Account) -> None:
    key = UnattendedKey()
    create(after_password, key)
    browser = Browser()
    sign_in_with(browser, SoftKey(verifies=False, private=key.private), person)
    assert browser.get("/account/").status_code == 302
    sign_in_with(browser, SoftKey(private=key.private), person)
    assert browser.get("/account/").status_code == 200


def test_it_does_not_raise_the_level_of_its_session(after_password: Browser, person: Account) -> None:
    create(after_password, SoftKey())
    added = Authenticator.objects.get(type="webauthn")
    assert after_password.session["added_factors"] == {str(added.pk): {"of": str(person.pk)}}
    assert not {"first_factor", "verified_keys"} & set(after_password.session.keys())


def test_people_without_a_second_factor_get_none(signed_in: Browser) -> None:
    assert not is_offered(signed_in)


def test_people_with_a_passkey_get_no_second_one(person: Account, secret: str) -> None:
    give_key(person, SoftKey())
    assert not is_offered(sign_in_with_app(person, secret))


def test_it_needs_a_recent_sign_in_with_the_password(after_password: Browser, later: Callable[[float], None]) -> None:
    later(301)
    assert not is_offered(after_password)


def test_a_sign_in_with_a_passkey_alone_creates_none(person: Account, secret: str) -> None:
    key, browser = SoftKey(), Browser()
    give_key(person, key)
    sign_in_with(browser, key, person)
    browser.post("/account/2fa/reauthenticate/", {"code": totp(secret)})
    Authenticator.objects.filter(type="webauthn").delete()
    assert browser.get("/account/2fa/webauthn/add/").status_code == 200  # nothing else is missing
    assert not is_offered(browser)


def test_staff_add_their_keys_themselves(person: Account, secret: str) -> None:
    set_roles(person, ["reviewer"])
    assert not is_offered(sign_in_with_app(person, secret))


def test_each_challenge_is_for_one_purpose_and_one_use(after_password: Browser) -> None:
    page = after_password.get("/account/2fa/webauthn/add/")
    for_adding = SoftKey().made(page.context["js_data"]["creation_options"])
    assert after_password.post(CONDITIONAL, {"credential": for_adding}).status_code == 400
    made = UnattendedKey().made(after_password.get(CONDITIONAL).json())
    form = {"name": "A key", "passwordless": "true", "credential": made}
    assert after_password.post("/account/2fa/webauthn/add/", form).status_code == 200
    assert not Authenticator.objects.filter(type="webauthn").exists()


def test_the_page_that_adds_a_passkey_still_requires_presence(after_password: Browser) -> None:
    page = after_password.get("/account/2fa/webauthn/add/")
    made = UnattendedKey().made(page.context["js_data"]["creation_options"])
    after_password.post("/account/2fa/webauthn/add/", {"passwordless": "false", "credential": made})
    assert not Authenticator.objects.filter(type="webauthn").exists()
    add_key(after_password, SoftKey())
    assert Authenticator.objects.filter(type="webauthn").exists()


def test_malformed_responses_are_rejected(after_password: Browser) -> None:
    for answer in ("", "{}", "[]", "null", '{"id": "AA", "response": {}}', "[" * 9000, "é"):
        after_password.get(CONDITIONAL)
        assert after_password.post(CONDITIONAL, {"credential": answer}).status_code == 400, answer[:20]
    assert not Authenticator.objects.filter(type="webauthn").exists()
