"""Changing the address, and taking it back from the old one for seven days."""

import re
from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.test import Client as Browser

from accounts.models import Account, AddressChange, Outbox, SecurityEvent
from accounts.tasks import clear_address_changes, clear_security_events
from core import clock
from core.database import encryption
from devportal.console.models import AuditEvent
from oidc.projects import invitations
from oidc.projects.roles import Role
from tests.accounts.entrance.test_sign_up import code_of, sign_up
from tests.accounts.factors.conftest import give_app
from tests.factories import PASSWORD, make_account, make_project
from tests.relying_party import age_sign_in, sign_in
from tests.totp import totp

pytestmark = pytest.mark.django_db

OLD, NEW, THIRD = "ada@example.com", "thief@example.com", "third@example.com"
PATH = "/account/address/take-back"


def change(browser: Browser, new: str) -> Any:
    """Change the address of who is signed in, with the code that goes to the new one."""
    browser.post("/account/email/", {"email": new, "action_add": ""})
    return browser.post("/account/confirm-email/", {"code": code_in(browser)})


def code_in(browser: Browser) -> str:
    """Return the code that was mailed to the new address, from the session."""
    return encryption.decrypt(browser.session["account_email_verification_code"]["code"])


def mail_to(email: str) -> Outbox:
    return Outbox.objects.filter(to=email, subject__endswith="Your email address has been changed").latest("pk")


def take_back_code(email: str) -> str:
    found = re.search(r"^ {4}(\S{4}-\S{4}-\S{4})$", mail_to(email).text(), re.MULTILINE)
    assert found
    return found[1]


def take_back(email: str, code: str, browser: Browser | None = None, ip: str = "192.0.2.1") -> Any:
    return (browser or Browser()).post(PATH, {"email": email, "code": code}, REMOTE_ADDR=ip)


def is_taken_back(answer: Any) -> bool:
    return bool(answer.status_code == 302 and answer["Location"] == "/account/address/taken-back")


@pytest.fixture
def thief(person: Account) -> Browser:
    """Someone who knows the password, and is signed in."""
    return sign_in(Browser(), person)


def test_the_old_address_gets_one_mail_with_a_code(thief: Browser, mailoutbox: list[Any]) -> None:
    assert change(thief, NEW).status_code == 302
    row = mail_to(OLD)
    assert Outbox.objects.filter(to=OLD).count() == 1
    assert NEW not in row.text() + row.body + row.subject
    assert take_back_code(OLD) not in row.body + row.html + row.subject
    kept = AddressChange.objects.get()
    assert (kept.old_email, kept.new_email) == (OLD, NEW)
    assert take_back_code(OLD).replace("-", "") not in kept.code_mac
    page = Browser().get(PATH)
    assert page.status_code == 200
    assert AddressChange.objects.get().ended_at is None


def test_the_code_takes_the_account_back(thief: Browser, person: Account) -> None:
    secret = give_app(person)
    thief.post("/account/2fa/reauthenticate/", {"code": totp(secret)})
    change(thief, NEW)
    EmailAddress.objects.create(user=person, email=THIRD, verified=True, primary=False)
    known = thief.cookies["openport_known"].value
    answer = take_back(f" {OLD.upper()}", f" {take_back_code(OLD).lower().replace('-', ' ')} ")
    assert is_taken_back(answer)
    assert b"Choose a new password" in Browser().get(answer["Location"]).content
    person.refresh_from_db()
    assert (person.email, person.email_verified, person.has_usable_password()) == (OLD, True, False)
    rows = EmailAddress.objects.filter(user=person)
    assert [(row.email, row.verified, row.primary) for row in rows] == [(OLD, True, True)]
    assert thief.get("/account/")["Location"].startswith("/account/login/")
    for email in (OLD, NEW):
        form = {"login": email, "password": PASSWORD}
        thief.cookies["openport_known"] = known
        assert thief.post("/account/login/", form).status_code == 200
    assert Authenticator.objects.filter(user=person).exists()
    assert SecurityEvent.objects.filter(account=person, kind="address_taken_back").count() == 1
    notices = Outbox.objects.filter(subject__contains="has been taken back")
    assert sorted(notices.values_list("to", flat=True)) == sorted([OLD, NEW, THIRD])
    audited = AuditEvent.objects.get(action="account.address_taken_back")
    assert OLD not in str(audited.details) + audited.target


