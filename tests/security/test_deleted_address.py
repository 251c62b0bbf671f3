"""A person who is deleted is named by no table any more, mails to others included."""

from datetime import datetime
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.apps import apps
from django.conf import settings
from django.core import mail
from django.test import Client as Browser
from django.urls import reverse

from accounts.deletion import deleting
from accounts.mail import delivery, outbox
from accounts.models import Account, Family, Invitation, Outbox
from accounts.plans import invitations as family_invitations
from accounts.tasks import clear_address_changes
from api import usage_counts
from core import clock
from devportal.console.models import AuditEvent
from oidc.events.queueing import queue_for_account
from oidc.models import Delivery, EventReceiver, ProjectMember
from oidc.projects import invitations, members
from oidc.tasks import clear_invitations
from oidc.values.event_types import EventType
from tests.accounts.recovery.test_address_changes import change
from tests.factories import PASSWORD, make_account, make_client, make_project
from tests.relying_party import RelyingParty, sign_in

ADDRESS = "canary.person@example.com"
SECOND = "canary.second@example.net"


@pytest.fixture
def leaving(db: None) -> Account:
    account = make_account(ADDRESS, given_name="Canary")
    EmailAddress.objects.create(user=account, email=SECOND, verified=True, primary=False)
    return account


def stored(*texts: str) -> set[str]:
    """Return every table and column in which one of the texts stands."""
    found = set()
    for model in apps.get_models(include_auto_created=True):
        for row in model._default_manager.values():
            for column, value in row.items():
                if any(text in str(value).lower() for text in texts):
                    found.add(f"{model._meta.label}.{column}")
    return found


def body(text: str, to: str = "bo@example.com", subject: str = "Hello", sent_at: datetime | None = None) -> Outbox:
    now = clock.now()
    count = Outbox.objects.count()
    return Outbox.objects.create(
        to=to, subject=subject, body=text, message_id=f"<{count}@x>", created_at=now, not_before=now, sent_at=sent_at
    )


def live_through_everything(account: Account) -> Browser:
    """Let the person do whatever leaves an address somewhere; return their browser."""
    browser = sign_in(Browser(), account)
    other = make_account("bo@example.com")
    project = make_project(other, name="Orbit")
    ProjectMember.objects.create(project=project, account=account, role=ProjectMember.Role.OWNER)
    app = make_client(project)
    RelyingParty(app, browser).tokens(scope="openid email", login_hint=ADDRESS)
    EventReceiver.objects.create(client=app, channel="events", url="https://app.example.com/events")
    queue_for_account(EventType.IDENTIFIER_CHANGED, account)
    Delivery.objects.update(answer=f"<p>Changed to {ADDRESS}</p>")  # what the app answered
    invitations.invite(project, "eve@example.com", "viewer", account)
    family = Family.objects.create(owner=account)
    family_invitations.invite(family, "kim@example.com", account)
    theirs = make_project(make_account("dee@example.com"), name="Theirs")
    owner = ProjectMember.objects.get(project=theirs).account
    invitations.invite(theirs, ADDRESS, "viewer", owner)
    invitations.accept(theirs.invitations.get().pk, account)
    members.remove_member(ProjectMember.objects.get(project=theirs, account=account), owner)
    browser.post("/account/password/reset/", {"email": ADDRESS})
    browser.post(reverse("console:project_new"), {"name": "Canary's"})
    usage_counts.flush_usage()
    return browser


def test_no_table_names_a_person_who_deleted_their_account(leaving: Account, settings: Any) -> None:
    settings.ACCOUNT_DELETION_DAYS = 0
    browser = live_through_everything(leaving)
    assert {"accounts.Outbox.body", "oidc.Delivery.answer"} <= stored(ADDRESS)
    for project in [row.project for row in leaving.project_memberships.select_related("project")]:
        if project.name == "Canary's":
            project.delete()
    browser.post("/account/reauthenticate/", {"login": ADDRESS, "password": PASSWORD, "next": "/account/delete"})
    assert browser.post("/account/delete")["Location"] == "/account/goodbye"
    assert not Account.objects.filter(email=ADDRESS).exists()
    assert stored(ADDRESS, SECOND) == {"accounts.Outbox.to"}  # until the last mails have gone
    assert delivery.send_due() == Outbox.objects.count() + 2
    assert stored(ADDRESS, SECOND) == set()


@pytest.mark.parametrize("is_someone_elses", [False, True])
def test_an_earlier_address_that_was_invited_is_forgotten_unless_it_is_someone_elses(
    leaving: Account, *, is_someone_elses: bool
) -> None:
    owner = make_account("dee@example.com")
    project = make_project(owner)
    invitations.invite(project, ADDRESS, "viewer", owner)
    invitations.accept(project.invitations.get().pk, leaving)
    members.leave_project(project, leaving)
    EmailAddress.objects.filter(user=leaving).delete()
    Account.objects.filter(pk=leaving.pk).update(email="later@example.com")
    if is_someone_elses:
        make_account(ADDRESS)
    clear_invitations.apply()
    invited = AuditEvent.objects.filter(action="invitation.sent")
    deleting.delete_account(Account.objects.get(pk=leaving.pk))
    assert invited.get().target == (ADDRESS if is_someone_elses else "")


