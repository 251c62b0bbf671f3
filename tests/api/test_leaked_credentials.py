"""What becomes of a credential that was reported as leaked, by a scanner or on the page."""

import re
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings as declared
from django.test import Client as Browser

from accounts.models import Account
from api import leaked_credentials
from api.keys import revoke_key
from api.models import ApiKey, LeakReport
from api.tasks import handle_leak_reports
from core import clock
from devportal.console.models import AuditEvent
from oidc.apis.credentials import create_credential
from oidc.clients.secrets import end_secret
from oidc.models import ApiCredential, Client, ClientSecret, Project
from oidc.projects.lifecycle import delete_project
from tests.api.scanning import FOUND_AT, ScannerKey, entry, leaks_heard, paste, send
from tests.factories import make_api, make_key, make_project, make_web_client

pytestmark = pytest.mark.django_db


@pytest.fixture
def flagging(settings: Any) -> None:
    settings.LEAKED_CREDENTIALS = "flag"


def trail() -> list[tuple[str, str]]:
    rows = AuditEvent.objects.filter(action__contains=".leaked").order_by("pk")
    return list(rows.values_list("action", "target"))


def calls(raw: str) -> int:
    return Browser().get("/v1/me", headers={"Authorization": f"Bearer {raw}"}).status_code


def test_a_reported_key_is_revoked(scanner: ScannerKey) -> None:
    key, raw = make_key(name="Nightly job")
    assert calls(raw) == 200
    response = send(scanner, [entry(raw)])
    assert (response.status_code, [each["label"] for each in response.json()]) == (200, ["true_positive"])
    with leaks_heard() as heard:
        assert handle_leak_reports() == 1
    assert calls(raw) == 401
    key.refresh_from_db()
    assert key.revoked_at == key.leaked_at is not None
    assert heard == [
        {
            "project": key.project,
            "client": None,
            "credential": "api_key",
            "label": "Nightly job",
            "revoked": True,
            "source": "github",
            "url": FOUND_AT,
        }
    ]
    event = AuditEvent.objects.get(action="api_key.leaked_revoked")
    assert (event.project, event.target, event.actor) == (key.project.public_id, key.public_id, None)
    assert event.details == {"source": "github", "url": FOUND_AT, "name": "Nightly job"}
    assert not LeakReport.objects.exists()


def test_a_reported_secret_is_revoked(scanner: ScannerKey) -> None:
    client, raw = make_web_client()
    send(scanner, [entry(raw, type="openport_client_secret")])
    with leaks_heard() as heard:
        handle_leak_reports()
    secret = ClientSecret.objects.get()
    assert secret.ended_at == secret.leaked_at is not None
    assert [(each["client"], each["credential"], each["label"], each["revoked"]) for each in heard] == [
        (client, "client_secret", raw[-4:], True)
    ]
    assert trail() == [("client_secret.leaked_revoked", client.client_id)]


def test_a_pasted_key_is_revoked() -> None:
    key, raw = make_key()
    assert paste(f'  API_KEY="{raw}"\n').status_code == 302
    with leaks_heard() as heard:
        handle_leak_reports()
    key.refresh_from_db()
    assert key.revoked_at is not None
    assert [(each["source"], each["url"]) for each in heard] == [("web form", "")]


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
    assert ClientSecret.objects.get().ended_at is not None


def test_a_secret_with_a_former_prefix_is_found(settings: Any) -> None:
    _, raw = make_web_client()
    settings.CLIENT_SECRET_PREFIX = "acme_secret_"
    paste(raw)
    handle_leak_reports()
    assert ClientSecret.objects.get().ended_at is not None


def test_flagged_credentials_keep_working(scanner: ScannerKey, flagging: None) -> None:
    key, raw = make_key()
    client, secret = make_web_client(key.project)
    send(scanner, [entry(raw), entry(secret)])
    with leaks_heard() as heard:
        assert handle_leak_reports() == 2
    assert calls(raw) == 200
    key.refresh_from_db()
    assert (key.revoked_at, key.leaked_at is not None) == (None, True)
    row = ClientSecret.objects.get()
    assert (row.ended_at, row.leaked_at is not None) == (None, True)
    assert [each["revoked"] for each in heard] == [False, False]
    assert sorted(trail()) == [
        ("api_key.leaked_flagged", key.public_id),
        ("client_secret.leaked_flagged", client.client_id),
    ]


