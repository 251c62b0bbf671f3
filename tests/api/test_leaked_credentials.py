"""What becomes of a credential that was reported as leaked, by a scanner or on the page."""

import re
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings as declared
from django.test import Client as Browser

from accounts.models import Account
from api import leaked_credentials
from api.keys import API_KEYS
from api.models import ApiKey, LeakReport
from api.tasks import handle_leak_reports
from core import clock
from devportal.console.models import AuditEvent
from oidc.clients.secrets import CLIENT_SECRETS
from oidc.models import Client, ClientSecret, Project
from oidc.projects.lifecycle import delete_project
from tests.api.scanning import FOUND_AT, ScannerKey, entry, leaks_heard, paste, send
from tests.credentials import Kind, each_kind, make_credential
from tests.factories import make_key, make_project, make_web_client

pytestmark = pytest.mark.django_db


# The label of a credential, and what else names it in audit events.
LABELS: dict[str, tuple[str, dict[str, str]]] = {
    "client_secret": ("last_four", {}),
    "api_credential": ("last_four", {"api": "calendar"}),
    "api_key": ("name", {}),
}


@pytest.fixture
def flagging(settings: Any) -> None:
    settings.LEAKED_CREDENTIALS = "flag"


def trail() -> list[tuple[str, str]]:
    rows = AuditEvent.objects.filter(action__contains=".leaked").order_by("pk")
    return list(rows.values_list("action", "target"))


def calls(raw: str) -> int:
    return Browser().get("/v1/me", headers={"Authorization": f"Bearer {raw}"}).status_code


@pytest.mark.parametrize("setting", ["revoke", "flag"])
@each_kind
def test_a_reported_credential_is_revoked_or_flagged_once(
    scanner: ScannerKey, settings: Any, kind: Kind, setting: str, caplog: pytest.LogCaptureFixture
) -> None:
    settings.LEAKED_CREDENTIALS = setting
    row, raw = make_credential(kind)
    project, client, target = kind.belongs_to(row)
    result = "revoked" if setting == "revoke" and project else "flagged"
    response = send(scanner, [entry(raw)])
    assert (response.status_code, [each["label"] for each in response.json()]) == (200, ["true_positive"])
    with leaks_heard() as heard:
        assert handle_leak_reports() == 1
    row.refresh_from_db()
    assert row.leaked_at is not None
    assert row.revoked_at == (row.leaked_at if result == "revoked" else None)
    label, names = LABELS[kind.name]
    of_project: dict[str, Any] = {
        "project": project,
        "client": client,
        "credential": kind.name,
        "label": getattr(row, label),
        "revoked": result == "revoked",
        "source": "github",
        "url": FOUND_AT,
    }
    assert heard == ([of_project] if project else [])
    event = AuditEvent.objects.get(action=f"{kind.name}.leaked_{result}")
    assert (event.project, event.target, event.actor) == (project.public_id if project else "", target, None)
    assert event.details == {"source": "github", "url": FOUND_AT, label: getattr(row, label)} | names
    errors = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert [target in error for error in errors] == ([] if project else [True])
    assert raw not in caplog.text
    before, events = kind.model._default_manager.values().get(), trail()
    with leaks_heard() as heard:
        again = send(scanner, [entry(raw)])
        paste(raw)
        assert handle_leak_reports() == 2
    assert (kind.model._default_manager.values().get(), trail(), heard) == (before, events, [])
    assert response.json() == again.json()
    assert not LeakReport.objects.exists()


@pytest.mark.parametrize(("setting", "status"), [("revoke", 401), ("flag", 200)])
def test_a_flagged_key_keeps_working(settings: Any, setting: str, status: int) -> None:
    settings.LEAKED_CREDENTIALS = setting
    _, raw = make_key()
    paste(raw)
    handle_leak_reports()
    assert calls(raw) == status


@pytest.mark.parametrize("ended", ["revoked_at", "expires_at"])
@each_kind
def test_the_leak_of_an_ended_credential_is_only_recorded(scanner: ScannerKey, kind: Kind, ended: str) -> None:
    row, raw = make_credential(kind)
    kind.model._default_manager.update(**{ended: clock.now()})
    row.refresh_from_db()
    assert [each["label"] for each in send(scanner, [entry(raw)]).json()] == ["true_positive"]
    with leaks_heard() as heard:
        handle_leak_reports()
    assert (heard, trail()) == ([], [(f"{kind.name}.leaked_ended", kind.belongs_to(row)[2])])
    after = kind.model._default_manager.get()
    assert (after.revoked_at, after.expires_at) == (row.revoked_at, row.expires_at)


