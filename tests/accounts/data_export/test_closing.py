"""An account that its owner closes: nothing opens, it can be kept, and it goes when its time has come."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.core.mail import EmailMultiAlternatives
from django.core.management import call_command
from django.db import transaction
from django.test import Client as Browser

from accounts.deletion import deleting
from accounts.mail import delivery
from accounts.models import Account, Outbox, SecurityEvent
from accounts.recovery import closing
from accounts.recovery.tasks import delete_closed_accounts
from accounts.sessions.browser_sessions import end_all_sessions
from api.models import ApiKey
from core import clock
from devportal.console.models import AuditEvent
from oidc.models import ProjectInvitation, ProjectMember
from oidc.projects import invitations
from tests.accounts.factors.conftest import give_app
from tests.factories import PASSWORD, make_account, make_key, make_project
from tests.relying_party import RelyingParty, age_sign_in, sign_in, url_in_page
from tests.totp import totp

pytestmark = pytest.mark.django_db
DAY = 24 * 3600
SECOND = "ada@second.example"
Mover = Callable[[float], None]


@pytest.fixture(autouse=True)
def commits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do at once what waits for a commit: mails go out."""
    monkeypatch.setattr(transaction, "on_commit", lambda do, robust=False: do())


def close(browser: Browser, account: Account) -> Any:
    browser.post("/account/reauthenticate/", {"login": account.email, "password": PASSWORD})
    return browser.post("/account/delete")


def try_to_sign_in(account: Account, password: str = PASSWORD) -> Browser:
    """Return a browser in which the sign-in form was sent."""
    browser = Browser()
    browser.post("/account/login/", {"login": account.email, "password": password})
    return browser


def is_signed_in(browser: Browser) -> bool:
    return browser.get("/account/").status_code == 200


@pytest.fixture
def closed(person: Account) -> Account:
    """Someone with two addresses who has just closed their account."""
    EmailAddress.objects.create(user=person, email=SECOND, verified=True, primary=False)
    EmailAddress.objects.create(user=person, email="ada@unproven.example", verified=False, primary=False)
    assert close(sign_in(Browser(), person), person)["Location"] == "/account/goodbye"
    return Account.objects.get(pk=person.pk)


