"""A session can't raise its own level: people who have a second factor use it before they change how they sign in."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.core import mail
from django.test import Client as Browser

from accounts.models import Account, Outbox, SecurityEvent
from oidc.models.clients import MULTI_FACTOR
from tests.accounts.factors.conftest import give_app, give_codes
from tests.factories import PASSWORD, make_account
from tests.oidc.authorization.test_acr import essential, shows, tokens_after
from tests.relying_party import RelyingParty, age_sign_in, claims_of, sign_in
from tests.security.test_sessions import is_signed_in
from tests.soft_key import A_YEAR_AGO, SoftKey, add_key, give_key
from tests.totp import totp

pytestmark = pytest.mark.django_db

ADD, ADD_APP = "/account/2fa/webauthn/add/", "/account/2fa/totp/activate/"
BY_KEY, BY_CODE, BY_PASSWORD = (
    "/account/2fa/webauthn/reauthenticate/",
    "/account/2fa/reauthenticate/",
    "/account/reauthenticate/",
)
AGAIN = "/account/login/again/"
# What asks for more than a session: by which method, and where.
SENSITIVE = [
    ("get", ADD),
    ("post", ADD),
    ("get", ADD_APP),
    ("post", "/account/2fa/webauthn/keys/{key}/remove/"),
    ("post", "/account/2fa/webauthn/keys/{key}/edit/"),
    ("post", "/account/2fa/recovery-codes/generate/"),
    ("post", "/account/email/"),
    ("get", "/account/password/change/"),
    ("post", "/account/password/change/"),
    ("post", "/account/export"),
    ("get", "/account/export/file"),
    ("get", "/account/delete"),
    ("post", "/account/delete"),
]


@pytest.fixture
def second_factor_asked_for(settings: Any) -> None:
    settings.ADMIN_SECOND_FACTOR = True


def confirm_password(browser: Browser, person: Account) -> Any:
    return browser.post(BY_PASSWORD, {"login": person.email, "password": PASSWORD})


def use_key(browser: Browser, key: SoftKey) -> Any:
    options = browser.get(BY_KEY).context["js_data"]["request_options"]
    return browser.post(BY_KEY, {"credential": key.signed(options)})


def leads_to(browser: Browser, path: str = ADD) -> str:
    return str(browser.get(path, follow=True).request["PATH_INFO"])


@pytest.fixture
def protected(person: Account, signed_in: Browser) -> SoftKey:
    """A key that `person` has had for a year; `signed_in` is a session of theirs that did not use it."""
    key = SoftKey()
    give_key(person, key)
    return key


# --- Being asked again ---


@pytest.mark.parametrize(("method", "path"), SENSITIVE)
def test_a_password_alone_does_not_reauthenticate_people_with_a_second_factor(
    method: str, path: str, protected: SoftKey, signed_in: Browser, person: Account
) -> None:
    key = Authenticator.objects.get()
    form = {
        "oldpassword": PASSWORD,
        "password1": "another horse 9 battery",
        "email": "new@example.com",
        "action_add": "",
        "name": "x",
    }
    confirm_password(signed_in, person)
    mails = len(mail.outbox) + Outbox.objects.count()
    answer = getattr(signed_in, method)(path.format(key=key.pk), form)
    assert answer.status_code == 302
    assert answer["Location"].startswith(BY_KEY), answer["Location"]
    assert len(mail.outbox) + Outbox.objects.count() == mails
    assert Authenticator.objects.get() == key
    assert Account.objects.get().check_password(PASSWORD)
    assert "another horse" not in str(dict(signed_in.session))


@pytest.mark.parametrize(
    ("method", "path", "form"),
    [
        ("get", "/account/2fa/totp/deactivate/", {}),
        ("post", "/account/2fa/totp/deactivate/", {}),
        ("get", "/account/2fa/recovery-codes/", {}),
        ("get", "/account/2fa/recovery-codes/download/", {}),
        ("get", "/account/2fa/recovery-codes/generate/", {}),
        ("post", "/account/email/", {"action_remove": "", "email": "spare@example.com"}),
        ("post", "/account/email/", {"action_primary": "", "email": "spare@example.com"}),
    ],
)
def test_a_password_alone_can_not_change_factors_or_the_email_address(
    method: str, path: str, form: dict[str, str], signed_in: Browser, person: Account
) -> None:
    give_app(person)
    give_codes(person)
    EmailAddress.objects.create(user=person, email="spare@example.com", verified=True)
    before = [list(model.objects.order_by("pk").values()) for model in (Authenticator, EmailAddress)]
    confirm_password(signed_in, person)
    answer = getattr(signed_in, method)(path, form)
    assert answer.status_code == 302
    assert answer["Location"].startswith(BY_CODE)
    assert [list(model.objects.order_by("pk").values()) for model in (Authenticator, EmailAddress)] == before


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_session_without_the_factor_can_not_set_a_password(method: str, signed_in: Browser, person: Account) -> None:
    give_key(person, SoftKey())
    person.set_unusable_password()
    person.save()
    session = signed_in.session
    session["_auth_user_hash"] = person.get_session_auth_hash()
    session.save()
    form = {"password1": "another horse 9 battery", "password2": "another horse 9 battery"}
    assert getattr(signed_in, method)("/account/password/set/", form)["Location"].startswith(BY_KEY)
    assert not Account.objects.get().has_usable_password()


def test_a_password_that_was_confirmed_before_the_factor_came_confirms_nothing(
    signed_in: Browser, person: Account
) -> None:
    confirm_password(signed_in, person)
    assert leads_to(signed_in) == ADD
    give_key(person, SoftKey())
    assert leads_to(signed_in) == BY_KEY


def test_a_key_reauthenticates_and_the_form_continues(protected: SoftKey, signed_in: Browser, person: Account) -> None:
    answer = signed_in.post("/account/email/", {"action_add": "", "email": "new@example.com"})
    options = signed_in.get(answer["Location"]).context["js_data"]["request_options"]
    answer = signed_in.post(answer["Location"], {"credential": protected.signed(options)}, follow=True)
    assert mail.outbox[-1].to == ["new@example.com"]


def test_reauthentication_asks_for_the_factor_after_the_password(
    protected: SoftKey, signed_in: Browser, person: Account
) -> None:
    form = {"login": person.email, "password": PASSWORD, "next": "/account/delete"}
    answer = signed_in.post(BY_PASSWORD, form)
    assert answer["Location"].startswith(f"{BY_KEY}?next=")
    options = signed_in.get(answer["Location"]).context["js_data"]["request_options"]
    answer = signed_in.post(answer["Location"], {"credential": protected.signed(options)})
    assert answer["Location"] == "/account/delete"
    assert signed_in.get("/account/delete").status_code == 200


@pytest.mark.parametrize("kind", ["app", "recovery code"])
def test_codes_reauthenticate_too(kind: str, signed_in: Browser, person: Account) -> None:
    secret, codes = give_app(person), give_codes(person)
    assert leads_to(signed_in) == BY_CODE
    signed_in.post(BY_CODE, {"code": totp(secret) if kind == "app" else codes[0]})
    assert leads_to(signed_in) == ADD


def test_without_a_second_factor_the_password_reauthenticates(signed_in: Browser, person: Account) -> None:
    age_sign_in(signed_in, 1000)
    assert leads_to(signed_in) == BY_PASSWORD
    confirm_password(signed_in, person)
    assert leads_to(signed_in) == ADD


def test_a_sign_in_with_the_factor_confirms_for_five_minutes(person: Account) -> None:
    secret = give_app(person)
    browser = Browser()
    browser.post("/account/login/", {"login": person.email, "password": PASSWORD})
    browser.post("/account/2fa/authenticate/", {"code": totp(secret)})
    assert leads_to(browser) == ADD
    age_sign_in(browser, 301)
    assert leads_to(browser) == BY_CODE
    assert leads_to(browser, "/account/delete") == BY_CODE


def test_a_factor_that_was_added_in_this_session_does_not_confirm(
    protected: SoftKey, signed_in: Browser, person: Account
) -> None:
    use_key(signed_in, protected)
    mine = SoftKey(id=b"added here")
    assert add_key(signed_in, mine).status_code == 302
    age_sign_in(signed_in, 1000)
    answer = signed_in.get(use_key(signed_in, mine)["Location"])
    assert "use it yet" in answer.content.decode()
    assert leads_to(signed_in) == BY_KEY
    use_key(signed_in, protected)
    assert leads_to(signed_in) == ADD


def test_with_only_new_factors_a_new_sign_in_is_needed(protected: SoftKey, signed_in: Browser, person: Account) -> None:
    use_key(signed_in, protected)
    with pytest.MonkeyPatch.context() as patch:  # recovery codes come with it
        patch.setattr("django.db.transaction.on_commit", lambda act, **kwargs: act())
        add_key(signed_in, SoftKey(id=b"added here"))
    Authenticator.objects.filter(created_at=A_YEAR_AGO).delete()
    age_sign_in(signed_in, 1000)
    assert leads_to(signed_in) == AGAIN
    confirm_password(signed_in, person)
    assert leads_to(signed_in) == AGAIN


# --- The first factor ---


def enrol_app(browser: Browser) -> Any:
    page = browser.get(ADD_APP)
    return browser.post(ADD_APP, {"code": totp(page.context["form"].secret)})


@pytest.mark.parametrize("enrol", [lambda browser: add_key(browser, SoftKey()), enrol_app])
def test_the_first_factor_ends_all_other_sessions(enrol: Callable[[Browser], Any], person: Account) -> None:
    here, elsewhere, half = sign_in(Browser(), person), sign_in(Browser(), person), Browser()
    confirm_password(elsewhere, person)  # lately, so that it could add a factor
    assert "signs out all other browsers" in here.get(ADD).content.decode()
    assert "signs out all other browsers" in here.get(ADD_APP).content.decode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.db.transaction.on_commit", lambda act, **kwargs: act())
        answer = enrol(here)
    assert answer.status_code == 302
    assert "have been signed out" in here.get(answer["Location"]).content.decode()
    assert is_signed_in(here)
    assert not is_signed_in(elsewhere)
    assert add_key_blindly(elsewhere).status_code == 302
    assert Authenticator.objects.filter(user=person).exclude(type="recovery_codes").count() == 1
    half.post("/account/login/", {"login": person.email, "password": PASSWORD})
    assert not is_signed_in(half)
    assert "sessions_ended" in SecurityEvent.objects.values_list("kind", flat=True)


def add_key_blindly(browser: Browser) -> Any:
    return browser.post(ADD, {"name": "Mine", "passwordless": "true", "credential": "{}"})


def test_only_the_mail_about_the_first_factor_mentions_ended_sessions(person: Account) -> None:
    browser = sign_in(Browser(), person)
    add_key(browser, SoftKey())
    add_key(browser, SoftKey(id=b"a second one"))
    first, second = Outbox.objects.filter(subject__contains="passkey has been added").order_by("pk")
    assert "signed out" in first.body
    assert "signed out" not in second.body


def test_a_further_factor_ends_no_session(protected: SoftKey, signed_in: Browser, person: Account) -> None:
    elsewhere = Browser()
    elsewhere.force_login(person, backend="allauth.account.auth_backends.AuthenticationBackend")
    use_key(signed_in, protected)
    page = signed_in.get(ADD).content.decode()
    assert "signs out all other browsers" not in page
    add_key(signed_in, SoftKey(id=b"a second one"))
    assert is_signed_in(elsewhere)


# --- The admin ---


@pytest.mark.usefixtures("second_factor_asked_for")
@pytest.mark.parametrize("verifies", [True, False])
def test_a_sign_in_of_staff_confirms_only_with_a_key_that_verified_them(*, verifies: bool) -> None:
    """Otherwise a stolen key without its PIN could be replaced by one that opens the admin."""
    owner, browser, key = make_account("owner@example.com", is_staff=True), Browser(), SoftKey(verifies=verifies)
    give_key(owner, key, signs_in_alone=False)
    browser.post("/account/login/", {"login": owner.email, "password": PASSWORD})
    options = browser.get("/account/2fa/authenticate/").context["js_data"]["request_options"]
    browser.post("/account/2fa/authenticate/", {"credential": key.signed(options)})
    assert is_signed_in(browser)
    assert leads_to(browser) == (ADD if verifies else BY_KEY)


@pytest.mark.usefixtures("second_factor_asked_for")
def test_the_password_and_an_added_key_do_not_open_the_admin() -> None:
    owner = make_account("owner@example.com", is_staff=True, is_superuser=True)
    thief = sign_in(Browser(), owner)
    give_key(owner, SoftKey(), signs_in_alone=True)
    Authenticator.objects.update(created_at=A_YEAR_AGO)
    confirm_password(thief, owner)
    assert thief.get(ADD).status_code == 302
    mine = SoftKey(id=b"of the thief")
    give_key(owner, mine)
    row = Authenticator.objects.latest("pk")
    row.created_at = thief_time(thief)
    row.save()
    use_key(thief, mine)
    assert leads_to(thief, "/admin/") == BY_KEY


def thief_time(browser: Browser) -> Any:
    signed_in_at = browser.session["authentication"]["at"]
    return datetime.fromtimestamp(signed_in_at, UTC) + timedelta(seconds=1)


@pytest.mark.usefixtures("second_factor_asked_for")
def test_a_second_key_does_not_open_the_admin_in_the_session_that_added_it() -> None:
    owner = make_account("owner@example.com", is_staff=True, is_superuser=True)
    browser, old, new = sign_in(Browser(), owner), SoftKey(verifies=False), SoftKey(id=b"new")
    give_key(owner, old, signs_in_alone=False)
    secret = give_app(owner)
    Authenticator.objects.update(created_at=A_YEAR_AGO)
    browser.post(BY_CODE, {"code": totp(secret)})
    assert leads_to(browser, "/admin/") == "/admin/"
    add_key(browser, new)
    Authenticator.objects.filter(type="totp").delete()
    assert leads_to(browser, "/admin/") == BY_KEY
    use_key(browser, new)
    assert leads_to(browser, "/admin/") == BY_KEY


# --- Levels ---


@pytest.mark.usefixtures("second_factor_asked_for")
@pytest.mark.parametrize("verifies", [True, False])
def test_staff_cannot_confirm_for_an_app_with_a_key_without_user_verification(
    *, verifies: bool, app: RelyingParty, person: Account
) -> None:
    key = SoftKey(verifies=verifies)
    give_key(person, key)
    Account.objects.update(is_staff=True)
    page = app.authorize(claims=essential(MULTI_FACTOR))
    credential = key.signed(page.context["js_data"]["request_options"])
    app.browser.post("/connect/step-up", {"reference": page.context["reference"], "credential": credential})
    assert leads_to(app.browser) == (ADD if verifies else BY_KEY)


def test_a_passkey_added_in_this_session_does_not_meet_an_apps_level(
    protected: SoftKey, app: RelyingParty, person: Account
) -> None:
    secret = give_app(person)
    Authenticator.objects.update(created_at=A_YEAR_AGO)
    app.browser.post(BY_CODE, {"code": totp(secret)})
    mine = SoftKey(id=b"added here")
    assert add_key(app.browser, mine).status_code == 302
    page = app.authorize(claims=essential("phr"))
    assert shows(page, "a passkey")
    credential = mine.signed(page.context["js_data"]["request_options"])
    back = app.browser.post("/connect/step-up", {"reference": page.context["reference"], "credential": credential})
    assert shows(app.browser.get(back["Location"]), "a passkey")


@pytest.mark.parametrize("level", ["phr", MULTI_FACTOR])
def test_setting_up_another_factor_does_not_raise_the_level(level: str, app: RelyingParty, person: Account) -> None:
    """The session confirmed with a code before the account's app was replaced, so it has shown one factor by now."""
    give_key(person, SoftKey(id=b"not at hand"))
    session = app.browser.session
    session["account_authentication_methods"] = [
        {"method": "password", "at": session["authentication"]["at"], "reauthenticated": True}
    ]
    session.save()
    with pytest.MonkeyPatch.context() as patch:  # as if it had been confirmed with the key
        patch.setattr("accounts.entrance.reauthentication.is_confirmed", lambda request: True)
        assert add_key(app.browser, SoftKey(id=b"added here")).status_code == 302
    page = app.authorize(claims=essential(level))
    assert shows(page, "a passkey" if level == "phr" else "two-step verification")