@pytest.mark.parametrize(
    "line",
    [
        "{}",
        "Authorization: Bearer {}",
        "export SECRET={};",
        "https://client:{}@example.com/connect/token",
        '{{"client_secret":"{}"}}',
        "I found {}. It is in your repository, isn’t it?",
        "eyJhbGciOiJSUzI1NiIsInR5cCI6ImF0K2p3dCIsImtpZCI6IjEifQ " * 3 + "{}",
    ],
)
def test_a_secret_is_found_within_a_line(line: str) -> None:
    _, raw = make_web_client()
    paste(line.format(raw))
    handle_leak_reports()
    assert ClientSecret.objects.get().revoked_at is not None


def test_a_secret_with_a_former_prefix_is_found(settings: Any) -> None:
    _, raw = make_web_client()
    settings.CLIENT_SECRET_PREFIX = "acme_secret_"
    paste(raw)
    handle_leak_reports()
    assert ClientSecret.objects.get().revoked_at is not None


def test_a_flagged_key_is_revoked_once_the_setting_says_so(scanner: ScannerKey, settings: Any) -> None:
    _key, raw = make_key()
    for setting in ("flag", "revoke"):
        settings.LEAKED_CREDENTIALS = setting
        send(scanner, [entry(raw)])
        handle_leak_reports()
    assert [action for action, _ in trail()] == ["api_key.leaked_flagged", "api_key.leaked_revoked"]
    before = ApiKey.objects.get().leaked_at
    assert before is not None
    assert before < (ApiKey.objects.get().revoked_at or before)


def test_a_key_of_a_suspended_project_is_revoked(scanner: ScannerKey) -> None:
    key, raw = make_key()
    Project.objects.update(suspended_at=clock.now())
    send(scanner, [entry(raw)])
    handle_leak_reports()
    key.refresh_from_db()
    assert key.revoked_at is not None


def test_a_key_of_a_deleted_project_tells_nobody(scanner: ScannerKey, person: Account) -> None:
    project = make_project(person)
    _, raw = make_key(project)
    _, secret = make_web_client(project)
    delete_project(project, person)
    send(scanner, [entry(raw), entry(secret)])
    with leaks_heard() as heard:
        assert handle_leak_reports() == 2
    assert heard == []
    assert {action for action, _ in trail()} == {"api_key.leaked_ended", "client_secret.leaked_ended"}


def test_a_key_that_is_deleted_meanwhile_is_no_error(scanner: ScannerKey) -> None:
    _, raw = make_key()
    send(scanner, [entry(raw)])
    Project.objects.all().delete()
    assert handle_leak_reports() == 1


def test_a_failure_leaves_its_report_for_another_run(scanner: ScannerKey, monkeypatch: Any, later: Any) -> None:
    first, one = make_key()
    _second, other = make_key(first.project)
    send(scanner, [entry(one), entry(other)])
    real = leaked_credentials._leaked

    def fail(kind: Any, key: ApiKey, found: LeakReport) -> Any:
        if key.pk == first.pk:
            raise RuntimeError
        return real(kind, key, found)

    monkeypatch.setattr(leaked_credentials, "_leaked", fail)
    assert handle_leak_reports() == 1
    assert (LeakReport.objects.count(), ApiKey.objects.get(pk=first.pk).revoked_at) == (1, None)
    monkeypatch.setattr(leaked_credentials, "_leaked", real)
    assert handle_leak_reports() == 0
    later(31)
    assert handle_leak_reports() == 1
    assert not ApiKey.objects.filter(revoked_at=None).exists()


def test_a_stored_report_is_handled_at_once(monkeypatch: Any, django_capture_on_commit_callbacks: Any) -> None:
    queued: list[Any] = []
    monkeypatch.setattr("api.leak_reports.queue_task", queued.append)
    with django_capture_on_commit_callbacks(execute=True):
        paste("op_secret_" + "a" * 43)
        assert queued == []
    assert queued == [handle_leak_reports]


def test_results_are_counted(scanner: ScannerKey, monkeypatch: Any) -> None:
    counted: list[tuple[str, str]] = []
    reports = SimpleNamespace(count=lambda *labels: counted.append(labels))
    monkeypatch.setattr("core.telemetry.metrics.LEAK_REPORTS", reports)
    _, raw = make_key()
    send(scanner, [entry(raw)])
    paste(raw)
    paste("op_key_" + "x" * 62)
    handle_leak_reports()
    send(scanner, [entry(raw)], identifier="other")
    assert counted == [
        ("github", "revoked"), ("web form", "known"), ("web form", "unknown"), ("github", "unknown_key"),
    ]  # fmt: skip


