"""`manage.py provision` while someone else changes the same rows, on PostgreSQL."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, TypeVar

import pytest
from django.core.management.base import CommandError
from django.db import connections, transaction

from accounts.models import Account
from api.models import ApiKey
from devportal.operations.provisioning.people import apply_person
from devportal.review.decisions import reviewer_actions
from oidc.clients.lookup import lock_client
from oidc.models import Client, ClientSecret, Project, ProjectMember
from oidc.projects import members
from oidc.projects.roles import lock_project
from tests.at_once import SECONDS, at_once, blocked_by, someone_waits_for_us, together, wait_until
from tests.devportal.operations.provisioning.test_provision import FILE, provision
from tests.devportal.review.reviewing import fresh, make_reviewer
from tests.factories import make_account

T = TypeVar("T")

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def verified(tmp_path: Path) -> Client:
    provision(tmp_path, FILE.replace("approved_scopes", "verified = true\napproved_scopes"))
    return Client.objects.select_related("project").get(name="Web")


def test_an_approval_that_is_withdrawn_meanwhile_stays_withdrawn(verified: Client, tmp_path: Path) -> None:
    """The file declares neither the review nor the scopes, so it must not write the values that it read before."""
    reviewer: Account = make_reviewer()
    blocked_by(
        lambda: reviewer_actions.withdraw_approval(verified, reviewer, reasons=["unsafe"]),
        lambda: provision(tmp_path, FILE.replace('approved_scopes = ["account.read"]', "")),
    )
    now = fresh(verified)
    assert (now.verified_at, now.approved_scopes, now.reviewed_hosts) == (None, "", "")


@pytest.mark.parametrize("owner_exists", [False, True])
def test_two_files_at_once_create_everything_once(tmp_path: Path, owner_exists: bool) -> None:
    """As when two machines start at the same moment."""
    text = FILE
    if owner_exists:
        make_account("dana@example.com")
        text = FILE[FILE.index("[[projects]]") :].replace(
            'members = [{email = "robin@example.com", role = "viewer"}]', ""
        )
    folders = [tmp_path / name for name in ("one", "other")]
    for folder in folders:
        folder.mkdir()
    results = at_once(2, lambda number: provision(folders[number], text))
    assert results[0]["projects"][0]["id"] == results[1]["projects"][0]["id"]
    assert (Project.objects.count(), Client.objects.count(), ClientSecret.objects.count()) == (1, 2, 1)


def test_a_member_who_is_removed_meanwhile_gets_no_key(tmp_path: Path) -> None:
    provision(tmp_path, FILE)
    owner, seat = Account.objects.get(email="dana@example.com"), ProjectMember.objects.get(role="viewer")
    key = '{name = "Nightly", owner = "robin@example.com", permissions = ["account.read"]}'
    declared = f'[[projects]]\nname = "Orbit"\nowner = "dana@example.com"\napi_keys = [{key}]'
    with pytest.raises(CommandError, match=r"robin@example\.com is not a member of the project"):
        blocked_by(lambda: members.remove_member(seat, owner), lambda: provision(tmp_path, declared))
    assert not ApiKey.objects.exists()


def test_an_owner_who_changes_a_role_meanwhile_gets_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both lock the project first: otherwise each would wait for what the other one has locked."""
    provision(tmp_path, FILE)
    owner, seat = Account.objects.get(email="dana@example.com"), ProjectMember.objects.get(role="viewer")
    is_locked = Event()

    def apply_slowly(values: dict[str, Any]) -> dict[str, Any]:
        done = apply_person(values)
        is_locked.set()
        if values["email"] == "robin@example.com":
            wait_until(someone_waits_for_us)
        return done

    def promote() -> None:
        is_locked.wait(10)
        members.change_role(seat, "developer", owner)

    monkeypatch.setattr("devportal.operations.provisioning.apply_person", apply_slowly)
    assert together(lambda: provision(tmp_path, FILE), promote) == ["done", "done"]


def test_a_file_and_a_review_lock_the_project_before_people_and_apps(verified: Client, tmp_path: Path) -> None:
    """In another order, PostgreSQL would end one of the two as a deadlock."""
    file = FILE.replace("approved_scopes", 'events_url = ""\napproved_scopes')
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            lock_project(verified.project_id)
            applied = pool.submit(_in_thread, partial(provision, tmp_path, file))
            wait_until(someone_waits_for_us)
            list(Account.objects.select_for_update(no_key=True).order_by("pk"))
            lock_client(verified.pk)
        assert len(applied.result(SECONDS)["projects"]) == 1


def _in_thread(act: Callable[[], T]) -> T:
    try:
        return act()
    finally:
        connections.close_all()
