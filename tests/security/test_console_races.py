"""What becomes of the person or the project between a page's look at the role and its change, on PostgreSQL.

Another transaction takes the role, the membership, the account or the project away, and commits once the request waits
for it. Every form that changes something is in the table of the audit's test, where one that is missing fails.
"""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import connections, transaction
from django.test import Client as Browser
from django.utils import timezone

from accounts.models import Account
from core import clock
from devportal.console import idempotency
from devportal.review.submission import developer_actions
from oidc.domains import branding
from oidc.models import Client, Project, ProjectInvitation, ProjectMember
from oidc.projects import invitations, members
from oidc.projects.lifecycle import create_project
from tests.at_once import someone_waits_for_us
from tests.devportal.operations.test_audit import CHANGES, CHANGES_NOTHING
from tests.devportal.review.reviewing import fill
from tests.factories import make_account, make_key
from tests.oidc.domains.internet import Internet, internet
from tests.security.consoles import SENT, Place, make_place, rows
from tests.security.crawling import CONSOLE

__all__ = ["internet"]

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
Role = ProjectMember.Role

# Not done by virtue of a role in a project: making one, and answering an invitation (below).
WITHOUT_A_ROLE = {"project_new", "invitation"}
# What every member may do: leave the project, end a key that they created, and choose their notices.
OF_EVERY_MEMBER = {"project_leave", "key_revoke", "notice_settings"}
# What developers do with their own keys. In the table of the crawl the key is the owner's, and 403 to anyone else.
OF_THE_KEYS_OWNER = {"key_rotate", "key_expiry"}
# Seconds until a request has come to its lock.
LONGEST = 20


@dataclass(frozen=True)
class Sent:
    """A form that changes something, and what has to be there for it."""

    name: str
    form: Mapping[str, Any] = field(default_factory=dict)
    prepare: Callable[[Place], None] = lambda place: None


def _of_the_table(name: str) -> Sent:
    return Sent(
        name,
        CHANGES[name].form,
        lambda place: CHANGES[name].prepare(place.things, place.project, place.owner),
    )


def _app(place: Place) -> Client:
    return Client.objects.get(project=place.project)


def _filled(place: Place) -> None:
    fill(_app(place), place.owner)


def _sent(place: Place) -> None:
    _filled(place)
    developer_actions.submit(_app(place), place.owner)


def _published(place: Place) -> None:
    Client.objects.filter(project=place.project).update(verified_at=clock.now())
    branding.publish_page(_app(place), place.owner, "orbit-notes")


def _anothers_key(place: Place) -> None:
    dan = ProjectMember.objects.get(project=place.project, role=Role.DEVELOPER).account
    place.things["key_id"] = make_key(place.project, dan)[0].public_id


FORMS = {name: _of_the_table(name) for name in CHANGES if name not in WITHOUT_A_ROLE} | {
    "domain_check": Sent("domain_check"),
    "notice_settings": Sent("notice_settings"),
    "key_revoke of another": Sent("key_revoke", {}, _anothers_key),
    "app_page take_down": Sent("app_page", {"step": "take_down"}, _published),
    "review start_over": Sent("review", {"step": "start_over"}, _filled),
    "review withdraw": Sent("review", {"step": "withdraw"}, _sent),
    "review answer": Sent("review", {"step": "answer", "text": "Here it is."}, _sent),
}


@pytest.fixture(autouse=True)
def nothing_leaves(internet: Internet) -> None:
    """No name server or web server outside is asked: a check of a domain is one of the forms."""


@pytest.fixture
def place() -> Place:
    """A project of two owners, a developer and a viewer; the first of the owners is in the browser."""
    place = make_place()
    for role in (Role.OWNER, Role.DEVELOPER, Role.VIEWER):
        ProjectMember.objects.create(project=place.project, account=make_account(), role=role)
    return place


def test_every_form_that_changes_something_is_raced() -> None:
    assert set(SENT) == {sent.name for sent in FORMS.values()} | WITHOUT_A_ROLE | CHANGES_NOTHING


def _send(browser: Browser, url: str, form: Mapping[str, Any]) -> int:
    try:
        status: int = browser.post(url, form).status_code
        return status
    finally:
        connections.close_all()


def race(place: Place, sent: Sent, meanwhile: Callable[[], Any]) -> tuple[int, bool]:
    """Send a form while `meanwhile` is done and not committed; return the status, and whether the form did anything."""
    sent.prepare(place)
    form = {name: idempotency.new_token() if name == idempotency.FIELD else value for name, value in sent.form.items()}
    if form.get("to") == "member":
        form["to"] = place.things["member_id"]
    url = place.url(sent.name)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            meanwhile()
            expected = rows()
            answer: Future[int] = pool.submit(_send, place.browser, url, form)
            end = time.monotonic() + LONGEST
            while not answer.done() and not someone_waits_for_us() and time.monotonic() < end:
                time.sleep(0.02)
        status = answer.result(LONGEST)
    return status, rows() != expected


