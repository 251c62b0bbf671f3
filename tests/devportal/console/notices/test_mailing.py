"""Emails with notices: at most one an hour for each person and project, and only to people who may get them."""

from collections.abc import Callable

import pytest
from django.conf import settings

from accounts.mail import outbox
from accounts.models import Account, Outbox
from core import clock
from devportal.console.models import Notice, NoticeSettings
from devportal.console.notices import mailing, tasks
from devportal.console.notices.choices import save_choices
from devportal.console.notices.kinds import NoticeKind, Topic, Wish
from devportal.console.notices.raising import notify
from oidc.models import Client, Project, ProjectMember
from oidc.projects import members
from tests.at_once import at_once
from tests.devportal.console.notices.noticing import mailed
from tests.factories import make_account, make_client, make_project

Later = Callable[[float], None]
Role = ProjectMember.Role
MINUTE = 60


@pytest.fixture(autouse=True)
def moving_clock(later: Later) -> None:
    later(0)


def missing(project: Project, domain: str = "a.example") -> None:
    notify(project, NoticeKind.DOMAIN_FOUND, details={"domain": domain})


@pytest.mark.django_db
class TestDigest:
    def test_the_first_notice_is_mailed_and_later_ones_of_the_hour_together(
        self, project: Project, later: Later
    ) -> None:
        missing(project)
        assert [(to, subject) for to, subject, _ in mailed()] == [
            ("olga@example.com", "a.example is proven again"),
            ("dan@example.com", "a.example is proven again"),
        ]
        for number in range(3):
            later(10 * MINUTE)
            missing(project, f"b{number}.example")
            assert tasks.send_notices() == 0
        later(31 * MINUTE)
        assert tasks.send_notices() == 2
        subject, body = mailed()[-1][1:]
        assert subject == "3 notices about Orbit Notes"
        assert [body.count(f"b{number}.example is proven again") for number in range(3)] == [1, 1, 1]
        assert tasks.send_notices() == 0

    def test_each_project_and_person_has_a_separate_hour(self, project: Project, owner: Account, later: Later) -> None:
        other = make_project(owner, name="Comet")
        missing(project)
        assert tasks.send_notices() == 2
        missing(other, "c.example")
        missing(project, "b.example")
        assert tasks.send_notices() == 1
        assert mailed()[-1][:2] == (owner.email, "c.example is proven again")

    def test_a_clock_that_was_set_back_holds_nothing_up(self, project: Project, later: Later) -> None:
        missing(project)
        tasks.send_notices()
        NoticeSettings.objects.update(mailed_at=clock.from_now(86400))
        missing(project, "b.example")
        assert tasks.send_notices() == 2

    def test_a_mail_has_a_bounded_number_of_notices_and_the_next_one_has_the_others(
        self, project: Project, later: Later, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(mailing, "MOST_IN_A_MAIL", 3)
        for number in range(5):
            missing(project, f"b{number}.example")
        assert mailed()[-1][1] == "3 notices about Orbit Notes"
        later(61 * MINUTE)
        assert mailed()[-1][1] == "2 notices about Orbit Notes"

    def test_a_mail_that_fails_keeps_no_other_one_and_is_tried_again(
        self, project: Project, owner: Account, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        missing(project)
        real = outbox.queue_mail

        def fail(to: str, *args: object) -> object:
            if to == owner.email:
                raise RuntimeError
            return real(to, *args)  # type: ignore[arg-type]

        with monkeypatch.context() as patched:
            patched.setattr(outbox, "queue_mail", fail)
            assert tasks.send_notices() == 1
        assert tasks.send_notices() == 1
        assert Outbox.objects.filter(to=owner.email).count() == 1


@pytest.mark.django_db
class TestRights:
    @pytest.mark.parametrize("lost", ["left", "closed", "unverified", "deleted"])
    def test_people_who_lost_access_in_the_meantime_get_no_mail(
        self, project: Project, owner: Account, developer: Account, lost: str
    ) -> None:
        missing(project)
        if lost == "left":
            members.leave_project(project, developer)
        elif lost == "closed":
            Account.objects.filter(pk=developer.pk).update(is_active=False)
        elif lost == "unverified":
            Account.objects.filter(pk=developer.pk).update(email_verified=False)
        else:
            Project.objects.filter(pk=project.pk).update(deleted_at=clock.now())
        tasks.send_notices()
        assert not Outbox.objects.filter(to=developer.email).exists()
        assert Outbox.objects.count() == (0 if lost == "deleted" else 1)
        assert not Notice.objects.filter(waits_for_mail=True).exists()

    def test_a_project_that_is_removed_takes_its_notices_with_it(self, project: Project) -> None:
        missing(project)
        project.delete()
        assert tasks.send_notices() == 0
        assert not Notice.objects.exists()
        assert not NoticeSettings.objects.exists()

    def test_switches_and_roles_of_now_decide(self, project: Project, owner: Account, developer: Account) -> None:
        missing(project)
        save_choices(project, owner.pk, Role.OWNER, {Topic.DOMAINS: Wish(console=True, mail=False)})
        ProjectMember.objects.filter(account=developer).update(role=Role.VIEWER)
        assert tasks.send_notices() == 0
        assert not Notice.objects.filter(waits_for_mail=True).exists()

    def test_a_notice_that_was_read_is_mailed_nevertheless(self, project: Project) -> None:
        missing(project)
        Notice.objects.update(read_at=clock.now())
        assert tasks.send_notices() == 2


@pytest.mark.django_db
def test_the_mail_leads_to_the_notice_and_to_the_switches(project: Project, owner: Account) -> None:
    missing(project)
    tasks.send_notices()
    mail = Outbox.objects.get(to=owner.email)
    notice = Notice.objects.get(account=owner)
    for body in (mail.body, mail.html):
        assert f"{settings.AUTH_URL}/console/notices/{notice.pk}" in body
        assert f"{settings.AUTH_URL}/console/p/{project.public_id}/notices" in body


@pytest.mark.django_db
def test_hostile_names_change_neither_the_mail_nor_its_headers(project: Project, owner: Account) -> None:
    client = make_client(project)
    name = "</p><script>x</script>\r\nBcc: x@example.com\u202e {{ site }} {service}"
    Client.objects.filter(pk=client.pk).update(name=name)
    client.refresh_from_db()
    notify(project, NoticeKind.REVIEW_STARTED, client=client)
    tasks.send_notices()
    mail = Outbox.objects.get(to=owner.email)
    assert "\n" not in mail.subject
    assert "\u202e" not in mail.subject + mail.body + mail.html
    assert "<script>" not in mail.html
    assert "{{ site }} {service}" in " ".join(mail.body.split())


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_tasks_that_run_at_once_send_one_mail() -> None:
    project = make_project(make_account("olga@example.com"))
    missing(project)
    assert sorted(at_once(4, lambda number: mailing.send_notices())) == [0, 0, 0, 1]
    assert Outbox.objects.count() == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_cause_that_is_reported_at_once_raises_one_notice() -> None:
    project = make_project(make_account("olga@example.com"))
    details = {"people": 80, "limit": 100}
    raised = at_once(4, lambda number: notify(project, NoticeKind.PEOPLE_NEAR_LIMIT, details=details, once="100"))
    assert sorted(raised) == [0, 0, 0, 1]
    assert Notice.objects.count() == 1
