"""Each change that its person hears of is mailed once, by the outbox, in plain words; none where nothing changed.

`KINDS` in accounts/activity/kinds.py has the list. Passkeys are added by a device, in tests/browser/test_activity.py.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.internal.auth import WebAuthn
from django.conf import settings
from django.db import DatabaseError
from django.test import Client as Browser

from accounts.models import Account, Outbox, SecurityEvent
from tests.accounts.entrance.test_sign_up import code_of
from tests.accounts.factors.conftest import give_app, give_codes
from tests.devportal.admin.conftest import make_staff
from tests.factories import PASSWORD, make_account
from tests.relying_party import sign_in
from tests.totp import totp

pytestmark = pytest.mark.django_db

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
SAFARI = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Safari/604.1"
NEW = "another horse 7 battery"
Run = Callable[[Callable[[], Any]], Any]


@dataclass
class Owner:
    """Someone who is signed in, and who proved it a moment ago."""

    account: Account
    browser: Browser
    codes: list[Any]  # mails of the sign-in pages

    def post(self, path: str, **form: Any) -> Any:
        answer = self.browser.post(path, form, headers={"User-Agent": FIREFOX})
        assert answer.status_code == 302, answer.content
        return answer


@pytest.fixture
def owner(person: Account, mailoutbox: list[Any]) -> Owner:
    browser = sign_in(Browser(headers={"User-Agent": FIREFOX}), person)
    owner = Owner(person, browser, mailoutbox)
    owner.post("/account/reauthenticate/", login=person.email, password=PASSWORD)
    return owner


@pytest.fixture
def run(django_capture_on_commit_callbacks: Any) -> Run:
    """Do something, and what waits for its commit."""

    def do(act: Callable[[], Any]) -> Any:
        with django_capture_on_commit_callbacks(execute=True):
            return act()

    return do


def key(account: Account, name: str, *, is_passkey: bool) -> Authenticator:
    credential = {"clientExtensionResults": {"credProps": {"rk": is_passkey}}}
    row: Authenticator = WebAuthn.add(account, name, credential).instance
    row.data["signs_in_alone"] = is_passkey
    row.save()
    return row


def confirm_with_app(owner: Owner) -> None:
    """Give the owner an authenticator app, and have them confirm with it that it is them."""
    secret = give_app(owner.account)
    owner.post("/account/2fa/reauthenticate/", code=totp(secret))


# --- What people do ---


def new_browser(owner: Owner) -> None:
    sign_in(Browser(headers={"User-Agent": SAFARI}), owner.account)


def change_password(owner: Owner) -> None:
    owner.post("/account/password/change/", oldpassword=PASSWORD, password1=NEW, password2=NEW)


def set_password(owner: Owner) -> None:
    key(owner.account, "Phone", is_passkey=True)
    Account.objects.filter(pk=owner.account.pk).update(password="!none")
    owner.account.refresh_from_db()
    session = owner.browser.session
    session["_auth_user_hash"] = owner.account.get_session_auth_hash()
    session.save()
    confirm_with_app(owner)
    owner.post("/account/password/set/", password1=NEW, password2=NEW)


def replace_password(owner: Owner) -> None:
    browser = Browser(headers={"User-Agent": SAFARI})
    browser.post("/account/password/reset/", {"email": owner.account.email})
    browser.post("/account/password/reset/confirm/", {"code": code_of(owner.codes[-1])})
    answer = browser.post("/account/password/reset/complete/", {"password1": NEW, "password2": NEW})
    assert answer.status_code == 302
    assert "_auth_user_id" in browser.session


def change_address(owner: Owner) -> None:
    owner.post("/account/email/", action_add="", email="ada.new@example.com")
    owner.post("/account/confirm-email/", code=code_of(owner.codes[-1]))


def remove_address(owner: Owner) -> None:
    EmailAddress.objects.create(user=owner.account, email="second@example.com", verified=True, primary=False)
    owner.post("/account/email/", action_remove="", email="second@example.com")


def remove_passkey(owner: Owner) -> None:
    row = key(owner.account, "Old phone", is_passkey=True)
    confirm_with_app(owner)
    owner.post(f"/account/2fa/webauthn/keys/{row.pk}/remove/")


def remove_key(owner: Owner) -> None:
    row = key(owner.account, "Blue stick", is_passkey=False)
    confirm_with_app(owner)
    owner.post(f"/account/2fa/webauthn/keys/{row.pk}/remove/")


def set_up_app(owner: Owner) -> None:
    page = owner.browser.get("/account/2fa/totp/activate/")
    owner.post("/account/2fa/totp/activate/", code=totp(page.context["form"].secret))


def remove_app(owner: Owner) -> None:
    confirm_with_app(owner)
    give_codes(owner.account)
    owner.post("/account/2fa/totp/deactivate/")


def make_codes(owner: Owner) -> None:
    confirm_with_app(owner)
    post_new_codes(owner)


def post_new_codes(owner: Owner) -> None:
    owner.post("/account/2fa/recovery-codes/generate/")


def use_code(owner: Owner) -> None:
    give_app(owner.account)
    code = give_codes(owner.account)[0]
    owner.browser.post("/account/logout/")
    sign_in(owner.browser, owner.account)
    owner.post("/account/2fa/authenticate/", code=code)


def operator_does(*names: str) -> Callable[[Owner], None]:
    def act(owner: Owner) -> None:
        operator = sign_in(Browser(), make_staff("opal@example.com", "operator"))
        for name in names:
            address = f"/admin/accounts/account/{owner.account.pk}/do/{name}/"
            operator.post(address, {"reason": "A secret reason"})

    return act


NOTICES = (
    (new_browser, "signed_in_new_browser", "New sign-in to your account", "Safari on an iPhone"),
    (change_password, "password_changed", "Your password has been changed", "Firefox on Linux"),
    (set_password, "password_set", "Your account has a password now", "Firefox on Linux"),
    (replace_password, "password_reset", "Your password has been replaced", "Safari on an iPhone"),
    (change_address, "address_changed", "The email address of your account has been changed", "ada.new@example.com"),
    (remove_address, "address_removed", "An email address has been removed", "second@example.com"),
    (remove_passkey, "passkey_removed", "A passkey has been removed", "“Old phone”"),
    (remove_key, "key_removed", "A security key has been removed", "“Blue stick”"),
    (set_up_app, "authenticator_on", "An authenticator app has been set up", "asked for at sign-in"),
    (remove_app, "authenticator_off", "The authenticator app has been removed", "no longer asked for"),
    (make_codes, "recovery_codes_made", "New recovery codes have been created", "Earlier codes no"),
    (use_code, "recovery_code_used", "A recovery code of your account was used", "9 more are left."),
    (operator_does("sign-out"), "signed_out", "You have been signed out everywhere", "the Openport team"),
    (
        operator_does("deactivate"),
        "account_turned_off",
        "Your account has been turned off",
        "Only an operator of the service can turn it on again",
    ),
)


def notices() -> "list[Outbox]":
    """Return the notices that wait; mails with codes are encrypted."""
    return list(Outbox.objects.filter(expires_at=None).order_by("pk"))


@pytest.mark.parametrize(("act", "kind", "subject", "words"), NOTICES, ids=[row[1] for row in NOTICES])
def test_a_change_sends_one_notice(
    act: Callable[[Owner], None], kind: str, subject: str, words: str, owner: Owner, run: Run
) -> None:
    run(lambda: act(owner))
    told = [mail for mail in notices() if mail.to == Account.objects.get(pk=owner.account.pk).email]
    assert len(told) == 1, [mail.subject for mail in told]
    [mail] = told
    assert mail.subject.startswith(f"{settings.ACCOUNT_EMAIL_SUBJECT_PREFIX}{subject}")
    assert words in mail.body
    assert "/account/secure/" in mail.body or kind == "account_turned_off"
    assert "secret reason" not in mail.body
    assert mail.sent_at is not None
    assert SecurityEvent.objects.filter(account=owner.account, kind=kind).count() == 1


def test_turning_on_again_sends_a_notice_too(owner: Owner, run: Run) -> None:
    run(lambda: operator_does("deactivate", "activate")(owner))
    assert [mail.subject.partition("] ")[2] for mail in notices()] == [
        "Your account has been turned off",
        "Your account has been turned on again",
    ]


def test_a_removed_verified_email_address_is_notified(owner: Owner, run: Run) -> None:
    run(lambda: remove_address(owner))
    told = {mail.to: mail for mail in notices()}
    assert set(told) == {"ada@example.com", "second@example.com"}
    assert "second@example.com no longer belongs to your account" in " ".join(told["second@example.com"].body.split())


def test_email_addresses_removed_by_a_change_are_notified(owner: Owner, run: Run) -> None:
    EmailAddress.objects.create(user=owner.account, email="aaa@example.com", verified=True, primary=False)
    EmailAddress.objects.filter(email="ada@example.com").delete()
    EmailAddress.objects.create(user=owner.account, email="ada@example.com", verified=True, primary=True)
    run(lambda: change_address(owner))
    [to_the_other] = [mail for mail in notices() if mail.to == "aaa@example.com"]
    assert "aaa@example.com no longer belongs to your account" in " ".join(to_the_other.body.split())
    assert SecurityEvent.objects.get(kind="address_changed").details["old"] == "ada@example.com"
    assert not EmailAddress.objects.filter(email="aaa@example.com").exists()


def test_an_unverified_email_address_gets_no_notices(owner: Owner, run: Run) -> None:
    EmailAddress.objects.create(user=owner.account, email="typo@example.com", verified=False, primary=False)
    run(lambda: owner.post("/account/email/", action_remove="", email="typo@example.com"))
    assert {mail.to for mail in notices()} == {"ada@example.com"}
    unproven = make_account("unproven@example.com", verified=False)
    run(lambda: operator_does("deactivate")(Owner(unproven, Browser(), [])))
    assert "unproven@example.com" not in {mail.to for mail in notices()}
    assert SecurityEvent.objects.filter(account=unproven, kind="account_turned_off").exists()


def change_nothing(owner: Owner) -> None:
    """Fail at everything, and look at everything."""
    browser, email = owner.browser, owner.account.email
    for path in ("/account/secure/", "/account/activity/", "/account/sessions/", "/account/password/change/"):
        assert browser.get(path).status_code == 200
    form = {"oldpassword": "wrong", "password1": NEW, "password2": NEW}
    assert browser.post("/account/password/change/", form).status_code == 200
    assert browser.post("/account/2fa/totp/activate/", {"code": "000000"}).status_code == 200
    browser.post("/account/email/", {"action_add": "", "email": "ada.new@example.com"})
    browser.post("/account/confirm-email/", {"code": "AAAA-BBBB"})
    stranger = Browser()
    assert stranger.post("/account/login/", {"login": email, "password": "wrong"}).status_code == 200
    stranger.post("/account/password/reset/", {"email": email})
    stranger.post("/account/password/reset/confirm/", {"code": "AAAA-BBBB"})


def test_without_a_change_there_is_no_notice(owner: Owner, run: Run) -> None:
    before = SecurityEvent.objects.count()
    run(lambda: change_nothing(owner))
    assert notices() == []
    assert SecurityEvent.objects.count() == before


def test_an_operators_second_click_sends_no_second_notice(owner: Owner, run: Run) -> None:
    run(lambda: operator_does("deactivate", "deactivate")(owner))
    assert len(notices()) == 1


# --- Sign-ins ---


def kinds_of(account: Account) -> list[str]:
    return list(SecurityEvent.objects.filter(account=account).order_by("pk").values_list("kind", flat=True))


def test_the_first_browser_sends_no_notice(mailoutbox: list[Any]) -> None:
    browser = Browser()
    form = {"email": "eve@example.com", "given_name": "Eve", "family_name": "", "password1": NEW}
    browser.post("/account/signup/", form)
    assert browser.post("/account/confirm-email/", {"code": code_of(mailoutbox[-1])}).status_code == 302
    account = Account.objects.get(email="eve@example.com")
    assert kinds_of(account) == ["signed_up", "signed_in"]
    assert not notices()


def test_a_known_browser_sends_no_notice(owner: Owner) -> None:
    for _ in range(2):
        owner.browser.post("/account/logout/")
        sign_in(owner.browser, owner.account)
    assert set(kinds_of(owner.account)) == {"signed_in"}
    assert not notices()


def test_similar_new_browsers_send_one_notice_a_day(
    owner: Owner, stopped_clock: None, later: Callable[[float], None]
) -> None:
    for _ in range(3):
        new_browser(owner)
    assert len(notices()) == 1
    sign_in(Browser(headers={"User-Agent": SAFARI}, REMOTE_ADDR="192.0.2.77"), owner.account)
    assert len(notices()) == 2
    assert kinds_of(owner.account).count("signed_in_new_browser") == 4
    later(25 * 3600)
    new_browser(owner)
    assert len(notices()) == 3


def test_mails_about_new_browsers_are_limited(owner: Owner, settings: Any, stopped_clock: None) -> None:
    settings.NEW_BROWSER_MAILS_PER_DAY = 3
    for number in range(6):
        sign_in(Browser(headers={"User-Agent": f"Robot {number}"}, REMOTE_ADDR=f"192.0.2.{number}"), owner.account)
    assert len(notices()) == 3
    assert kinds_of(owner.account).count("signed_in_new_browser") == 6


@pytest.mark.parametrize(
    ("agent", "shown"), [("", "Unknown browser"), ("\x00{0}{} %s <b>", "<b>"), ("x" * 5000, "x" * 40)]
)
def test_any_user_agent_is_accepted(agent: str, shown: str, owner: Owner) -> None:
    sign_in(Browser(headers={"User-Agent": agent}), owner.account)
    [mail] = notices()
    assert shown in mail.body
    assert "<b>" not in mail.html
    assert owner.browser.get("/account/activity/").status_code == 200


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["authenticator_on", "recovery_codes_made"])
def test_a_factor_is_never_added_without_its_notice(kind: str, owner: Owner, monkeypatch: pytest.MonkeyPatch) -> None:
    """django-allauth reports both only after the commit, when a failure can't undo the change any more."""
    if kind == "recovery_codes_made":
        confirm_with_app(owner)
    before = set(Authenticator.objects.values_list("type"))

    def fail(*args: Any, **kwargs: Any) -> None:
        raise DatabaseError

    monkeypatch.setattr("accounts.factors.added_factors.record", fail)
    owner.browser.raise_request_exception = False
    with suppress(AssertionError):  # the response is an error page
        (set_up_app if kind == "authenticator_on" else post_new_codes)(owner)
    assert set(Authenticator.objects.values_list("type")) == before
    assert not SecurityEvent.objects.filter(kind=kind).exists()
