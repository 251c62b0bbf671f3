"""Closing, keeping and deleting an account at the same moment, on PostgreSQL with separate connections."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from django.test import Client as Browser
from django.test import RequestFactory

from accounts.data_export import creating, exports
from accounts.deletion import deleting
from accounts.mail import outbox
from accounts.models import Account, DataExport, Outbox, SecurityEvent
from accounts.recovery import closing
from core import clock
from oidc.models import ProjectMember
from oidc.projects import members
from tests.at_once import at_once, someone_waits_for_us, together, wait_until
from tests.factories import PASSWORD, make_account, make_project
from tests.relying_party import sign_in

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
often = pytest.mark.parametrize("attempt", range(2))


@pytest.fixture
def account() -> Account:
    return make_account("ada@example.com")


@pytest.fixture
def due(account: Account) -> Account:
    """Someone whose account is to be deleted now."""
    account.is_active, account.deletion_due_at = False, clock.now() - timedelta(seconds=1)
    account.save()
    return account


def ask(account: Account) -> Callable[[], Any]:
    return lambda: closing.ask(account, RequestFactory().post("/account/delete"))


@often
def test_keeping_and_deleting_at_once_does_only_one(due: Account, attempt: int) -> None:
    ended = together(lambda: closing.keep(due.pk), closing.delete_due)
    account = Account.objects.filter(pk=due.pk).first()
    if account is None:
        assert ended[0] == "Gone"
        assert {row.subject for row in Outbox.objects.all()} <= {"[Openport] Your account has been deleted"}
    else:
        assert ended[0] == "done"
        assert (account.is_active, account.deletion_due_at) == (True, None)
        assert SecurityEvent.objects.filter(kind="deletion_cancelled").count() == 1


@often
def test_two_requests_get_one_date_and_one_mail(account: Account, attempt: int) -> None:
    dates = at_once(2, lambda number: ask(account)())
    assert dates[0] == dates[1] == Account.objects.get().deletion_due_at
    assert SecurityEvent.objects.filter(kind="deletion_asked").count() == 1
    assert Outbox.objects.filter(subject__contains="will be deleted").count() == 1


@often
def test_two_tasks_delete_once(due: Account, attempt: int) -> None:
    gone = at_once(2, lambda number: closing.delete_due())
    assert sorted(gone) == [0, 1]
    assert not Account.objects.exists()


@often
def test_a_sign_in_while_closing_gives_no_session(account: Account, attempt: int) -> None:
    browser = Browser()
    form = {"login": account.email, "password": PASSWORD}
    together(ask(account), lambda: browser.post("/account/login/", form))
    assert browser.get("/account/").status_code == 302
    assert not Account.objects.get().is_active


@often
def test_a_sign_in_while_deleting_is_not_an_error(due: Account, attempt: int) -> None:
    browser = Browser()
    statuses: list[int] = []

    def sign_in_now() -> None:
        statuses.append(browser.post("/account/login/", {"login": due.email, "password": PASSWORD}).status_code)
        statuses.append(browser.post("/account/closed").status_code)

    together(closing.delete_due, sign_in_now)
    assert all(status < 500 for status in statuses)
    account = Account.objects.filter(pk=due.pk).first()
    assert account is None or account.is_active
    assert (browser.get("/account/").status_code == 200) == (account is not None)


@often
def test_when_two_owners_close_their_accounts_one_stays(account: Account, attempt: int) -> None:
    second = make_account("bo@example.com")
    project = make_project(account)
    ProjectMember.objects.create(project=project, account=second, role=ProjectMember.Role.OWNER)
    ended = together(ask(account), ask(second))
    assert sorted(ended) == ["DeletionBlocked", "done"]


@often
def test_closing_the_account_and_leaving_at_once_keeps_an_owner(account: Account, attempt: int) -> None:
    second = make_account("bo@example.com")
    project = make_project(account)
    ProjectMember.objects.create(project=project, account=second, role=ProjectMember.Role.OWNER)
    ended = together(ask(account), lambda: members.leave_project(project, second))
    assert ended.count("done") == 1


@pytest.mark.parametrize("way", ["asked for", "due"])
def test_an_owner_who_changes_the_role_of_an_account_that_goes_gets_no_error(
    way: str, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both lock the project first: otherwise each would wait for what the other one has locked."""
    second = make_account("bo@example.com")
    project = make_project(account)
    ProjectMember.objects.create(project=project, account=second, role=ProjectMember.Role.OWNER)
    seat = ProjectMember.objects.get(account=account)
    if way == "due":
        account.is_active, account.deletion_due_at = False, clock.now() - timedelta(seconds=1)
        account.save()
    is_locked, real = Event(), closing._locked

    def locked(pk: int) -> Account | None:
        row = real(pk)
        is_locked.set()
        wait_until(someone_waits_for_us)
        return row

    def demote() -> None:
        is_locked.wait(10)
        members.change_role(seat, "viewer", second)

    monkeypatch.setattr(closing, "_locked", locked)
    ended = together(ask(account) if way == "asked for" else closing.delete_due, demote)
    assert ended in (["done", "done"], ["done", "Gone"])


@often
def test_many_requests_for_an_export_make_one(account: Account, attempt: int, settings: Any) -> None:
    settings.CELERY_TASK_ALWAYS_EAGER = False
    request = sign_in(Browser(), account).get("/account/").wsgi_request
    keys = at_once(4, lambda number: exports.ask(account, request).pk)
    assert len(set(keys)) == 1
    made = at_once(3, lambda number: creating.make(keys[0]))
    assert sorted(made) == [False, False, True]
    assert DataExport.objects.get().state == "ready"


def test_an_export_that_is_finished_while_the_account_is_deleted_leaves_no_file(
    account: Account, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The deletion reads all stored emails, which takes long enough for another worker to finish the export."""
    settings.MEDIA_ROOT = tmp_path
    row = DataExport.objects.create(account=account, asked_at=clock.now())
    real = outbox.delete_mail_to
    with ThreadPoolExecutor(1) as pool:
        made: list[Future[list[bool]]] = []

        def meanwhile(*arguments: Any) -> None:
            made.append(pool.submit(at_once, 1, lambda _: creating.make(row.pk)))
            wait_until(lambda: made[0].done() or someone_waits_for_us())
            real(*arguments)

        monkeypatch.setattr(outbox, "delete_mail_to", meanwhile)
        deleting.delete_account(account)
        made[0].result()
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
