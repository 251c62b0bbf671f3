"""Who gets a notice, when it is raised, and that one cause raises it once."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import transaction
from django.test import Client as Browser

from accounts.models import Account, Outbox
from core import clock
from devportal.console.models import Notice, NoticeCause, NoticeSettings
from devportal.console.notices import raising
from devportal.console.notices.kinds import DEFAULTS, NoticeKind, Topic
from devportal.console.notices.raising import notify
from devportal.console.notices.table import TABLE
from devportal.console.notices.texts import body_of, title_of
from oidc.clients import secrets
from oidc.clients.registration import set_client_enabled
from oidc.models import Client, EventReceiver, Project, ProjectMember
from oidc.projects import invitations, members
from oidc.signals import credential_leaked, receiver_paused
from tests.devportal.console.notices.noticing import mail_notices, titles_of
from tests.factories import make_account, make_client, make_key, make_web_client

pytestmark = pytest.mark.django_db
Role = ProjectMember.Role


def receivers(kind: NoticeKind) -> list[str]:
    rows = Notice.objects.filter(kind=kind.value, in_console=True).order_by("account")
    return [row.account.email for row in rows.select_related("account")]


def test_every_kind_has_texts_and_every_topic_defaults_for_each_role() -> None:
    assert set(TABLE) == set(NoticeKind)
    assert {row.topic for row in TABLE.values()} == set(Topic) == set(DEFAULTS)
    for wishes in DEFAULTS.values():
        assert set(wishes) == set(Role.values)
        assert not wishes[Role.VIEWER].mail, "viewers get no email unless they want it"


def test_a_new_secret_is_noticed_by_the_others_in_the_console(
    project: Project, owner: Account, developer: Account
) -> None:
    client, _ = make_web_client(project, name="Orbit")
    Notice.objects.all().delete()
    secrets.create_secret(client, developer)
    assert receivers(NoticeKind.SECRET_CREATED) == [owner.email], "not by who did it, and not by viewers"
    assert titles_of(owner.email) == ["Orbit has a new secret"]
    row = Notice.objects.get(account=owner)
    assert (row.actor, row.waits_for_mail) == (developer, True)


def test_what_an_owner_did_is_mailed_to_them(project: Project, owner: Account, developer: Account) -> None:
    make_key(project, owner, name="Nightly")
    row = Notice.objects.get(account=owner)
    assert (row.in_console, row.waits_for_mail) == (False, True)
    assert receivers(NoticeKind.KEY_CREATED) == [developer.email]


def test_a_new_owner_and_a_transfer_are_noticed(project: Project, owner: Account, developer: Account) -> None:
    member = ProjectMember.objects.get(account=developer)
    members.change_role(member, Role.OWNER, owner)
    assert receivers(NoticeKind.OWNER_ADDED) == [developer.email]
    members.change_role(member, Role.DEVELOPER, owner)
    assert Notice.objects.filter(kind=NoticeKind.OWNER_ADDED).count() == 2, "for one of them by mail only"
    members.transfer_ownership(project, member, owner)
    assert receivers(NoticeKind.PROJECT_TRANSFERRED) == [developer.email]
    row = Notice.objects.filter(kind=NoticeKind.PROJECT_TRANSFERRED).first()
    assert row is not None
    assert (row.actor, row.person) == (owner, developer)


def test_an_owner_who_accepts_an_invitation_is_noticed_and_a_viewer_is_not(project: Project, owner: Account) -> None:
    for role in (Role.VIEWER, Role.OWNER):
        person = make_account(f"{role}@example.org")
        invitations.accept(invitations.invite(project, person.email, role, owner).pk, person)
    assert owner.email in receivers(NoticeKind.OWNER_ADDED)
    assert {row.person for row in Notice.objects.all()} == {Account.objects.get(email="owner@example.org")}


def test_a_client_that_an_operator_turned_off_is_noticed(project: Project, owner: Account, viewer: Account) -> None:
    client = make_client(project, name="Orbit")
    set_client_enabled(client, owner, enabled=False)
    assert not Notice.objects.exists(), "members know what they did"
    set_client_enabled(client, owner, enabled=True)
    set_client_enabled(client, make_account(), enabled=False)
    assert viewer.email in receivers(NoticeKind.CLIENT_TURNED_OFF)
    set_client_enabled(client, owner, enabled=True)
    set_client_enabled(client, owner, enabled=False, reason="It sends spam.")
    assert Notice.objects.filter(account=viewer, kind=NoticeKind.CLIENT_TURNED_OFF).count() == 2
    assert "spam" not in str(list(Notice.objects.values_list("details", flat=True)))


@pytest.mark.parametrize("revoked", [True, False])
def test_leaked_credentials_are_noticed(project: Project, owner: Account, viewer: Account, revoked: bool) -> None:
    client = make_client(project, name="Orbit")
    url = "https://github.com/orbit/site/blob/main/.env"
    for credential, label, of in (("client_secret", "k3Zq", client), ("api_key", "Nightly", None)):
        credential_leaked.send(
            sender=None,
            project=project,
            client=of,
            credential=credential,
            label=label,
            revoked=revoked,
            source="github",
            url=url,
        )
    then = " and was revoked" if revoked else ""
    assert titles_of(viewer.email) == [f"A secret of Orbit has leaked{then}", f"The API key Nightly has leaked{then}"]
    mail_notices()
    bodies = [row.body for row in Outbox.objects.filter(to=owner.email).order_by("pk")]
    assert [url in body for body in bodies] == [True, True]
    assert "…k3Zq" in bodies[0]


def test_a_receiver_that_is_paused_is_noticed(project: Project, owner: Account) -> None:
    client = make_client(project, name="Orbit")
    receiver = EventReceiver.objects.create(client=client, channel="logout", url="https://orbit.example.com/logout")
    receiver_paused.send(sender=EventReceiver, receiver=receiver)
    assert titles_of(owner.email) == ["Deliveries to Orbit are paused"]
    assert body_of(Notice.objects.get(account=owner))[0].startswith("orbit.example.com has not accepted deliveries")


def test_only_active_members_of_a_project_that_exists_get_notices(
    project: Project, owner: Account, developer: Account, outsider: Account
) -> None:
    Account.objects.filter(pk=developer.pk).update(is_active=False)
    notify(project, NoticeKind.REVIEW_SUSPENDED)
    assert {row.account for row in Notice.objects.all()} == {owner, Account.objects.get(email="vera@example.com")}
    Project.objects.update(deleted_at=clock.now())
    assert notify(project, NoticeKind.REVIEW_SUSPENDED) == 0


def test_a_cause_raises_one_notice_in_its_project_and_kind(project: Project, outsider: Account) -> None:
    elsewhere = Project.objects.get(members__account=outsider)
    details = {"people": 80, "limit": 100}
    assert notify(project, NoticeKind.PEOPLE_NEAR_LIMIT, details=details, once="100") == 2
    assert notify(project, NoticeKind.PEOPLE_NEAR_LIMIT, details=details, once="100") == 0
    assert notify(project, NoticeKind.PEOPLE_AT_LIMIT, details=details, once="100") == 2
    assert notify(elsewhere, NoticeKind.PEOPLE_NEAR_LIMIT, details=details, once="100") == 1


def test_a_cause_that_lasts_raises_one_notice_until_it_was_quiet(
    project: Project, later: Callable[[float], None]
) -> None:
    later(0)
    quiet = timedelta(hours=6)
    raised = []
    for hours in (0, 5, 5, 5, 7):
        later(hours * 3600)
        raised.append(
            notify(project, NoticeKind.DOMAIN_FOUND, details={"domain": "a.example"}, once="1", again_after=quiet)
        )
    assert raised == [2, 0, 0, 0, 2]


def test_a_cause_that_is_repeated_does_not_fill_the_table(project: Project, later: Callable[[float], None]) -> None:
    later(0)
    for _ in range(raising.MOST_AN_HOUR + 5):
        notify(project, NoticeKind.KEY_CREATED, details={"key": "x"})
    assert Notice.objects.filter(account__email="olga@example.com").count() == raising.MOST_AN_HOUR
    assert NoticeCause.objects.count() == raising.MOST_AN_HOUR
    later(3601)
    assert notify(project, NoticeKind.KEY_CREATED, details={"key": "x"}) == 2


def test_a_notice_belongs_to_the_transaction_of_its_cause(project: Project, owner: Account, app: Client) -> None:
    with transaction.atomic():
        notify(project, NoticeKind.REVIEW_STARTED, client=app, once="7")
        transaction.set_rollback(True)
    assert not Notice.objects.exists()
    assert not NoticeCause.objects.exists()


def test_names_are_not_read_as_placeholders(project: Project, owner: Account) -> None:
    hostile = "{project.pk} {0} {secret} <script> %s"
    client = make_client(project, name="x")
    Client.objects.filter(pk=client.pk).update(name=hostile)
    client.refresh_from_db()
    notify(project, NoticeKind.REVIEW_STARTED, client=client)
    assert titles_of(owner.email) == [f"The review of {hostile} has started"]


def test_a_member_who_leaves_has_no_notices_and_no_settings_left(
    project: Project, owner: Account, viewer: Account, as_viewer: Browser
) -> None:
    as_viewer.post(f"/console/p/{project.public_id}/notices", {"mail-leaks": "on"})
    notify(project, NoticeKind.REVIEW_SUSPENDED)
    members.leave_project(project, viewer)
    assert not Notice.objects.filter(account=viewer).exists()
    assert not NoticeSettings.objects.filter(account=viewer).exists()
    assert Notice.objects.filter(account=owner).exists()


@pytest.mark.parametrize("is_deleted", [True, False])
def test_a_former_member_is_no_longer_named(
    project: Project, owner: Account, developer: Account, as_owner: Browser, is_deleted: bool
) -> None:
    make_key(project, developer, name="Nightly")
    page = as_owner.get("/console/notices").content.decode()
    assert f"{developer.email} created the API key Nightly" in page
    if is_deleted:
        developer.delete()
    else:
        members.leave_project(project, developer)
        Account.objects.filter(pk=developer.pk).update(email="private@example.com")
    page = as_owner.get("/console/notices").content.decode()
    assert "dan@example.com" not in page
    assert "private@example.com" not in page
    assert "Someone who is no longer a member created the API key Nightly" in page


def test_every_text_can_be_filled_in_with_the_details_of_its_kind(project: Project, app: Client) -> None:
    """What each cause stores is tested with it; here, that a text needs nothing else."""
    known = {
        "last_four": "abcd", "days": 3, "expires_at": "2031-01-01T00:00:00+00:00", "key": "K", "masked": "op_key_x…y",
        "since_at": "2031-01-01T00:00:00+00:00", "errors": 30, "total": 40, "rate": 75, "usual_rate": 2, "caller": "K",
        "people": 80, "limit": 100, "domain": "a.example", "lost_at": "2031-01-01T00:00:00+00:00", "host": "h.example",
        "label": "abcd", "scope": "x", "text": "t", "reasons": [], "scopes": {},
        "problems": [],
    }  # fmt: skip
    for kind in NoticeKind:
        assert title_of(Notice(project=project, client=app, kind=kind.value, details=known | {"client": "Orbit"}))
