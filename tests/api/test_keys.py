"""API keys: their form, what is kept of them, when they die, and whose they are."""

import hashlib
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from accounts.models import Account, PairwiseSubject
from api import keys
from api.models import ApiKey
from core import clock
from devportal.console.models import AuditEvent
from oidc.models import Project, ProjectMember
from oidc.projects import lifecycle
from oidc.projects.lifecycle import QuotaExceeded
from oidc.projects.roles import Gone
from tests.api.calls import ME, call, refusal
from tests.api.conftest import Key
from tests.at_once import at_once
from tests.factories import make_account, make_key, make_project

DEAD = (401, "invalid_api_key")
Queries = Callable[[int], Any]


def join(project: Project, account: Account) -> ProjectMember:
    return ProjectMember.objects.create(project=project, account=account, role=ProjectMember.Role.DEVELOPER)


# --- Form ---


def test_prefix_public_id_secret_and_checksum(key: Key) -> None:
    match = re.fullmatch(r"op_key_([A-Za-z0-9]{12})_([A-Za-z0-9]{43})([A-Za-z0-9]{6})", key.raw)
    assert match is not None, key.raw
    assert match[1] == key.row.public_id
    assert key.row.last_four == key.raw[-4:]


def test_no_two_are_alike(person: Account) -> None:
    project = make_project(person)
    raws = [make_key(project, person)[1] for _ in range(20)]
    assert len({raw[7:19] for raw in raws}) == len({raw[20:63] for raw in raws}) == 20


def test_only_its_hash_is_kept(key: Key) -> None:
    secret = key.raw[20:]
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {ApiKey._meta.db_table}")
        stored = str(cursor.fetchall())
    assert hashlib.sha256(key.raw.encode()).hexdigest() in stored
    assert secret not in stored
    assert key.raw not in stored


def typos(raw: str) -> list[str]:
    """Return the key with each character changed, dropped, doubled, or swapped with the next."""
    start = len("op_key_")
    other = [raw[:at] + ("A" if raw[at] != "A" else "B") + raw[at + 1 :] for at in range(start, len(raw))]
    dropped = [raw[:at] + raw[at + 1 :] for at in range(start, len(raw))]
    doubled = [raw[:at] + raw[at] + raw[at:] for at in range(start, len(raw))]
    swapped = [raw[:at] + raw[at + 1] + raw[at] + raw[at + 2 :] for at in range(start, len(raw) - 1)]
    return [typo for typo in (*other, *dropped, *doubled, *swapped) if typo != raw]


def test_a_typo_is_refused_without_asking_anyone(key: Key, settings: Any, django_assert_num_queries: Queries) -> None:
    settings.API_GUESSES_PER_MINUTE = 10_000
    assert all(keys.parse_public_id(typo) is None for typo in typos(key.raw))
    with django_assert_num_queries(0):
        for typo in typos(key.raw)[::9]:
            assert refusal(call(ME, typo)) == DEAD
    with django_assert_num_queries(1):
        assert call(ME, key.raw).status_code == 200


def test_malformed_keys_are_rejected(key: Key, django_assert_num_queries: Queries) -> None:
    raw = key.raw
    with django_assert_num_queries(0):
        for malformed in (raw.upper(), raw.lower(), raw.swapcase(), raw[7:], raw + "\x00", raw * 2):
            assert call(ME, malformed).status_code == 401, malformed


def test_a_good_checksum_with_another_secret(key: Key, django_assert_num_queries: Queries) -> None:
    unchecked = key.raw[:-7] + ("A" if key.raw[-7] != "A" else "B")
    forged = unchecked + keys.checksum(unchecked)
    with django_assert_num_queries(1):
        assert refusal(call(ME, forged)) == DEAD


# --- Death ---


