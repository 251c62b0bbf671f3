"""Malformed requests to the token and revocation endpoints: they are logged for the client that they name.

The client is not authenticated, so the entries are bounded, counted nowhere, and hold no credential.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import Account
from api import usage_counts
from core import clock
from core.limits import counters
from devportal.console.logs import sign_in_writer
from devportal.console.models import SignInEvent, SignInHour
from oidc.models import Client, ProjectMember
from oidc.values.reasons import Reason
from tests.relying_party import FORM, RelyingParty, basic

TOKEN, REVOKE = "/connect/token", "/connect/revoke"
SECRET = "op_secret_" + "s" * 43
Mover = Callable[[float], None]


def entries() -> list[SignInEvent]:
    usage_counts.flush_usage()
    return list(SignInEvent.objects.order_by("pk"))


def send(body: str, path: str = TOKEN, content_type: str = FORM, **headers: str) -> Any:
    return Browser().post(path, body, content_type=content_type, headers=headers)


def mistakes(client_id: str) -> list[tuple[Reason, str, dict[str, str]]]:
    """Return requests that name a client: the reason of the refusal, the body, and other arguments of `send`."""
    header = {"Authorization": basic(client_id, SECRET)}
    code = f"grant_type=authorization_code&code=x&client_id={client_id}"
    return [
        (Reason.BODY_TYPE, json.dumps({"client_id": client_id, "code": "x"}), {"content_type": "application/json"}),
        (Reason.BODY_TYPE, "", {"content_type": "multipart/form-data; boundary=x"} | header),
        (Reason.GRANT_TYPE_MISSING, f"code=x&client_id={client_id}", {}),
        (Reason.GRANT_TYPE_UNSUPPORTED, f"grant_type=password&client_id={client_id}", {}),
        (Reason.GRANT_TYPE_UNSUPPORTED, "grant_type=client_credentials", header),
        (Reason.GRANT_TYPE_UNSUPPORTED, "grant_type=openid&code=x", header),
        (Reason.TWO_WAYS, f"{code}&client_secret={SECRET}", header),
        (Reason.PARAMETER_UNCLEAR, f"{code}&code=y", {}),
        (Reason.PARAMETER_UNCLEAR, f"{code}&state=%FF", {}),
        (Reason.QUERY_SENT, "", {"path": f"{TOKEN}?{code}&client_secret={SECRET}"}),
        (Reason.CODE_MISSING, f"grant_type=authorization_code&client_id={client_id}", {}),
        (Reason.REFRESH_TOKEN_MISSING, "grant_type=refresh_token", header),
        (Reason.HEADER_UNREADABLE, code, {"Authorization": "Bearer x"}),
        (Reason.TWO_CLIENT_IDS, code.replace(client_id, "op_client_other"), header),
        (Reason.BODY_NOT_ENCODED, "code=ü", header),
        (Reason.TOKEN_MISSING, "token_type_hint=refresh_token", {"path": REVOKE} | header),
        (Reason.BODY_TYPE, json.dumps({"client_id": client_id}), {"path": REVOKE, "content_type": "application/json"}),
    ]


def test_each_mistake_is_logged_with_its_reason(web_app: RelyingParty) -> None:
    for reason, body, more in mistakes(web_app.client.client_id):
        response = send(body, **more)
        assert response.status_code in (400, 401), reason
        (entry,) = entries()
        assert (entry.client, entry.reason, entry.outcome) == (web_app.client, reason, "refused"), (body, more)
        assert entry.endpoint == ("revoke" if more.get("path") == REVOKE else "token")
        assert entry.error == response.json()["error"]
        entry.delete()


def test_nothing_that_was_sent_is_stored_but_the_client_id(web_app: RelyingParty) -> None:
    client_id = web_app.client.client_id
    for _, body, more in mistakes(client_id):
        send(body, **more)
    send("grant_type=x", Authorization=basic(SECRET, client_id))  # the wrong way round
    send(f"grant_type=x&client_id={SECRET}")
    held = counters.counters()
    waiting = json.dumps([*held._entries, *held.local._entries])
    assert client_id in waiting
    assert SECRET not in waiting
    assert "s" * 43 not in waiting


def test_they_run_no_sql_whether_or_not_the_client_exists(web_app: RelyingParty) -> None:
    for client_id in (web_app.client.client_id, "op_client_" + "x" * 22):
        for reason, body, more in mistakes(client_id):
            if reason not in (Reason.TWO_WAYS, Reason.TWO_CLIENT_IDS):
                with CaptureQueriesContext(connection) as queries:
                    send(body, **more)
                assert not queries.captured_queries, reason


@pytest.mark.parametrize(
    "body",
    [
        "[" * 16_000,
        '{"client_id": ["op_client_x"]}',
        '{"client_id": "op_client_\\ud800"}',
        "{",
        json.dumps({"client_id": "op_client_x", "more": "x" * 20_000}),
    ],
)
def test_odd_json_harms_nothing(body: str, db: None) -> None:
    assert send(body, content_type="application/json").json()["error"] == "invalid_request"
    assert entries() == []


def test_unknown_clients_leave_no_entry(db: None) -> None:
    for _, body, more in mistakes("op_client_" + "x" * 22):
        send(body, **more)
    assert entries() == []


def test_they_are_not_counted_for_the_client(spa: Client) -> None:
    send(f"grant_type=x&client_id={spa.client_id}")
    assert len(entries()) == 1
    assert not SignInHour.objects.exists()


def test_a_stranger_writes_no_more_entries_than_the_limit_allows(spa: Client, settings: Any, later: Mover) -> None:
    settings.FAILURES_PER_MINUTE = 3
    later(60 - clock.now().timestamp() % 60)
    statuses = [send(f"grant_type=x&client_id={spa.client_id}").status_code for _ in range(6)]
    assert statuses == [400] * 3 + [429] * 3
    assert len(entries()) == 3


def test_many_names_fill_no_queue(spa: Client, settings: Any, later: Mover, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.FAILURES_PER_MINUTE = 1000
    monkeypatch.setattr(sign_in_writer, "_MOST_CLAIMED", 5)
    later(60 - clock.now().timestamp() % 60)
    for number in range(9):
        send(f"grant_type=x&client_id=op_client_{number}")
    waiting = [entry for _, _, finished in counters.counters().drain() for entry in finished.entries]
    assert len(waiting) == 5


def test_the_entry_says_that_the_client_was_not_authenticated(spa: Client, person: Account, signed_in: Browser) -> None:
    ProjectMember.objects.get_or_create(account=person, project=spa.project, defaults={"role": "viewer"})
    send(f"grant_type=password&client_id={spa.client_id}")
    (entry,) = entries()
    path = reverse("console:sign_in_detail", args=[spa.project.public_id, spa.client_id, entry.pk])
    page = signed_in.get(path).content.decode()
    assert "before the app was authenticated" in page
    assert "unsupported_grant_type" in page