@pytest.mark.parametrize("setting", ["revoke", "flag"])
def test_a_further_report_changes_nothing(scanner: ScannerKey, settings: Any, setting: str) -> None:
    settings.LEAKED_CREDENTIALS = setting
    key, raw = make_key()
    first = send(scanner, [entry(raw)])
    handle_leak_reports()
    key.refresh_from_db()
    before, events = (key.revoked_at, key.leaked_at), trail()
    with leaks_heard() as heard:
        again = send(scanner, [entry(raw)])
        paste(raw)
        assert handle_leak_reports() == 2
    key.refresh_from_db()
    assert ((key.revoked_at, key.leaked_at), trail(), heard) == (before, events, [])
    assert first.json() == again.json()


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


def test_keys_that_have_ended_are_only_recorded(scanner: ScannerKey) -> None:
    expired, one = make_key(expires_at=clock.now())
    revoked, other = make_key(expired.project)
    revoke_key(revoked)
    _, secret = make_web_client(expired.project)
    end_secret(ClientSecret.objects.get())
    ends = list(ApiKey.objects.order_by("pk").values_list("revoked_at")), ClientSecret.objects.get().ended_at
    response = send(scanner, [entry(each) for each in (one, other, secret)])
    assert {each["label"] for each in response.json()} == {"true_positive"}
    with leaks_heard() as heard:
        handle_leak_reports()
    assert heard == []
    assert sorted(action for action, _ in trail()) == [
        "api_key.leaked_ended", "api_key.leaked_ended", "client_secret.leaked_ended",
    ]  # fmt: skip
    assert ends == (list(ApiKey.objects.order_by("pk").values_list("revoked_at")), ClientSecret.objects.get().ended_at)


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


@pytest.mark.parametrize("setting", ["revoke", "flag"])
def test_credentials_of_the_companys_apis_are_only_flagged(
    scanner: ScannerKey, settings: Any, setting: str, caplog: Any
) -> None:
    settings.LEAKED_CREDENTIALS = setting
    row, raw = create_credential(make_api())
    send(scanner, [entry(raw)])
    with leaks_heard() as heard:
        handle_leak_reports()
    row = ApiCredential.objects.get()
    assert (row.revoked_at, row.leaked_at is not None, heard) == (None, True, [])
    assert trail() == [("api_credential.leaked_flagged", row.public_id)]
    (record,) = [each for each in caplog.records if each.levelname == "ERROR"]
    assert row.public_id in record.getMessage()
    assert raw not in caplog.text


def test_a_failure_leaves_its_report_for_another_run(scanner: ScannerKey, monkeypatch: Any, later: Any) -> None:
    first, one = make_key()
    _second, other = make_key(first.project)
    send(scanner, [entry(one), entry(other)])
    real = leaked_credentials._key_leaked

    def fail(key: ApiKey, found: LeakReport) -> Any:
        if key.pk == first.pk:
            raise RuntimeError
        return real(key, found)

    monkeypatch.setattr(leaked_credentials, "_key_leaked", fail)
    assert handle_leak_reports() == 1
    assert (LeakReport.objects.count(), ApiKey.objects.get(pk=first.pk).revoked_at) == (1, None)
    monkeypatch.setattr(leaked_credentials, "_key_leaked", real)
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
    revoke_key(key)
    assert "was reported as leaked" not in signed_in.get(place).content.decode()


def test_the_console_marks_a_leaked_secret(flagging: None, signed_in: Browser, person: Account) -> None:
    client, raw = make_web_client(make_project(person))
    place = f"/console/p/{client.project.public_id}/clients/{client.client_id}/secrets"
    paste(raw)
    handle_leak_reports()
    page = signed_in.get(place).content.decode()
    assert f"…{raw[-4:]} was reported as leaked" in page
    assert f'href="{place}/{ClientSecret.objects.get().pk}/rotate"' in page
    end_secret(ClientSecret.objects.get())
    page = signed_in.get(place).content.decode()
    assert f"…{raw[-4:]} was reported as leaked" not in page
    assert "and was reported as leaked" in page


def test_the_activity_says_why_a_credential_ended(signed_in: Browser, person: Account) -> None:
    client, secret = make_web_client(make_project(person))
    _, key = make_key(client.project)
    paste(f"{secret} {key}")
    handle_leak_reports()
    page = signed_in.get(f"/console/p/{client.project.public_id}/activity").content.decode()
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