def test_the_owner_then_chooses_a_password(thief: Browser, person: Account, mailoutbox: list[Any]) -> None:
    change(thief, NEW)
    owner = Browser()
    take_back(OLD, take_back_code(OLD), owner)
    owner.post("/account/password/reset/", {"email": OLD})
    owner.post("/account/password/reset/confirm/", {"code": code_of(mailoutbox[-1])})
    form = {"password1": "another horse 7 battery", "password2": "another horse 7 battery"}
    owner.post("/account/password/reset/complete/", form)
    assert owner.get("/account/").status_code == 200


def test_a_code_works_once_and_for_seven_days(thief: Browser, later: Any) -> None:
    change(thief, NEW)
    code = take_back_code(OLD)
    later(6.9 * 24 * 3600)
    assert clear_address_changes() == 0
    assert is_taken_back(take_back(OLD, code))
    assert not is_taken_back(take_back(OLD, code))
    later(0.2 * 24 * 3600)
    assert clear_address_changes() == 1


def test_the_code_expires_after_seven_days(thief: Browser, later: Any) -> None:
    change(thief, NEW)
    later(7.01 * 24 * 3600)
    answer = take_back(OLD, take_back_code(OLD))
    assert b"it has expired" in answer.content
    assert Account.objects.get().email == NEW


def test_a_later_change_does_not_hide_it(thief: Browser, person: Account) -> None:
    change(thief, NEW)
    age_sign_in(thief, 0)
    change(thief, THIRD)
    first, second = take_back_code(OLD), take_back_code(NEW)
    assert is_taken_back(take_back(NEW, second))
    assert Account.objects.get().email == NEW
    assert is_taken_back(take_back(OLD, first))
    assert Account.objects.get().email == OLD
    assert not is_taken_back(take_back(NEW, second))


def test_the_oldest_ends_the_codes_of_those_between(thief: Browser) -> None:
    change(thief, NEW)
    change(thief, THIRD)
    first, second = take_back_code(OLD), take_back_code(NEW)
    assert is_taken_back(take_back(OLD, first))
    assert not is_taken_back(take_back(NEW, second))
    assert Account.objects.get().email == OLD


def test_changing_it_back_ends_the_codes_of_a_thief(thief: Browser, mailoutbox: list[Any]) -> None:
    change(thief, NEW)
    change(thief, THIRD)
    second = take_back_code(NEW)
    change(thief, OLD)
    assert not Outbox.objects.filter(to=THIRD, subject__endswith="Your email address has been changed").exists()
    assert not is_taken_back(take_back(NEW, second))
    assert is_taken_back(take_back(OLD, take_back_code(OLD)))


@pytest.mark.parametrize("kind", ["verified", "provisioned", "owner"])
def test_an_account_that_can_not_make_way_is_refused_in_words(kind: str, thief: Browser) -> None:
    """Neither an account that an operator created, nor the only owner of a project, is deleted as an open sign-up."""
    change(thief, NEW)
    if kind != "owner":
        make_account(OLD, verified=kind == "verified")
    sign_up(Browser(), OLD)  # only started
    if kind == "owner":
        make_project(Account.objects.get(email=OLD))
    answer = take_back(OLD, take_back_code(OLD))
    assert answer.status_code == 200
    assert "now belongs to another account" in answer.content.decode()
    assert set(Account.objects.values_list("email", flat=True)) >= {OLD, NEW}


def test_an_unverified_old_email_address_gets_no_code(mailoutbox: list[Any], client: Browser, person: Account) -> None:
    browser = sign_in(Browser(), person)
    EmailAddress.objects.filter(user=person).update(verified=False)
    Account.objects.filter(pk=person.pk).update(email_verified=False)
    change(browser, NEW)
    assert Account.objects.get().email == NEW
    assert not AddressChange.objects.exists()
    assert not Outbox.objects.filter(to=OLD).exists()


def test_it_goes_with_the_account(thief: Browser, person: Account) -> None:
    change(thief, NEW)
    code = take_back_code(OLD)
    Account.objects.get().delete()
    assert not AddressChange.objects.exists()
    assert not Outbox.objects.filter(to__in=[OLD, NEW]).exists()
    assert b"does not belong" in take_back(OLD, code).content


