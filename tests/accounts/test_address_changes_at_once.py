"""Taking an address back while someone else acts on the same account, on PostgreSQL with separate connections."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.db import transaction
from django.test import Client as Browser

from accounts.deletion.deleting import delete_account
from accounts.models import Account, AddressChange, Outbox, SecurityEvent
from core import clock
from oidc.models import Project, ProjectMember
from tests.accounts.entrance.test_sign_up import sign_up
from tests.accounts.factors.conftest import confirm
from tests.accounts.recovery.test_address_changes import (
    NEW,
    OLD,
    THIRD,
    change,
    code_in,
    is_taken_back,
    take_back,
    take_back_code,
)
from tests.at_once import at_once, blocked_by, someone_waits_for_us, wait_until
from tests.devportal.admin.conftest import make_staff
from tests.factories import PASSWORD, make_account, make_project
from tests.relying_party import sign_in
from tests.soft_key import SoftKey, give_key, use_alone
from tests.totp import totp

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def thief(monkeypatch: pytest.MonkeyPatch) -> Browser:
    # Emails are looked for in the outbox, and are wiped once they are sent.
    monkeypatch.setattr("accounts.mail.outbox._announce", lambda pk: None)
    return sign_in(Browser(), make_account(OLD))


def test_one_of_two_requests_to_take_it_back_succeeds(thief: Browser) -> None:
    change(thief, NEW)
    code = take_back_code(OLD)
    answers = at_once(4, lambda n: take_back(OLD, code))
    assert [is_taken_back(answer) for answer in answers].count(True) == 1
    assert SecurityEvent.objects.filter(kind="address_taken_back").count() == 1
    assert Account.objects.get().email == OLD


@pytest.mark.parametrize("round_", range(2))
def test_against_another_change_the_old_address_wins(thief: Browser, round_: int) -> None:
    """Whichever comes first: the change is undone, or its session has ended."""
    change(thief, NEW)
    code = take_back_code(OLD)
    thief.post("/account/email/", {"email": THIRD, "action_add": ""})
    form = {"code": code_in(thief)}
    steps: list[Any] = [lambda: take_back(OLD, code), lambda: thief.post("/account/confirm-email/", form)]
    answers = at_once(2, lambda n: steps[n]())
    assert is_taken_back(answers[0])
    account = Account.objects.get()
    assert (account.email, account.has_usable_password()) == (OLD, False)
    assert list(EmailAddress.objects.values_list("email", "verified", "primary")) == [(OLD, True, True)]
    assert not AddressChange.objects.filter(ended_at=None).exists()


def test_the_new_address_does_not_come_back_from_a_form_that_waits(thief: Browser) -> None:
    change(thief, NEW)
    code, form = take_back_code(OLD), {"email": NEW, "action_primary": ""}
    answer = blocked_by(lambda: take_back(OLD, code), lambda: thief.post("/account/email/", form))
    assert answer["Location"] == "/account/login/"
    assert list(EmailAddress.objects.values_list("email", "verified", "primary")) == [(OLD, True, True)]


@pytest.mark.parametrize("round_", range(2))
def test_against_a_new_password_the_old_address_wins(thief: Browser, round_: int) -> None:
    change(thief, NEW)
    code = take_back_code(OLD)
    form = {"oldpassword": PASSWORD, "password1": "another horse 7 battery", "password2": "another horse 7 battery"}
    steps: list[Any] = [lambda: take_back(OLD, code), lambda: thief.post("/account/password/change/", form)]
    assert is_taken_back(at_once(2, lambda n: steps[n]())[0])
    account = Account.objects.get()
    assert (account.email, account.has_usable_password()) == (OLD, False)


def test_against_an_operator_who_corrects_the_name_the_old_address_wins(thief: Browser) -> None:
    change(thief, NEW)
    code, operator = take_back_code(OLD), sign_in(Browser(), make_staff("opal@example.com", "operator"))
    path, form = f"/admin/accounts/account/{Account.objects.get(email=NEW).pk}/change/", {"given_name": "Augusta"}
    answer = blocked_by(lambda: take_back(OLD, code), lambda: operator.post(path, form))
    assert answer.status_code == 302
    account = Account.objects.get(given_name="Augusta")
    assert (account.email, account.has_usable_password()) == (OLD, False)


@pytest.mark.parametrize("round_", range(2))
def test_against_a_deletion_nothing_is_left_half_done(thief: Browser, round_: int) -> None:
    change(thief, NEW)
    code = take_back_code(OLD)
    Outbox.objects.all().delete()
    account = Account.objects.get()
    steps: list[Any] = [lambda: take_back(OLD, code), lambda: delete_account(account)]
    answer = at_once(2, lambda n: steps[n]())[0]
    assert answer.status_code in (200, 302)
    assert not Account.objects.exists()
    assert not AddressChange.objects.exists()
    assert not EmailAddress.objects.exists()


# --- A sign-up that nobody has verified makes way for the old email address ---


def test_a_sign_up_that_is_verified_at_this_moment_stays(thief: Browser) -> None:
    change(thief, NEW)
    code = take_back_code(OLD)
    sign_up(Browser(), OLD)
    newcomer = Account.objects.get(email=OLD)

    def verify() -> None:
        Account.objects.filter(pk=newcomer.pk).update(email_verified=True, last_login=clock.now())
        EmailAddress.objects.filter(user=newcomer).update(verified=True)

    answer = blocked_by(verify, lambda: take_back(OLD, code))
    assert "now belongs to another account" in answer.content.decode()
    assert Account.objects.filter(pk=newcomer.pk, email=OLD, email_verified=True).exists()
    assert Account.objects.filter(email=NEW).exists()


def test_projects_of_the_sign_up_are_locked_before_the_account(thief: Browser) -> None:
    """Otherwise a change of the project that also locks the account would wait for this one, and this one for it."""
    owner = Account.objects.get()
    change(thief, NEW)
    code = take_back_code(OLD)
    sign_up(Browser(), OLD)
    project, newcomer = make_project(owner), Account.objects.get(email=OLD)
    ProjectMember.objects.create(project=project, account=newcomer, role=ProjectMember.Role.VIEWER)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            Project.objects.select_for_update(no_key=True).get(pk=project.pk)
            answer = pool.submit(at_once, 1, lambda _: take_back(OLD, code))
            wait_until(someone_waits_for_us)
            Account.objects.select_for_update(no_key=True).get(pk=owner.pk)
        assert is_taken_back(answer.result()[0])
    assert Account.objects.get().email == OLD


def test_two_answers_about_recent_factors_and_a_thief_who_adds_another(thief: Browser) -> None:
    """The thief's older passkey still signs in. What is added meanwhile goes too, or the session has ended."""
    account = Account.objects.get()
    older, recent = SoftKey(id=b"a key that is older"), SoftKey()
    give_key(account, older)
    row = give_key(account, recent)
    Authenticator.objects.filter(pk=row.pk).update(created_at=clock.from_now(-60))
    confirm(thief, account)
    change(thief, NEW)
    owners = [Browser(), Browser()]
    take_back(OLD, take_back_code(OLD), owners[0])
    owners[1].cookies = owners[0].cookies
    thief = use_alone(older, account)
    secret = thief.get("/account/2fa/totp/activate/").context["form"].secret
    form = {"action": "remove", "remove": str(row.pk), "listed": str(row.pk)}
    answers = at_once(
        3,
        lambda n: (
            owners[n].post("/account/address/taken-back", form)
            if n < 2
            else thief.post("/account/2fa/totp/activate/", {"code": totp(secret)})
        ),
    )
    assert all(answer.status_code < 500 for answer in answers)
    [left] = Authenticator.objects.filter(user=account)
    assert (left.type, left.pk != row.pk) == (Authenticator.Type.WEBAUTHN, True)
    assert Outbox.objects.filter(subject__contains="passkey has been removed", to=OLD).count() == 1