# --- What the docs say of the patterns ---


def test_the_patterns_of_the_docs_match_keys_and_secrets() -> None:
    section = (declared.PROJECT_DIR / "docs" / "security.md").read_text().partition("### Patterns")[2]
    key_pattern, secret_pattern = re.findall(r"`(\\b\S+\\b)`", section)[:2]
    code: dict[str, Any] = {}
    exec(section.partition("```python\n")[2].partition("```")[0], code)
    for _ in range(20):
        _, key = make_key()
        _, secret = make_web_client()
        text = f"key={key};secret={secret}\n"
        assert re.findall(key_pattern, text) == [key]
        assert re.findall(secret_pattern, text) == [secret]
        assert code["has_valid_checksum"](key)
        assert not code["has_valid_checksum"](key[:-1] + ("a" if key[-1] != "a" else "b"))
        ClientSecret.objects.all().delete()


# --- The console ---


def test_the_console_marks_a_leaked_key(flagging: None, signed_in: Browser, person: Account) -> None:
    key, raw = make_key(make_project(person), name="Nightly job")
    place = f"/console/p/{key.project.public_id}/keys"
    assert "Leaked" not in signed_in.get(place).content.decode()
    paste(raw)
    handle_leak_reports()
    page = signed_in.get(place).content.decode()
    assert "Nightly job was reported as leaked" in page
    assert f'href="{place}/{key.public_id}/rotate"' in page
    API_KEYS.revoke(key)
    assert "was reported as leaked" not in signed_in.get(place).content.decode()


def test_the_console_marks_a_leaked_secret(flagging: None, signed_in: Browser, person: Account) -> None:
    client, raw = make_web_client(make_project(person))
    place = f"/console/p/{client.project.public_id}/clients/{client.client_id}/"
    paste(raw)
    handle_leak_reports()
    page = signed_in.get(place).content.decode()
    assert f"…{raw[-4:]} was reported as leaked" in page
    assert f'href="{place}secrets/{ClientSecret.objects.get().pk}/rotate"' in page
    CLIENT_SECRETS.revoke(ClientSecret.objects.get())
    page = signed_in.get(place).content.decode()
    assert f"…{raw[-4:]} was reported as leaked" not in page
    assert "and was reported as leaked" in page


def test_the_activity_says_why_a_credential_ended(signed_in: Browser, person: Account) -> None:
    client, secret = make_web_client(make_project(person))
    _, key = make_key(client.project)
    paste(f"{secret} {key}")
    handle_leak_reports()
    page = signed_in.get(f"/console/p/{client.project.public_id}/team/activity").content.decode()
    assert page.count("because it was reported as leaked") == 2
    assert Client.objects.get().enabled


# --- Reports that can't be handled ---


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Digests whose reports fail, and each attempt."""
    real, tried = leaked_credentials._end, []

    def end(found: LeakReport) -> Any:
        tried.append(found.digest)
        if found.digest.startswith("bad"):
            raise RuntimeError("a broken row")
        return real(found)

    monkeypatch.setattr(leaked_credentials, "_end", end)
    return tried


def test_reports_that_fail_count_in_the_batch_and_wait(
    failing: list[str], later: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaked_credentials, "BATCH", 3)
    for number in range(4):
        LeakReport.objects.create(digest=f"bad{number}", source="github")
    LeakReport.objects.create(digest="good", source="github")
    assert handle_leak_reports() == 0
    assert failing == ["bad0", "bad1", "bad2"]
    assert handle_leak_reports() == 1
    assert failing[3:] == ["bad3", "good"]
    assert handle_leak_reports() == 0
    assert len(failing) == 5
    later(31)
    handle_leak_reports()
    assert sorted(failing[5:]) == ["bad0", "bad1", "bad2"]


def test_a_report_that_always_fails_is_given_up_after_a_day(
    failing: list[str], later: Any, caplog: pytest.LogCaptureFixture
) -> None:
    LeakReport.objects.create(digest="bad", source="github")
    for _ in range(40):
        later(3601)
        handle_leak_reports()
    assert len(failing) == leaked_credentials.MOST_ATTEMPTS
    assert not LeakReport.objects.exists()
    assert "was given up" in caplog.text
