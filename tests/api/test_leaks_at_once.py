"""Several reports of one credential at once, on PostgreSQL: one of them counts."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from accounts.deletion.deleting import delete_account
from accounts.models import Account
from api.keys import API_KEYS
from api.leak_reports import take_pasted
from api.models import ApiKey, LeakReport
from api.tasks import handle_leak_reports
from core import clock
from devportal.console.models import AuditEvent
from oidc.clients.registration import delete_client
from oidc.clients.secrets import CLIENT_SECRETS
from oidc.models import Client, ClientSecret, ProjectMember
from oidc.projects.credentials import CredentialEnded
from oidc.projects.roles import lock_for_change
from oidc.signals import credential_leaked
from tests.api.scanning import ScannerKey, entry, leaks_heard, send
from tests.at_once import SECONDS, someone_waits_for_us, wait_until
from tests.at_once import at_once as same_moment
from tests.factories import make_account, make_key, make_web_client

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


def at_once(*functions: Any) -> list[Any]:
    """Call functions at the same moment; return what each returned or raised."""

    def run(number: int) -> Any:
        try:
            return functions[number]()
        except Exception as error:  # noqa: BLE001  (the test checks it)
            return error

    return same_moment(len(functions), run)


@pytest.mark.parametrize("setting", ["revoke", "flag"])
def test_two_reports_at_once_count_as_one(settings: Any, setting: str) -> None:
    settings.LEAKED_CREDENTIALS = setting
    scanner = ScannerKey()
    settings.LEAK_REPORT_KEYS = scanner.document
    keys = [make_key()[1] for _ in range(5)]
    report, reverse = [entry(raw) for raw in keys], [entry(raw) for raw in reversed(keys)]
    responses = at_once(*[lambda body=body: send(scanner, body) for body in (report, reverse) * 2])
    assert [each.status_code for each in responses] == [200] * 4
    for raw in keys:
        take_pasted(raw)
    with leaks_heard() as heard:
        handled = at_once(*[handle_leak_reports] * 4)
    assert sum(handled) == 25
    assert not LeakReport.objects.exists()
    assert len(heard) == 5
    assert AuditEvent.objects.filter(action__startswith="api_key.leaked").count() == 5
    assert ApiKey.objects.filter(leaked_at=None).count() == 0


def test_a_report_and_a_revocation_at_once_end_a_key_once() -> None:
    for _ in range(5):
        key, raw = make_key()
        take_pasted(raw)
        with leaks_heard() as heard:
            handled, revoked = at_once(handle_leak_reports, lambda key=key: API_KEYS.revoke(key))
        actions = AuditEvent.objects.filter(target=key.public_id).exclude(action="api_key.created")
        found = set(actions.values_list("action", flat=True))
        first = {"api_key.revoked", "api_key.leaked_ended"} if revoked is True else {"api_key.leaked_revoked"}
        assert (handled, found) == (1, first)
        assert revoked in (True, False)
        assert len(heard) == ("api_key.leaked_revoked" in found)


def test_a_report_and_a_rotation_at_once_leave_only_the_new_secret() -> None:
    for _ in range(5):
        client, raw = make_web_client()
        old = ClientSecret.objects.get(client=client)
        take_pasted(raw)
        end = clock.now() + timedelta(hours=1)
        _, rotated = at_once(handle_leak_reports, lambda old=old, end=end: CLIENT_SECRETS.rotate(old, end))
        old.refresh_from_db()
        assert old.revoked_at is not None
        assert isinstance(rotated, CredentialEnded) or client.secrets.live().get() == rotated[0]


@pytest.mark.parametrize("what", ["app", "account"])
def test_a_deletion_while_a_leak_is_handled_is_no_deadlock(what: str) -> None:
    """The notices about a leak refer to the app, and to the members of its project."""
    client, raw = make_web_client()
    owner, member = ProjectMember.objects.get(project=client.project).account, make_account()
    ProjectMember.objects.create(project=client.project, account=member, role=ProjectMember.Role.VIEWER)
    gone: Any = Client.objects.filter(pk=client.pk)
    if what == "account":
        _, raw = make_key(client.project, member)
        gone = Account.objects.filter(pk=member.pk)

    def delete() -> None:
        try:
            if what == "account":
                delete_account(member)
            else:
                with lock_for_change(client.project, owner, ProjectMember.Role.DEVELOPER):
                    delete_client(client, owner)
        finally:
            connection.close()

    def begin_deletion(**kwargs: Any) -> None:
        deletions.append(pool.submit(delete))
        wait_until(lambda: deletions[0].done() or someone_waits_for_us())

    deletions: list[Any] = []
    take_pasted(raw)
    credential_leaked.connect(begin_deletion)
    try:
        with ThreadPoolExecutor(1) as pool:
            assert handle_leak_reports() == 1
            deletions[0].result(SECONDS)
    finally:
        credential_leaked.disconnect(begin_deletion)
    assert not gone.exists()