def test_a_passkey_beside_an_app_needs_a_new_sign_in_for_the_level(app: RelyingParty, person: Account) -> None:
    secret = give_app(person)
    Authenticator.objects.update(created_at=A_YEAR_AGO)
    app.browser.post(BY_CODE, {"code": totp(secret)})
    key = SoftKey()
    assert "Set up a passkey" in app.authorize(claims=essential("phr")).content.decode()
    add_key(app.browser, key)
    page = app.authorize(claims=essential("phr"))
    assert "Sign in again" in page.content.decode()
    form = {"decision": "another", "request": page.context["request_key"]}
    login = app.browser.post("/account/choose", form)
    options = app.browser.get("/account/2fa/webauthn/login/", headers={"Accept": "application/json"}).json()
    credential = key.signed(options["request_options"], person)
    app.browser.post("/account/2fa/webauthn/login/", {"credential": credential})
    assert login["Location"].startswith("/account/login/")
    assert claims_of(tokens_after(app, app.authorize(claims=essential("phr")))["id_token"])["acr"] == "phr"


# --- Factors that their owner has removed ---


def test_a_removed_key_no_longer_meets_the_level_that_it_met(app: RelyingParty, person: Account) -> None:
    key = SoftKey()
    row = give_key(person, key)
    page = app.authorize(claims=essential("phr"))
    credential = key.signed(page.context["js_data"]["request_options"])
    app.browser.post("/connect/step-up", {"reference": page.context["reference"], "credential": credential})
    assert claims_of(tokens_after(app, app.authorize(claims=essential("phr")))["id_token"])["acr"] == "phr"
    row.delete()  # in another browser
    assert shows(app.authorize(claims=essential("phr")), "a passkey")
    assert shows(app.authorize(claims=essential(MULTI_FACTOR)), "two-step verification")