@pytest.mark.parametrize(("ahead", "status"), [(1, 200), (0, 401), (-1, 401)])
def test_its_last_second(ahead: int, status: int, person: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    moment = clock.now()
    monkeypatch.setattr(clock, "now", lambda: moment)
    _, raw = make_key(make_project(person), person, expires_at=moment + timedelta(seconds=ahead))
    assert call(ME, raw).status_code == status


def test_it_does_not_come_back_with_its_owner(key: Key) -> None:
    elsewhere = make_key(owner=make_account())[1]
    for is_active in (False, True):
        key.owner.is_active = is_active
        key.owner.save(update_fields=["is_active"])
    assert refusal(call(ME, key.raw)) == DEAD
    assert call(ME, elsewhere).status_code == 200
    event = AuditEvent.objects.get(action="api_key.revoked")
    assert (event.target, event.actor) == (key.row.public_id, None)


def test_its_owner_leaves_the_project(key: Key) -> None:
    colleague = make_account()
    joined = join(key.project, colleague)
    own = make_key(key.project, colleague)[1]
    elsewhere = make_key(make_project(colleague), colleague)[1]
    joined.delete()
    assert refusal(call(ME, own)) == DEAD
    assert call(ME, key.raw).status_code == 200
    assert call(ME, elsewhere).status_code == 200
    join(key.project, colleague)
    assert refusal(call(ME, own)) == DEAD


def test_many_leave_at_once(key: Key) -> None:
    colleague = make_account()
    join(key.project, colleague)
    own = make_key(key.project, colleague)[1]
    ProjectMember.objects.filter(account=colleague).delete()
    assert refusal(call(ME, own)) == DEAD


def test_another_role_ends_nothing(key: Key) -> None:
    ProjectMember.objects.filter(project=key.project).update(role=ProjectMember.Role.VIEWER)
    assert call(ME, key.raw).status_code == 200


def test_owner_or_project_are_deleted(person: Account) -> None:
    gone, kept = (make_key(make_project(person), person) for _ in range(2))
    gone[0].project.delete()
    assert refusal(call(ME, gone[1])) == DEAD
    assert call(ME, kept[1]).status_code == 200
    person.delete()
    assert refusal(call(ME, kept[1])) == DEAD
    assert not ApiKey.objects.exists()


# --- Whose it is, and what it may ---


def test_the_id_is_its_owners_in_that_project(person: Account) -> None:
    first, second = make_project(person), make_project(person)
    for project in (first, second, first):
        _, raw = make_key(project, person)
        subject = PairwiseSubject.objects.get(account=person, sector=project.public_id)
        assert call(ME, raw).json()["id"] == subject.sub
    assert PairwiseSubject.objects.filter(account=person).count() == 2


def test_two_owners_in_one_project_are_two_people(key: Key) -> None:
    colleague = make_account("eve@example.com")
    join(key.project, colleague)
    body = call(ME, make_key(key.project, colleague)[1]).json()
    assert body["email"] == "eve@example.com"
    assert body["id"] != call(ME, key.raw).json()["id"]


def test_only_account_read_opens_anything_to_a_key(person: Account) -> None:
    for permissions in (["email", "profile"], ["account.read.all"], ["ACCOUNT.READ"], ["account"]):
        _, raw = make_key(make_project(person), person, permissions=permissions)
        assert refusal(call(ME, raw)) == (403, "insufficient_scope"), permissions


def test_it_is_no_credential_of_the_sign_in_service(key: Key) -> None:
    assert call("/connect/userinfo", key.raw).status_code == 401


# --- For a member ---


def test_a_member_gets_a_key_and_others_do_not(person: Account) -> None:
    project = make_project(person)
    row, raw = keys.create_key_for_member(project, person, "Report", ["account.read"])
    assert (row.owner, row.name, row.state) == (person, "Report", "live")
    assert call(ME, raw).status_code == 200
    with pytest.raises(Gone):
        keys.create_key_for_member(project, make_account(), "Report", [])
    lifecycle.delete_project(project, person)
    with pytest.raises(Gone):
        keys.create_key_for_member(project, person, "Report", [])


def test_the_number_of_live_keys_is_limited(person: Account, settings: Any) -> None:
    settings.KEYS_PER_PROJECT = 2
    project = make_project(person)
    keys.create_key_for_member(project, person, "Over", [], clock.now() - timedelta(seconds=1))
    first, _ = keys.create_key_for_member(project, person, "One", [], clock.now() + timedelta(days=1))
    keys.create_key_for_member(project, person, "Two", [])
    with pytest.raises(QuotaExceeded, match="has 2 live keys"):
        keys.create_key_for_member(project, person, "Three", [])
    keys.API_KEYS.revoke(first, person)
    keys.create_key_for_member(project, person, "Three", [])


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_the_number_of_keys_is_exact_when_ten_come_at_once(settings: Any) -> None:
    settings.KEYS_PER_PROJECT = 3
    account = make_account()
    project = make_project(account)

    def make(number: int) -> bool:
        try:
            keys.create_key_for_member(project, account, f"Key {number}", [])
        except QuotaExceeded:
            return False
        return True

    assert sum(at_once(10, make)) == ApiKey.objects.count() == 3