@pytest.mark.parametrize("days", [0, 14])
def test_a_session_that_ends_while_it_closes_the_account_closes_nothing(
    person: Account, settings: Any, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    settings.ACCOUNT_DELETION_DAYS = days
    ask = closing.ask

    def ask_late(account: Account, request: Any) -> Any:
        end_all_sessions(Account.objects.get(pk=account.pk))  # the owner takes the account back
        return ask(account, request)

    monkeypatch.setattr(closing, "ask", ask_late)
    assert close(sign_in(Browser(), person), person)["Location"] == "/account/login/"
    assert Account.objects.get(pk=person.pk).is_active


def test_a_form_that_was_given_up_does_not_close_the_account_at_a_later_visit(person: Account) -> None:
    browser = sign_in(Browser(), person)
    age_sign_in(browser, 3600)
    assert browser.post("/account/delete")["Location"] == "/account/reauthenticate/?next=%2Faccount%2Fdelete"
    asked = browser.get("/account/delete")  # another day, to read the page
    page = browser.post(asked["Location"], {"login": person.email, "password": PASSWORD}, follow=True)
    assert Account.objects.get(pk=person.pk).is_active
    assert page.request["PATH_INFO"] == "/account/delete"


# --- Closed ---


def test_sessions_codes_and_tokens_end_immediately(app: RelyingParty, person: Account) -> None:
    code, tokens = app.code(), app.tokens()
    project = make_project(make_account())
    ProjectMember.objects.create(project=project, account=person, role=ProjectMember.Role.OWNER)
    _, raw = make_key(project, person)
    invitations.invite(project, "eve@example.com", "viewer", person)
    elsewhere = sign_in(Browser(), person)
    assert app.call("/v1/me", raw).status_code == 200
    assert close(app.browser, person)["Location"] == "/account/goodbye"
    assert not is_signed_in(elsewhere)
    assert not is_signed_in(app.browser)
    assert app.exchange(code).status_code == 400
    assert app.refresh(tokens["refresh_token"]).status_code == 400
    for credential in (tokens["access_token"], raw):
        assert app.call("/v1/me", credential).status_code == 401
    assert ApiKey.objects.get().revoked_at is not None
    assert not ProjectInvitation.objects.filter(invited_by=person, ended_at=None).exists()


def test_the_page_after_closing_shows_the_date(person: Account) -> None:
    browser = sign_in(Browser(), person)
    page = browser.get(close(browser, person)["Location"]).content.decode()
    assert "Your account is closed" in page
    due_at = Account.objects.get().deletion_due_at
    assert due_at is not None
    assert closing.day_of(due_at) in page
    assert Browser().get("/account/goodbye")["Location"] == "/connect/signed-out"


def test_every_verified_email_address_learns_how_to_keep_the_account(closed: Account) -> None:
    told = [message for message in mail.outbox if "will be deleted" in message.subject]
    assert sorted(message.to[0] for message in told) == [closed.email, SECOND]
    assert closed.deletion_due_at is not None
    for message in told:
        assert closing.day_of(closed.deletion_due_at) in " ".join(message.body.split())
        assert "sign in, and confirm that you want to keep it" in " ".join(message.body.split())
        assert re.search(r"^ {4}http\S+/account/closed$", str(message.body), re.MULTILINE), message.body
        assert isinstance(message, EmailMultiAlternatives)
        [(html, _)] = message.alternatives
        assert ">Keep my account</a>" in str(html)
    assert SecurityEvent.objects.get(kind="deletion_asked").account == closed
    assert AuditEvent.objects.filter(action="account.deletion_asked", actor=closed).count() == 1


def test_the_button_in_the_mail_leads_through_sign_in_to_the_question(closed: Account) -> None:
    browser = Browser()
    asked = browser.get("/account/closed", follow=True)
    assert "confirm that you want to keep it" in asked.content.decode()
    closed.refresh_from_db()
    assert not closed.is_active  # opening the link did nothing
    form = {"login": closed.email, "password": PASSWORD, "next": "/account/closed"}
    page = browser.post("/account/login/", form, follow=True)
    assert "Keep the account" in page.content.decode()
    kept = browser.post("/account/closed", follow=True)
    assert kept.redirect_chain[-1][0] == "/account/"
    assert Account.objects.get(pk=closed.pk).is_active
    assert browser.get("/account/closed")["Location"] == "/account/"


def test_a_second_click_changes_nothing(person: Account) -> None:
    browser = sign_in(Browser(), person)
    request = browser.get("/account/").wsgi_request
    first = closing.ask(person, request)
    assert closing.ask(person, request) == first
    assert len([message for message in mail.outbox if "will be deleted" in message.subject]) == 1


def test_a_sign_in_reaches_only_the_page_of_closed_accounts(closed: Account) -> None:
    browser = Browser()
    answer = browser.post("/account/login/", {"login": closed.email, "password": PASSWORD})
    assert answer["Location"] == "/account/closed"
    page = browser.get("/account/closed").content.decode()
    assert "Keep the account" in page
    assert closed.email in page
    assert not is_signed_in(browser)
    browser.post("/account/logout/", {"next": "/account/login/"})
    assert browser.get("/account/closed")["Location"] == "/account/login/?next=/account/closed"
    assert not Account.objects.get().is_active


def test_a_wrong_password_does_not_reveal_a_closed_account(closed: Account) -> None:
    wrong = {"login": closed.email, "password": "not the password 1"}
    unknown = wrong | {"login": "nobody@example.com"}
    answers = [Browser().post("/account/login/", form) for form in (wrong, unknown)]
    pages = [answer.content.decode() for answer in answers]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert "deleted" not in pages[0]
    assert pages[0].count("<") == pages[1].count("<")


def test_two_step_verification_comes_first(closed: Account) -> None:
    secret = give_app(closed)
    browser = Browser()
    answer = browser.post("/account/login/", {"login": closed.email, "password": PASSWORD})
    assert answer["Location"] == "/account/2fa/authenticate/"
    assert browser.get("/account/closed")["Location"] == "/account/login/?next=/account/closed"
    assert browser.post("/account/closed")["Location"] == "/account/login/"
    assert not Account.objects.get().is_active
    code = totp(secret)
    assert browser.post("/account/2fa/authenticate/", {"code": code})["Location"] == "/account/closed"


def test_a_password_reset_leads_to_the_same_page(closed: Account) -> None:
    browser = Browser()
    browser.post("/account/password/reset/", {"email": closed.email})
    (code,) = [line.strip() for line in mail.outbox[-1].body.splitlines() if line.startswith("    ")]
    answer = browser.post("/account/password/reset/confirm/", {"code": code})
    new = {"password1": "another horse 8 staple", "password2": "another horse 8 staple"}
    answer = browser.post(answer["Location"], new)
    assert answer["Location"] == "/account/closed"
    assert not is_signed_in(browser)


def test_a_deactivated_account_stays_deactivated(person: Account) -> None:
    Account.objects.filter(pk=person.pk).update(is_active=False)
    answer = Browser().post("/account/login/", {"login": person.email, "password": PASSWORD})
    assert answer["Location"] == "/account/inactive/"
    with pytest.raises(closing.Gone):
        closing.keep(person.pk)


def test_signing_up_again_explains_how_to_keep_the_account(closed: Account) -> None:
    mail.outbox.clear()
    form = {"email": closed.email, "given_name": "Ada", "password1": "another horse 8 staple"}
    answer = Browser().post("/account/signup/", form)
    assert answer["Location"] == "/account/confirm-email/"
    (told,) = mail.outbox
    assert told.to == [closed.email]
    assert "/account/closed" in told.body
    assert Account.objects.count() == 1


# --- Kept ---


def test_keeping_the_account_restores_no_sessions_or_tokens(app: RelyingParty, person: Account) -> None:
    tokens = app.tokens()
    close(app.browser, person)
    browser = try_to_sign_in(person)
    assert browser.post("/account/closed")["Location"] == "/connect/resume"
    assert is_signed_in(browser)
    account = Account.objects.get(pk=person.pk)
    assert (account.is_active, account.deletion_due_at) == (True, None)
    assert app.refresh(tokens["refresh_token"]).status_code == 400
    assert app.call("/v1/me", tokens["access_token"]).status_code == 401
    assert len([message for message in mail.outbox if "Your account will be kept" in message.subject]) == 1
    kinds = list(SecurityEvent.objects.values_list("kind", flat=True))
    assert (kinds.count("deletion_asked"), kinds.count("deletion_cancelled")) == (1, 1)
    assert AuditEvent.objects.filter(action="account.deletion_cancelled", actor=person).exists()


@pytest.mark.parametrize("change", ["password", "closed again"])
def test_a_waiting_sign_in_ends_with_the_sessions(closed: Account, change: str) -> None:
    """A thief who knew the password waits at the page, while its owner keeps the account and looks after it."""
    thief, owner = try_to_sign_in(closed), try_to_sign_in(closed)
    owner.post("/account/closed")
    if change == "password":
        new = "another horse 8 staple"
        owner.post("/account/password/change/", {"oldpassword": PASSWORD, "password1": new, "password2": new})
    else:
        close(owner, closed)
    assert thief.post("/account/closed")["Location"] == "/account/login/"
    assert not is_signed_in(thief)
    assert Account.objects.get().is_active == (change == "password")
    assert thief.get("/account/closed")["Location"] == "/account/login/?next=/account/closed"


def test_keeping_it_leads_back_to_the_app_that_waits(app: RelyingParty, person: Account) -> None:
    app.tokens()
    close(app.browser, person)
    app.browser = Browser()
    app.authorize()
    app.browser.post("/account/login/", {"login": person.email, "password": PASSWORD})
    resumed = app.browser.get(app.browser.post("/account/closed")["Location"])
    assert "code=" in url_in_page(app.browser.get(resumed["Location"]).content.decode())


def test_an_operator_can_keep_a_closed_account(closed: Account) -> None:
    operator = make_account("op@example.com", is_staff=True, is_superuser=True)
    browser = sign_in(Browser(), operator)
    page = f"/admin/accounts/account/{closed.pk}/"
    assert "To be deleted on" in browser.get(f"{page}change/").content.decode()
    assert browser.get(f"{page}do/activate/").status_code in (302, 403, 404)
    assert browser.post(f"{page}do/keep/").status_code == 302
    assert Account.objects.get(pk=closed.pk).is_active
    assert SecurityEvent.objects.get(kind="deletion_cancelled").by == SecurityEvent.By.OPERATOR
    assert AuditEvent.objects.get(action="account.deletion_cancelled").actor == operator


# --- Deleted ---


def test_a_closed_account_is_deleted_when_due(closed: Account, later: Mover) -> None:
    later(14 * DAY - 60)
    assert delete_closed_accounts() == 0
    later(61)
    mail.outbox.clear()
    assert delete_closed_accounts() == 1
    assert not Account.objects.exists()
    assert sorted(message.to[0] for message in mail.outbox) == [closed.email, SECOND]
    assert {message.subject for message in mail.outbox} == {"[Openport] Your account has been deleted"}
    assert not Outbox.objects.exists()  # with them, the addresses


def test_the_last_mail_is_kept_only_until_it_is_sent_or_given_up(
    closed: Account, later: Mover, monkeypatch: pytest.MonkeyPatch
) -> None:
    later(14 * DAY)
    monkeypatch.setattr("accounts.mail.outbox.delivery.send_inline", lambda pk: None)
    delete_closed_accounts()
    first, second = Outbox.objects.order_by("pk")
    assert first.claim()
    first.note_failure(OSError("down"))
    assert Outbox.objects.count() == 2
    later(3 * DAY + 60)
    first.refresh_from_db()
    assert first.claim()
    first.note_failure(OSError("down"))
    assert list(Outbox.objects.all()) == [second]
    assert delivery.send_due() == 1
    assert not Outbox.objects.exists()


def test_a_new_obstacle_keeps_the_account(closed: Account, later: Mover) -> None:
    make_project(closed, name="Lighthouse")  # by an operator
    mail.outbox.clear()
    later(14 * DAY)
    assert delete_closed_accounts() == 0
    account = Account.objects.get(pk=closed.pk)
    assert (account.is_active, account.deletion_due_at) == (True, None)
    assert {message.to[0] for message in mail.outbox} == {closed.email, SECOND}
    assert "the only owner of the project Lighthouse" in " ".join(mail.outbox[0].body.split())
    assert SecurityEvent.objects.get(kind="deletion_blocked").by == SecurityEvent.By.SERVICE


def test_an_account_that_can_not_be_deleted_does_not_block_others(
    closed: Account, later: Mover, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_account("bob@example.com", is_active=False, deletion_due_at=clock.now() + timedelta(days=14))
    real = deleting.delete_account

    def broken(account: Account) -> None:
        if account.pk == closed.pk:
            raise RuntimeError("broken")
        real(account)

    monkeypatch.setattr(deleting, "delete_account", broken)
    monkeypatch.setattr(closing, "BATCH", 1)  # also not by being the only one of each run
    later(15 * DAY)
    assert delete_closed_accounts() == 1
    assert not Account.objects.filter(pk=other.pk).exists()
    assert Account.objects.get().deletion_due_at is not None


def test_keeping_it_too_late_shows_an_error(closed: Account) -> None:
    browser = try_to_sign_in(closed)
    deleting.delete_account(Account.objects.get(pk=closed.pk))
    assert browser.post("/account/closed")["Location"] == "/account/login/"
    assert not is_signed_in(browser)


def test_without_a_waiting_time_it_is_deleted_immediately(person: Account, settings: Any) -> None:
    settings.ACCOUNT_DELETION_DAYS = 0
    browser = sign_in(Browser(), person)
    page = browser.get(close(browser, person)["Location"]).content.decode()
    assert "Your account is deleted" in page
    assert not Account.objects.exists()
    assert mail.outbox[-1].subject == "[Openport] Your account has been deleted"


def test_a_provisioning_file_neither_keeps_nor_speeds_it_up(closed: Account, tmp_path: Any) -> None:
    declared = tmp_path / "people.toml"
    declared.write_text(f'[[people]]\nemail = "{closed.email}"\ngiven_name = "Augusta"\n')
    call_command("provision", str(declared))
    account = Account.objects.get()
    assert (account.given_name, account.is_active) == ("Augusta", False)
    assert account.deletion_due_at == closed.deletion_due_at