def test_so_does_a_removed_app(app: RelyingParty, person: Account) -> None:
    secret = give_app(person)
    Authenticator.objects.update(created_at=A_YEAR_AGO)
    app.browser.post(BY_CODE, {"code": totp(secret)})
    level = essential(MULTI_FACTOR)
    assert claims_of(tokens_after(app, app.authorize(claims=level))["id_token"])["acr"] == MULTI_FACTOR
    Authenticator.objects.all().delete()
    assert shows(app.authorize(claims=level), "two-step verification")


def test_a_first_factor_that_was_removed_again_meets_no_level(app: RelyingParty, person: Account) -> None:
    confirm_password(app.browser, person)
    add_key(app.browser, SoftKey())
    assert claims_of(tokens_after(app, app.authorize(claims=essential("phr")))["id_token"])["acr"] == "phr"
    Authenticator.objects.all().delete()
    assert shows(app.authorize(claims=essential("phr")), "a passkey")


@pytest.mark.parametrize("asked_then", [BY_KEY, BY_PASSWORD], ids=["a key is left", "nothing is left"])
def test_a_removed_app_no_longer_confirms(asked_then: str, signed_in: Browser, person: Account) -> None:
    secret = give_app(person)
    if asked_then == BY_KEY:
        give_key(person, SoftKey())
    Authenticator.objects.update(created_at=A_YEAR_AGO)
    age_sign_in(signed_in, 3600)
    signed_in.post(BY_CODE, {"code": totp(secret)})
    assert leads_to(signed_in) == ADD
    Authenticator.objects.filter(type=Authenticator.Type.TOTP).delete()  # in another browser
    assert leads_to(signed_in) == asked_then
