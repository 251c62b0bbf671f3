"""The home of an account: who one is, what to do next for one's safety, apps, plan, activity."""

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client as Browser

from accounts.activity.recording import record
from accounts.models import Account, SecurityEvent
from accounts.recovery import waiting
from accounts.recovery.security_check import _WITHOUT_PASSWORD, check_security
from core import clock
from oidc.authorization import consent
from tests.accounts.factors.conftest import give_app, give_codes, give_passkey, sign_in_as_far_as_possible
from tests.devportal.admin.conftest import make_staff
from tests.factories import make_client, make_project
from tests.totp import totp

pytestmark = pytest.mark.django_db

TWO_STEP_PAGE = "/account/2fa/authenticate/"


def home(browser: Browser) -> str:
    response = browser.get("/account/")
    assert response.status_code == 200
    assert "no-store" in response["Cache-Control"]
    return response.content.decode()


def test_the_page_shows_the_account_and_the_first_steps(signed_in: Browser, person: Account) -> None:
    text = home(signed_in)
    assert person.full_name in text
    assert person.email in text
    assert "Add a passkey" in text
    assert "You sign in with: Password" in text
    assert "No app uses your account" in text


def test_recovery_codes_come_after_two_step_verification(person: Account) -> None:
    give_app(person)
    step = check_security(person).step
    assert step is not None
    assert step.page == "mfa_generate_recovery_codes"
    given = give_codes(person)
    codes = Authenticator.objects.get(user=person, type="recovery_codes").wrap()
    checked = check_security(person)
    assert checked.step is None
    assert checked.facts == ["Password", "Authenticator app", "10 recovery codes"]
    for code in given[:8]:
        assert codes.validate_code(code)
    step = check_security(person).step
    assert step is not None
    assert step.title == "Get new recovery codes"


@pytest.mark.parametrize(
    ("factors", "then", "step"),
    [
        ("app", "", ("your authenticator app", "mfa_index")),
        ("passkey", "", ("“Laptop”", "mfa_list_webauthn")),
        ("passkey app", "", ("“Laptop”, your authenticator app", "mfa_index")),
        ("passkey app", "app used", ("“Laptop”", "mfa_list_webauthn")),
        ("app", "app used", None),
        ("app", "passkey added", ("your authenticator app", "mfa_index")),  # the lost one is still there
        ("app", "new codes", ("your authenticator app", "mfa_index")),
        ("passkey", "passkey removed", ("", "mfa_add_webauthn")),
        ("app", "code used again", ("your authenticator app", "mfa_index")),
    ],
)
def test_after_a_recovery_code_it_asks_about_what_is_probably_lost(
    factors: str, then: str, step: tuple[str, str] | None, person: Account
) -> None:
    key = give_passkey(person) if "passkey" in factors else None
    secret = give_app(person) if "app" in factors else ""
    codes = give_codes(person)
    Authenticator.objects.update(created_at=clock.from_now(-7200))
    browser, _ = sign_in_as_far_as_possible(person)
    browser.post(TWO_STEP_PAGE, {"code": codes[0]})
    text = home(browser)
    assert "All good" not in text
    assert "Check that you still have" in text
    SecurityEvent.objects.filter(kind="recovery_code_used").update(at=clock.from_now(-3600))
    if then in ("app used", "code used again"):
        browser, _ = sign_in_as_far_as_possible(person)
        browser.post(TWO_STEP_PAGE, {"code": totp(secret) if then == "app used" else codes[1]})
        home(browser)
    elif then == "passkey added":
        give_passkey(person)
    elif then == "new codes":
        Authenticator.objects.filter(type="recovery_codes").delete()
        give_codes(person)
    elif key is not None and then == "passkey removed":
        key.delete()
    found = check_security(person).step
    assert (found and found.page) == (step and step[1])
    if found and step and step[0]:
        assert found.title == f"Check that you still have {step[0]}"


def test_it_is_not_all_good_while_factors_are_about_to_be_removed(signed_in: Browser, person: Account) -> None:
    operator = make_staff("opal@example.com", "operator")
    give_app(person)
    give_codes(person)
    assert "All good" in home(signed_in)
    waiting.start(person, operator, reason="Lost the phone", checked="Video call")
    text = home(signed_in)
    assert "about to be removed" in text
    assert "All good" not in text
    assert "nothing you need to do" not in text


def test_people_without_a_password_do_not_read_that_theirs_is_enough(signed_in: Browser, person: Account) -> None:
    assert "A stolen password is then not enough" in home(signed_in)
    Account.objects.filter(pk=person.pk).update(password="!none")
    assert check_security(Account.objects.get()).step == _WITHOUT_PASSWORD


def test_it_shows_the_latest_apps_and_what_happened(signed_in: Browser, person: Account) -> None:
    for number in range(5):
        app = make_client(make_project(), name=f"App {number}")
        consent.record_consent(person, app, ["openid"])
    record(person, "password_changed")
    text = home(signed_in)
    assert "App 4" in text
    assert "App 0" not in text
    assert "See all connected apps" in text
    assert "Password changed" in text


def test_the_page_does_not_wait_for_an_external_plan(signed_in: Browser, settings: object) -> None:
    settings.PLAN_SOURCE_URL = "http://127.0.0.1:1/"  # type: ignore[attr-defined]
    assert "See what it includes" in home(signed_in)