@pytest.mark.parametrize(("email", "code"), [(OLD, "AAAA-BBBB-CCCC"), (NEW, "right"), ("x@example.com", "right")])
def test_wrong_codes_all_get_the_same_answer(thief: Browser, email: str, code: str) -> None:
    change(thief, NEW)
    answer = take_back(email, take_back_code(OLD) if code == "right" else code)
    assert answer.status_code == 200
    assert b"This code does not belong to this email address, or it has expired." in answer.content
    assert Account.objects.get().email == NEW


# --- What a thief has started, and goes on with after the address was taken back ---


def test_a_reset_that_began_before_no_longer_works(thief: Browser, person: Account, mailoutbox: list[Any]) -> None:
    change(thief, NEW)
    elsewhere = Browser()
    elsewhere.post("/account/password/reset/", {"email": NEW})
    elsewhere.post("/account/password/reset/confirm/", {"code": code_of(mailoutbox[-1])})
    take_back(OLD, take_back_code(OLD))
    form = {"password1": "another horse 7 battery", "password2": "another horse 7 battery"}
    assert elsewhere.post("/account/password/reset/complete/", form)["Location"] == "/account/login/"
    person.refresh_from_db()
    assert not person.has_usable_password()


def test_a_sign_in_that_waits_for_two_step_verification_ends(thief: Browser, person: Account) -> None:
    change(thief, NEW)
    person.refresh_from_db()
    secret = give_app(person)
    half = Browser()
    asked = half.post("/account/login/", {"login": NEW, "password": PASSWORD})
    assert asked["Location"] == "/account/2fa/authenticate/"
    take_back(OLD, take_back_code(OLD))
    code = totp(secret)
    assert half.post("/account/2fa/authenticate/", {"code": code})["Location"] == "/account/login/"
    assert half.get("/account/")["Location"].startswith("/account/login/")


# --- An email address that someone else has signed up with ---


@pytest.mark.parametrize("when", ["before", "long before", "before the code is typed"])
def test_a_sign_up_that_nobody_verified_keeps_nobody_from_an_address(
    when: str, thief: Browser, person: Account, settings: Any
) -> None:
    """Strangers know neither the mailbox nor who would like to use it."""
    if when == "before the code is typed":
        thief.post("/account/email/", {"email": NEW, "action_add": ""})
    sign_up(Browser(), NEW)
    if when == "long before":
        SecurityEvent.objects.update(at=clock.now() - timedelta(days=settings.SECURITY_EVENT_DAYS + 1))
        clear_security_events()
    if when == "before the code is typed":
        thief.post("/account/confirm-email/", {"code": code_in(thief)})
    else:
        change(thief, NEW)
    assert list(Account.objects.values_list("pk", "email", "email_verified")) == [(person.pk, NEW, True)]
    assert list(EmailAddress.objects.values_list("user", "email", "verified")) == [(person.pk, NEW, True)]


def test_invitations_to_the_address_of_a_sign_up_stay(thief: Browser, person: Account) -> None:
    """Otherwise strangers who sign up with an email address could keep its owner from answering."""
    owner = make_account("owner@example.com")
    invitations.invite(make_project(owner), NEW, Role.DEVELOPER, owner)
    sign_up(Browser(), NEW)
    change(thief, NEW)
    person.refresh_from_db()
    assert [row.email for row in invitations.invitations_to_account(person)] == [NEW]
    assert Outbox.objects.filter(to=NEW, subject__contains="project").exists()


@pytest.mark.parametrize("kind", ["provisioned", "owner", "verified"])
def test_an_email_address_of_another_account_is_refused(kind: str, thief: Browser, person: Account) -> None:
    """Only unverified accounts that nobody but a stranger has created make way."""
    if kind == "owner":
        sign_up(Browser(), NEW)
        make_project(Account.objects.get(email=NEW))
    else:
        make_account(NEW, verified=kind == "verified")
    assert b"already registered" in change(thief, NEW).content  # who proves the mailbox may know
    person.refresh_from_db()
    assert person.email == OLD
    assert EmailAddress.objects.filter(user=person, email=OLD, verified=True).exists()
    assert Account.objects.filter(email=NEW).exists()
