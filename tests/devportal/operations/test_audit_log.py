"""The audit log: which lines security events become, and that docs/audit-log.md lists all of them."""

import ast
import json
import logging
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from django.test import Client as Browser

from accounts.activity.audit_lines import note_refused
from accounts.activity.kinds import KINDS
from accounts.activity.recording import record
from accounts.models import Account, SecurityEvent
from core import audit_log, clock
from core.audit import Event, report
from core.http import client_ip
from devportal.console.activity import SENTENCES
from devportal.console.models import SignInEvent
from devportal.operations.audit_list import STAFF_ACTIONS
from devportal.review.models import ReviewEntry
from devportal.review.rules.timeline import action_of
from oidc.sign_in_log.steps import ENTRIES, Outcome, Step
from oidc.sign_in_log.steps import report as report_step
from oidc.values.reasons import Reason
from tests.relying_party import RelyingParty

ROOT = Path(__file__).resolve().parents[3]
DOCUMENT = (ROOT / "docs" / "audit-log.md").read_text(encoding="utf-8")
ACTION = re.compile(r"[a-z_]+\.[a-z_]+")
REPORTING = re.compile(r"Event|report_\w+_event|_note|_report")


class Written(logging.Handler):
    """Keeps the lines that were written."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(json.loads(record.getMessage()))


@pytest.fixture
def written(settings: Any) -> Iterator[list[dict[str, Any]]]:
    """The lines of the audit log, which is on."""
    settings.AUDIT_LOG = "stdout"
    logger, handler = logging.getLogger(audit_log.NAME), Written()
    before, logger.handlers = logger.handlers, [handler]
    client_ip.forget()
    yield handler.lines
    logger.handlers = before


def test_an_audit_event_is_a_line_with_ids_only(
    written: list[dict[str, Any]], person: Account, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        report(
            Event(
                "member.role_changed", person.pk, "prj_one", person.email, {"reason": "Ada asked"},
                {"role": "viewer", "name": "Ada"}, {"role": "owner", "urls": ["https://a.example/", "x@a.example"]},
                person=person.pk,
            )
        )  # fmt: skip
    (line,) = written
    assert list(line)[:4] == ["schema", "time", "source", "kind"]
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "schema": 1, "source": "audit", "kind": "member.role_changed", "actor": person.pk, "by": "",
        "account": person.pk, "project": "prj_one", "client": "", "target": "[removed]", "ip": "", "browser": "",
        "request_id": "", "reason": "", "details": {"reason": "[removed]"},
        "before": {"role": "viewer", "name": "[removed]"},
        "after": {"role": "owner", "urls": ["https://a.example/", "[removed]"]},
    }  # fmt: skip


def test_a_switch_adds_personal_data(
    written: list[dict[str, Any]], settings: Any, person: Account, django_capture_on_commit_callbacks: Any
) -> None:
    settings.AUDIT_LOG_PERSONAL = True
    with django_capture_on_commit_callbacks(execute=True):
        report(Event("member.removed", person.pk, "prj_one", "else@example.com", {"reason": "Ada asked"}))
        record(person, "passkey_added", name="Phone of Ada")
    assert [line["personal"] for line in written] == [{"email": person.email}] * 2
    assert written[0]["target"] == "else@example.com"
    assert written[0]["details"] == {"reason": "Ada asked"}
    assert written[1]["details"] == {"name": "Phone of Ada"}


def test_a_change_that_is_rolled_back_has_no_line(
    written: list[dict[str, Any]], person: Account, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        with transaction.atomic():
            report(Event("project.created", person.pk, "prj_one"))
            record(person, "password_changed")
            transaction.set_rollback(True)
        assert written == []
        record(person, "signed_out", by=SecurityEvent.By.OPERATOR)
        assert written == []
    assert [(line["kind"], line["by"], line["actor"]) for line in written] == [("signed_out", "operator", None)]


def test_without_the_setting_nothing_is_written(
    written: list[dict[str, Any]], settings: Any, person: Account, django_capture_on_commit_callbacks: Any
) -> None:
    settings.AUDIT_LOG = ""
    with django_capture_on_commit_callbacks(execute=True):
        report(Event("project.created", person.pk, "prj_one"))
        record(person, "password_changed")
        report_step(Step.REFUSED, "op_client_one", error="invalid_scope", reason=Reason.SCOPE_UNKNOWN)
    assert written == []


def test_wrong_passwords_are_lines_with_the_request(written: list[dict[str, Any]], person: Account) -> None:
    browser = Browser()
    for email in (person.email, "nobody@example.com"):
        response = browser.post("/account/login/", {"login": email, "password": "wrong"}, REMOTE_ADDR="203.0.113.9")
        line = written.pop()
        assert (line["source"], line["kind"], line["reason"], line["ip"]) == (
            "refusal", "password", "wrong", "203.0.113.9",
        )  # fmt: skip
        assert line["request_id"] == response["X-Request-ID"]
        assert line["account"] == (person.pk if email == person.email else None)
        assert "@" not in json.dumps(line)


def test_limited_passwords_are_lines_too(written: list[dict[str, Any]], settings: Any, person: Account) -> None:
    settings.GUESSES_PER_ACCOUNT_AND_ADDRESS = 1
    for _ in range(2):
        Browser().post("/account/login/", {"login": person.email, "password": "wrong"})
    assert [line["reason"] for line in written] == ["wrong", "limited"]


def test_a_flood_of_refusals_is_bounded(
    written: list[dict[str, Any]], settings: Any, person: Account, rf: Any, stopped_clock: None
) -> None:
    settings.REFUSALS_LOGGED_PER_MINUTE = 3
    for _ in range(5):
        note_refused(rf.post("/"), "code", "limited", person)
    assert 1 <= len(written) <= 3


def test_only_refused_steps_of_apps_are_lines(written: list[dict[str, Any]], db: None) -> None:
    report_step(Step.EXCHANGED, "op_client_one")
    report_step(
        Step.NOT_EXCHANGED, "op_client_one", error="invalid_grant", reason="code_expired",
        redirect_uri="https://a.example/?code=secretsecret", parameters={"name": "Ada"},
    )  # fmt: skip
    (line,) = written
    assert (line["source"], line["kind"], line["reason"]) == ("app_sign_in", "token.refused", "code_expired")
    assert line["client"] == "op_client_one"
    assert line["details"]["error"] == "invalid_grant"
    assert "secretsecret" not in json.dumps(line)
    assert "Ada" not in json.dumps(line)


def test_a_day_can_be_exported(
    written: list[dict[str, Any]],
    person: Account,
    web_app: RelyingParty,
    tmp_path: Path,
    django_capture_on_commit_callbacks: Any,
) -> None:
    client_ip.forget()
    with django_capture_on_commit_callbacks(execute=True):
        record(person, "password_changed")
        report(Event("project.renamed", person.pk, "prj_one", after={"name": "New"}))
    SignInEvent.objects.create(
        client=web_app.client,
        at=clock.now(),
        endpoint="token",
        outcome=Outcome.REFUSED,
        error="invalid_grant",
        request_id="x",
    )
    file, today = tmp_path / "day.jsonl", clock.now().date()
    call_command("export_audit", today.isoformat(), to=str(file))
    lines = [json.loads(text) for text in file.read_text(encoding="utf-8").splitlines()]
    assert file.stat().st_mode & 0o777 == 0o600
    mine = [line for line in lines if line["kind"] in ("password_changed", "project.renamed", "token.refused")]
    assert mine[:2] == written
    assert (mine[2]["client"], mine[2]["kind"]) == (web_app.client.client_id, "token.refused")
    with pytest.raises(CommandError, match="can't be created"):
        call_command("export_audit", today.isoformat(), to=str(file))
    with pytest.raises(CommandError, match="is not a day"):
        call_command("export_audit", "yesterday")


def reported() -> set[str]:
    """Return the actions that calls in the source report, with * for a part that is computed."""
    found = {*SENTENCES, *STAFF_ACTIONS, *(action_of(kind) for kind in ReviewEntry.Kind.values)}
    tops = ("accounts", "api", "core", "devportal", "oidc")
    for path in (path for top in tops for path in (ROOT / top).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        constants = {
            node.targets[0].id: node.value
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and node.args:
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                given = constants.get(getattr(node.args[0], "id", ""), node.args[0])
                found |= set(_actions(given)) if REPORTING.fullmatch(name) else set()
    return found


def _actions(given: ast.expr) -> Iterator[str]:
    if isinstance(given, ast.JoinedStr):
        text = "".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in given.values)
        if re.fullmatch(r"[a-z_]+\.[a-z_]*\*", text):
            yield text
        return
    for node in ast.walk(given):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and ACTION.fullmatch(node.value):
            yield node.value


def documented(heading: str) -> list[str]:
    section = DOCUMENT.partition(f"### {heading}\n")[2].partition("\n#")[0]
    return re.findall(r"`([^`]+)`", section)


def test_the_docs_list_every_activity() -> None:
    assert sorted(documented("activity")) == sorted(KINDS)


def test_the_docs_list_every_audit_event() -> None:
    listed, found = set(documented("audit")), reported()
    computed = {name for name in found if name.endswith("*")}
    covered = {name for name in found if name.startswith(tuple(name[:-1] for name in computed & listed))}
    assert found - computed - listed - covered == set()
    assert listed - found == set()


def test_the_docs_list_every_refused_step_and_every_field() -> None:
    steps = {f"{endpoint}.{outcome}" for endpoint, outcome in ENTRIES.values() if outcome == Outcome.REFUSED}
    assert all(f"`{step}`" in DOCUMENT for step in steps)
    table = DOCUMENT.partition("## Fields")[2].partition("\n## ")[0]
    first = " ".join(line.split("|")[1] for line in table.splitlines() if line.startswith("| `"))
    assert set(re.findall(r"`(\w+)`", first)) == {"schema", *(each.name for each in fields(audit_log.Line))}