def _lock(place: Place) -> "Any":
    list(Project.objects.select_for_update(no_key=True).filter(pk=place.project.pk))
    return ProjectMember.objects.filter(project=place.project, account=place.owner)


def demote(place: Place, name: str) -> None:
    """Take away just so much that the form is not the person's any more."""
    of_developers = CONSOLE[name].post["developer"] != 403 or name in OF_THE_KEYS_OWNER
    _lock(place).update(role=Role.VIEWER if of_developers else Role.DEVELOPER)


@pytest.mark.parametrize("what", [what for what in FORMS if what not in OF_EVERY_MEMBER])
def test_people_demoted_meanwhile_change_nothing(what: str, place: Place) -> None:
    sent = FORMS[what]
    status, has_changed = race(place, sent, lambda: demote(place, sent.name))
    assert not has_changed
    assert status in (302, 403, 200)


@pytest.mark.slow
@pytest.mark.parametrize("what", FORMS)
def test_people_removed_meanwhile_change_nothing(what: str, place: Place) -> None:
    status, has_changed = race(place, FORMS[what], lambda: _lock(place).delete())
    assert not has_changed
    assert status in (302, 404, 200)


def _deactivate(account: Account) -> None:
    """As an operator does it, who locks no project."""
    Account.objects.filter(pk=account.pk).update(is_active=False)


@pytest.mark.parametrize("what", FORMS)
def test_people_deactivated_meanwhile_change_nothing(what: str, place: Place) -> None:
    status, has_changed = race(place, FORMS[what], lambda: _deactivate(place.owner))
    assert not has_changed
    assert status in (302, 404, 200)


def _delete(place: Place) -> None:
    _lock(place)
    Project.objects.filter(pk=place.project.pk).update(deleted_at=timezone.now())


@pytest.mark.slow
@pytest.mark.parametrize("what", [what for what in FORMS if what != "project_restore"])
def test_nothing_is_changed_in_a_project_that_is_deleted_meanwhile(what: str, place: Place) -> None:
    status, has_changed = race(place, FORMS[what], lambda: _delete(place))
    assert not has_changed
    assert status in (302, 404, 200)


@pytest.mark.slow
@pytest.mark.parametrize("what", FORMS)
def test_a_suspension_meanwhile_removes_no_role_and_is_not_undone(what: str, place: Place) -> None:
    """The members of a suspended project go on working on it; nothing of it answers anyone."""

    def suspend() -> None:
        _lock(place)
        Project.objects.filter(pk=place.project.pk).update(suspended_at=timezone.now())

    status, has_changed = race(place, FORMS[what], suspend)
    assert has_changed
    assert status in (302, 200)
    assert Project.objects.get(pk=place.project.pk).is_suspended


def test_accepting_while_the_inviter_is_demoted_does_not_join(place: Place) -> None:
    other_owner = make_account()
    other = create_project(other_owner, "Elsewhere")
    ProjectMember.objects.create(project=other, account=make_account(), role=Role.OWNER)
    place.things["invitation_id"] = invitations.invite(other, place.owner.email, "owner", other_owner).pk

    def demote_inviter() -> None:
        list(Project.objects.select_for_update(no_key=True).filter(pk=other.pk))
        ProjectMember.objects.filter(project=other, account=other_owner).update(role=Role.DEVELOPER)

    status, has_changed = race(place, Sent("invitation", {"decision": "accept"}), demote_inviter)
    assert (status, has_changed) == (302, False)
    assert ProjectInvitation.objects.filter(project=other, ended_at=None).exists(), "the check alone has refused it"


def test_two_owners_who_transfer_projects_to_each_other_do_not_deadlock(place: Place) -> None:
    """People are locked by their key, after the project: the person who acts is not always first."""
    other = make_account()
    theirs = create_project(other, "Elsewhere")
    mine = [
        ProjectMember.objects.create(project=place.project, account=other, role=Role.DEVELOPER),
        ProjectMember.objects.create(project=theirs, account=place.owner, role=Role.DEVELOPER),
    ]
    for role in (Role.OWNER, Role.DEVELOPER) * 5:
        acts = [
            lambda role=role: members.change_role(mine[0], role, place.owner),
            lambda role=role: members.change_role(mine[1], role, other),
        ]

        def run(act: Callable[[], Any]) -> None:
            try:
                act()
            finally:
                connections.close_all()

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(run, acts))
    assert not ProjectMember.objects.filter(pk__in=[row.pk for row in mine], role=Role.OWNER).exists()
