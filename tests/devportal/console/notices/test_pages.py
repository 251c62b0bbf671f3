"""The bell, the list, the link that marks a notice as read, and the switches."""

import re
from collections.abc import Callable
from copy import copy
from typing import Any

import pytest
from django.db import connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext

from accounts.models import Account
from core import clock
from devportal.console.models import Notice, NoticeSettings
from devportal.console.notices.kinds import DEFAULTS, NoticeKind, Topic
from devportal.console.notices.raising import notify
from oidc.models import Client, Project, ProjectMember
from oidc.projects import members
from tests.factories import make_project

pytestmark = pytest.mark.django_db
LIST = "/console/notices"


def text_of(browser: Browser, url: str = LIST) -> str:
    response = browser.get(url)
    assert response.status_code == 200
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


def bell(browser: Browser) -> str:
    page = browser.get("/console/").content.decode()
    return re.sub(r"<[^>]+>", "", re.findall(r'<a class="header-link bell".*?</a>', page, re.DOTALL)[0]).strip()


def raised(project: Project, count: int = 1) -> list[Notice]:
    for number in range(count):
        notify(project, NoticeKind.DOMAIN_FOUND, details={"domain": f"d{number}.example"})
    return list(Notice.objects.filter(account__email="dan@example.com").order_by("pk"))


def test_the_bell_counts_unread_notices_without_a_statement(project: Project, as_developer: Browser) -> None:
    assert bell(as_developer) == "Notices"
    with CaptureQueriesContext(connection) as before:
        assert bell(as_developer) == "Notices"
    raised(project, 3)
    with CaptureQueriesContext(connection) as after:
        assert bell(as_developer) == "Notices, 3 unread3"
    assert len(after) == len(before)
    Notice.objects.bulk_create(
        Notice(
            project=project, account=Account.objects.get(email="dan@example.com"), kind="re_review_due", at=clock.now()
        )
        for _ in range(100)
    )
    assert bell(as_developer) == "Notices, 103 unread99+"


def test_the_list_has_the_notices_of_all_projects(
    project: Project, developer: Account, owner: Account, as_developer: Browser
) -> None:
    other = make_project(developer, name="Comet")
    raised(project)
    notify(other, NoticeKind.DOMAIN_LOST, details={"domain": "c.example", "problems": []})
    text = text_of(as_developer)
    assert text.index("c.example is no longer proven") < text.index("d0.example is proven again")
    assert "d0.example" not in text_of(as_developer, f"{LIST}?project={other.public_id}")
    assert "There are no notices about this project" in text_of(as_developer, f"{LIST}?project=prj_none")


def test_opening_a_notice_marks_it_as_read_and_leads_to_its_page(project: Project, as_developer: Browser) -> None:
    first, _ = raised(project, 2)
    as_developer.head(f"{LIST}/{first.pk}")
    first.refresh_from_db()
    assert first.read_at is None, "programs that only look change nothing"
    response = as_developer.get(f"{LIST}/{first.pk}")
    assert response["Location"] == f"/console/p/{project.public_id}/domains"
    assert bell(as_developer) == "Notices, 1 unread1"
    text = text_of(as_developer, f"{LIST}?show=unread")
    assert "d1.example" in text
    assert "d0.example" not in text


def test_every_kind_leads_to_a_page_that_its_receivers_may_open(
    project: Project, app: Client, viewer: Account, as_viewer: Browser
) -> None:
    details: dict[str, Any] = {"client": "Orbit"}
    for kind in NoticeKind:
        row = Notice.objects.create(
            project=project, account=viewer, client=app, kind=kind.value, details=details, at=clock.now()
        )
        assert as_viewer.get(f"{LIST}/{row.pk}", follow=True).status_code == 200, kind
        Notice.objects.filter(pk=row.pk).update(client=None)
        assert as_viewer.get(f"{LIST}/{row.pk}", follow=True).status_code == 200, f"{kind}, of a deleted client"


def test_a_notice_of_someone_else_does_not_exist(
    project: Project, as_owner: Browser, as_outsider: Browser, developer: Account
) -> None:
    (row,) = raised(project)
    for browser in (as_owner, as_outsider):
        assert browser.get(f"{LIST}/{row.pk}").status_code == 404
        browser.post(f"{LIST}/read", {"notice": row.pk})
    row.refresh_from_db()
    assert row.read_at is None


@pytest.mark.parametrize("lost", ["deleted", "left"])
def test_notices_of_a_project_without_access_do_not_exist(
    project: Project, developer: Account, as_developer: Browser, lost: str
) -> None:
    (row,) = raised(project)
    if lost == "deleted":
        Project.objects.filter(pk=project.pk).update(deleted_at=clock.now())
    else:
        # Also one that was raised at that moment.
        members.leave_project(project, developer)
        row.save(force_insert=True)
    assert as_developer.get(f"{LIST}/{row.pk}").status_code == 404
    assert "d0.example" not in text_of(as_developer)
    make_project(developer)
    assert bell(as_developer) == "Notices"