@pytest.mark.parametrize("is_someone_elses", [False, True])
def test_mails_of_an_earlier_address_are_deleted_and_later_ones_kept(
    leaving: Account, later: Any, *, is_someone_elses: bool
) -> None:
    """The change can't be taken back any more, so only the activity knows the earlier email address."""
    browser = sign_in(Browser(), leaving)
    old, to_others = body("Hello", to=ADDRESS), body(f"{ADDRESS} invites you.")
    change(browser, "later@example.com")
    assert Outbox.objects.filter(to=ADDRESS, subject__contains="has been changed").exists()
    later((settings.ADDRESS_REVERSAL_DAYS + 1) * 24 * 3600)
    clear_address_changes()
    new = body("Hello", to=ADDRESS)
    if is_someone_elses:
        make_account(ADDRESS)
    deleting.delete_account(Account.objects.get(pk=leaving.pk))
    left = {new, to_others, *([old] if is_someone_elses else [])}
    assert left <= set(Outbox.objects.all())
    assert Outbox.objects.filter(to=ADDRESS).count() == (3 if is_someone_elses else 1)
    to_others.refresh_from_db()
    assert (ADDRESS in to_others.body) == is_someone_elses


NAMING = [
    f"{ADDRESS} invites you to share the plan.",
    f"If you do not know {ADDRESS}, do nothing.",
    f"<{ADDRESS}>",
    f"'{ADDRESS}'",
    f"-{ADDRESS}\n",
    f"mailto:{ADDRESS}?subject=x",
    "Ask CANARY.Person@Example.com.",
    f"{ADDRESS}, {ADDRESS}",
    f"write to {SECOND}",
]
OTHERS = [
    f"x{ADDRESS}",
    f"x.{ADDRESS}",
    f"x+{ADDRESS}",
    f"{ADDRESS}.au",
    f"{ADDRESS}x",
    "canary_person@example.com",
    "%@%",
]


def test_mails_to_others_no_longer_name_them(leaving: Account) -> None:
    rows = [body(text, subject=text[:60], sent_at=sent_at) for text in NAMING for sent_at in (clock.now(), None)]
    kept = [body(text) for text in OTHERS]
    deleting.delete_account(leaving)
    for number, row in enumerate(rows):
        text = row.body
        row.refresh_from_db()
        assert "canary" not in (row.body + row.subject).lower(), text
        assert outbox.SOMEONE in row.body, text
        assert (row.to, row.message_id) == ("bo@example.com", f"<{number}@x>")
    for row, text in zip(kept, OTHERS, strict=True):
        row.refresh_from_db()
        assert row.body == text


def test_mails_to_deleted_people_are_deleted(leaving: Account) -> None:
    for to in (ADDRESS, SECOND):
        assert body("Hello", to=to).claim()
        for moments in ({"sent_at": clock.now()}, {"given_up_at": clock.now()}, {}):
            Outbox.objects.filter(pk=body("Hello", to=to).pk).update(**moments)
    kept = body("Hello", to="bo@example.com")
    deleting.delete_account(leaving)
    assert list(Outbox.objects.all()) == [kept]
    delivery.send_due()
    assert [message.to for message in mail.outbox] == [["bo@example.com"]]


def test_a_waiting_mail_loses_the_name_of_a_deleted_person(leaving: Account) -> None:
    project = make_project(make_account())
    ProjectMember.objects.create(project=project, account=leaving, role=ProjectMember.Role.OWNER)
    invitations.invite(project, "eve@example.com", "viewer", leaving)
    mail.outbox.clear()
    Account.objects.filter(pk=leaving.pk).delete()
    delivery.send_due()
    assert mail.outbox
    assert all(ADDRESS not in message.body for message in mail.outbox)
    assert stored(ADDRESS) == set()


def test_deleting_a_person_while_their_mail_is_sent_is_not_an_error(leaving: Account) -> None:
    row = body("Hello", to=ADDRESS)
    assert row.claim()
    deleting.delete_account(leaving)
    row.note_sent()
    row.note_failure(OSError("gone"))
    assert not row.try_again()
    assert not Outbox.objects.exists()


def test_an_open_family_invitation_stays_with_its_sender(leaving: Account) -> None:
    """The one place that is left on purpose, for as long as the invitation is open; docs/retention.md."""
    owner = make_account()
    family = Family.objects.create(owner=owner)
    family_invitations.invite(family, ADDRESS, owner)
    deleting.delete_account(leaving)
    assert stored(ADDRESS) == {"accounts.Invitation.email"}
    assert Invitation.objects.open().count() == 1
