"""The admin opens to nobody without a second factor that was used in this session, for any method."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client as Browser

from accounts.models import Account
from core import settings_checks
from tests.accounts.factors.conftest import give_app, give_codes, give_passkey, sign_in_as_far_as_possible
from tests.factories import PASSWORD
from tests.relying_party import sign_in
from tests.soft_key import A_YEAR_AGO, SoftKey, give_key
from tests.totp import totp
from tests.urls import every_url

WANTED = "/admin/accounts/account/"
PAGE = "/account/2fa/staff/"
AGAIN, KEY_AGAIN = "/account/login/again/", "/account/2fa/webauthn/reauthenticate/"


@pytest.fixture(autouse=True)
def second_factor_asked_for(settings: Any) -> None:
    settings.ADMIN_SECOND_FACTOR = True


def leads_to(browser: Browser, path: str = WANTED) -> str:
    """Return the page on which someone ends who asks for a page of the admin."""
    answer = browser.get(path, follow=True)
    assert answer.status_code == 200, answer.content
    return str(answer.request["PATH_INFO"])


def reauthenticate(browser: Browser, account: Account) -> None:
    browser.post("/account/reauthenticate/", {"login": account.email, "password": PASSWORD})


def make_factors_older(account: Account) -> None:
    Authenticator.objects.filter(user=account).update(created_at=A_YEAR_AGO)


def enrol(browser: Browser) -> Any:
    """Set up an authenticator app in the browser."""
    page = browser.get("/account/2fa/totp/activate/")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.db.transaction.on_commit", lambda act, **kwargs: act())
        return browser.post("/account/2fa/totp/activate/", {"code": totp(page.context["form"].secret)})


@pytest.mark.parametrize("who", ["reviewer", "operator", "superuser"])
def test_staff_without_a_factor_set_one_up_and_reach_the_page(db: None, who: str, request: Any) -> None:
    account: Account = request.getfixturevalue(who)
    browser = sign_in(Browser(), account)
    wanted = "/admin/" if who == "reviewer" else WANTED
    assert leads_to(browser, wanted) == PAGE
    reauthenticate(browser, account)
    answer = enrol(browser)
    assert answer["Location"] == "/account/2fa/recovery-codes/"
    assert PAGE in browser.get(answer["Location"]).content.decode()
    assert leads_to(browser, PAGE) == wanted


@pytest.mark.parametrize("method", ["get", "head", "post", "options", "delete"])
def test_every_page_is_closed_for_every_method(method: str, superuser: Account) -> None:
    browser = sign_in(Browser(), superuser)
    browser.raise_request_exception = False
    for url in every_url():
        if not url.name.startswith("admin:"):
            continue
        answer = getattr(browser, method)(url.example)
        assert answer.status_code == 302, url.example
        assert answer["Location"].startswith(("/admin/", "/account/")), url.example


def test_the_redirect_leads_to_the_confirmation_page(superuser: Account) -> None:
    browser = sign_in(Browser(), superuser)
    location = browser.get("/admin/login/", {"next": WANTED})["Location"]
    assert urlsplit(location).path == PAGE
    assert parse_qs(urlsplit(location).query) == {"next": [WANTED]}
    for foreign in ("https://evil.example.com/", "//evil.example.com/", "/\\evil.example.com"):
        location = browser.get("/admin/login/", {"next": foreign})["Location"]
        assert parse_qs(urlsplit(location).query)["next"] == ["/admin/"]
        browser.get(PAGE, {"next": foreign})
        assert "staff_wanted" not in browser.session


def test_staff_who_used_two_factors_enter_immediately(superuser: Account) -> None:
    secret = give_app(superuser)
    browser, _ = sign_in_as_far_as_possible(superuser)
    assert leads_to(browser) == "/account/2fa/authenticate/"
    browser.post("/account/2fa/authenticate/", {"code": totp(secret)})
    assert leads_to(browser) == WANTED


def test_a_session_without_its_older_factor_is_asked_for_it(superuser: Account) -> None:
    browser = sign_in(Browser(), superuser)
    secret = give_app(superuser)
    make_factors_older(superuser)
    assert leads_to(browser) == "/account/2fa/reauthenticate/"
    answer = browser.post(f"/account/2fa/reauthenticate/?next={PAGE}", {"code": totp(secret)}, follow=True)
    assert answer.request["PATH_INFO"] in (WANTED, "/admin/")
    assert leads_to(browser) == WANTED


def test_a_recovery_code_is_enough(superuser: Account) -> None:
    give_app(superuser)
    codes = give_codes(superuser)
    browser, _ = sign_in_as_far_as_possible(superuser)
    browser.post("/account/2fa/authenticate/", {"code": codes[0]})
    assert leads_to(browser) == WANTED


def test_a_factor_that_is_newer_than_the_sign_in_asks_for_a_new_sign_in(superuser: Account) -> None:
    browser = sign_in(Browser(), superuser)
    secret = give_app(superuser)  # elsewhere
    assert leads_to(browser) == AGAIN
    browser.post("/account/2fa/reauthenticate/", {"code": totp(secret)})
    assert leads_to(browser) == AGAIN
    page = browser.get(AGAIN).content.decode()
    assert "Sign in again" in page
    answer = browser.post("/account/choose", {"decision": "another"})
    assert urlsplit(answer["Location"]).path == "/account/login/"
    browser.post("/account/login/", {"login": superuser.email, "password": PASSWORD})
    browser.post("/account/2fa/authenticate/", {"code": totp(secret, 1)})
    assert leads_to(browser) == WANTED


def sign_in_with_passkey(key: SoftKey, account: Account) -> Browser:
    browser = Browser()
    options = browser.get("/account/2fa/webauthn/login/", headers={"Accept": "application/json"}).json()
    form = {"credential": key.signed(options["request_options"], account)}
    assert browser.post("/account/2fa/webauthn/login/", form).status_code == 302
    return browser


def test_a_passkey_alone_is_enough(superuser: Account) -> None:
    key = SoftKey()
    give_key(superuser, key)
    assert leads_to(sign_in_with_passkey(key, superuser)) == WANTED


def test_people_with_only_a_passkey_are_asked_for_it(superuser: Account) -> None:
    browser = sign_in(Browser(), superuser)
    give_key(superuser, SoftKey())
    assert leads_to(browser) == "/account/2fa/webauthn/reauthenticate/"


def test_a_key_without_user_verification_does_not_open_the_admin(superuser: Account) -> None:
    key = SoftKey(verifies=False)
    give_key(superuser, key, signs_in_alone=False)
    browser, step = sign_in_as_far_as_possible(superuser)
    form = {"credential": key.signed(step.context["js_data"]["request_options"])}
    assert browser.post("/account/2fa/authenticate/", form).status_code == 302
    assert leads_to(browser) == KEY_AGAIN
    for verifies, ends_at in ((False, KEY_AGAIN), (True, WANTED)):
        key.verifies = verifies
        options = browser.get(KEY_AGAIN).context["js_data"]["request_options"]
        assert options["publicKey"]["userVerification"] == "required"
        browser.post(KEY_AGAIN, {"credential": key.signed(options)})
        assert leads_to(browser) == ends_at


def test_a_session_that_knew_the_password_alone_gains_nothing_by_adding_a_factor(superuser: Account) -> None:
    browser = sign_in(Browser(), superuser)
    give_passkey(superuser)  # by its owner, elsewhere
    reauthenticate(browser, superuser)
    page = browser.get("/account/2fa/totp/activate/")
    assert urlsplit(page["Location"]).path == KEY_AGAIN
    assert not Authenticator.objects.filter(user=superuser, type="totp").exists()
    assert leads_to(browser) == AGAIN


def test_a_removed_factor_no_longer_opens_the_admin(superuser: Account) -> None:
    secret = give_app(superuser)
    browser, _ = sign_in_as_far_as_possible(superuser)
    browser.post("/account/2fa/authenticate/", {"code": totp(secret)})
    assert leads_to(browser) == WANTED
    Authenticator.objects.all().delete()
    assert leads_to(browser) == PAGE


def test_other_people_see_no_difference(signed_in: Browser) -> None:
    assert signed_in.get("/admin/", follow=True).status_code == 403
    assert signed_in.get(PAGE)["Location"] == "/account/2fa/"
    assert Browser().get(PAGE)["Location"].startswith("/account/login/")


def test_without_the_setting_a_password_opens_it(superuser: Account, settings: Any) -> None:
    settings.ADMIN_SECOND_FACTOR = False
    assert leads_to(sign_in(Browser(), superuser)) == WANTED


def test_a_superuser_of_the_command_signs_in_without_a_mailed_code_and_enrols(db: None) -> None:
    root = Account.objects.create_superuser("root@example.com", PASSWORD)
    assert root.email_verified
    assert leads_to(sign_in(Browser(), root)) == PAGE


def test_turning_the_requirement_off_in_production_is_a_warning(settings: Any) -> None:
    for embedded, on, warned in ((False, False, True), (False, True, False), (True, False, False)):
        settings.EMBEDDED, settings.ADMIN_SECOND_FACTOR = embedded, on
        assert [found.id for found in settings_checks.check_admin_second_factor(None)] == ["devportal.W004"] * warned