def test_one_notice_and_all_shown_notices_can_be_marked_as_read(project: Project, as_developer: Browser) -> None:
    rows = raised(project, 4)
    response = as_developer.post(f"{LIST}/read?show=unread", {"notice": rows[0].pk})
    assert response["Location"] == f"{LIST}?show=unread"
    as_developer.post(f"{LIST}/read", {"newest": rows[2].pk})
    unread = Notice.objects.filter(account__email="dan@example.com", read_at=None)
    assert list(unread) == [rows[3]], "the last one came after the page was loaded"
    for wrong in ({}, {"notice": "x"}, {"newest": "\x00"}, {"notice": "9" * 30}):
        assert as_developer.post(f"{LIST}/read", wrong).status_code == 302
    assert unread.count() == 1
    assert Notice.objects.filter(account__email="olga@example.com", read_at=None).count() == 4


def test_marking_all_as_read_stays_within_the_filter(
    project: Project, developer: Account, as_developer: Browser
) -> None:
    other = make_project(developer, name="Comet")
    raised(project)
    notify(other, NoticeKind.DOMAIN_FOUND, details={"domain": "c.example"})
    as_developer.post(f"{LIST}/read?project={other.public_id}", {"newest": Notice.objects.latest("pk").pk})
    assert [row.project for row in Notice.objects.filter(account=developer, read_at=None)] == [project]


def test_the_list_has_pages(project: Project, developer: Account, as_developer: Browser) -> None:
    row = Notice(project=project, account=developer, kind="domain_found", details={"domain": "d.example"})
    row.at = clock.now()
    Notice.objects.bulk_create(copy(row) for _ in range(60))
    page = as_developer.get(LIST).content.decode()
    assert page.count('class="notice ') == 50
    (older,) = re.findall(r'href="(\?before=\d+)"', page)
    assert as_developer.get(LIST + older).content.decode().count('class="notice ') == 10


def test_a_list_of_many_notices_takes_as_many_statements_as_one(project: Project, as_developer: Browser) -> None:
    raised(project)
    as_developer.get(LIST)
    with CaptureQueriesContext(connection) as few:
        as_developer.get(LIST)
    raised(project, 15)
    with CaptureQueriesContext(connection) as many:
        as_developer.get(LIST)
    assert len(many) == len(few) <= 6


class TestSwitches:
    def page(self, project: Project) -> str:
        return f"/console/p/{project.public_id}/notices"

    def test_the_page_shows_the_defaults_of_the_role(self, project: Project, as_viewer: Browser) -> None:
        content = as_viewer.get(self.page(project)).content.decode()
        on = set(re.findall(r'name="([a-z]+-[a-z]+)" checked', content))
        wanted = {f"console-{topic}" for topic in Topic if DEFAULTS[topic]["viewer"].console}
        assert on == wanted

    def test_a_topic_can_be_turned_off_and_on(
        self, project: Project, as_developer: Browser, as_owner: Browser, developer: Account, owner: Account
    ) -> None:
        response = as_developer.post(self.page(project), {"mail-owners": "on", "console-domains": "on"})
        assert response.status_code == 302
        raised(project)
        row = Notice.objects.get(account=developer)
        assert (row.in_console, row.waits_for_mail) == (True, False)
        assert Notice.objects.get(account=owner).waits_for_mail, "members only change what they get"
        as_developer.post(self.page(project), {"mail-domains": "on"})
        raised(project)
        row = Notice.objects.filter(account=developer).latest("pk")
        assert (row.in_console, row.waits_for_mail) == (False, True)
        assert "is proven again" in text_of(as_developer), "the first one"
        as_developer.post(self.page(project), {})
        raised(project)
        assert Notice.objects.filter(account=developer).count() == 2

    def test_choices_that_equal_the_defaults_follow_a_new_role(
        self, project: Project, as_viewer: Browser, viewer: Account
    ) -> None:
        sent = {f"console-{topic}": "on" for topic in Topic if DEFAULTS[topic]["viewer"].console}
        as_viewer.post(self.page(project), sent | {"mail-leaks": "on"})
        assert NoticeSettings.objects.get().choices == {"leaks": {"console": True, "mail": True}}
        ProjectMember.objects.filter(account=viewer).update(role="owner")
        content = as_viewer.get(self.page(project)).content.decode()
        assert 'name="mail-domains" checked' in content


def test_notices_are_deleted_after_some_time(project: Project, later: Callable[[float], None]) -> None:
    from devportal.console.notices import tasks

    later(0)
    raised(project)
    later(89 * 86400)
    assert tasks.clear_notices() == 0
    later(2 * 86400)
    assert tasks.clear_notices() == 2
    later(310 * 86400)
    assert tasks.clear_notices() == 1, "the cause"
