"""Events are queued and sent by indexes: as few rows are read among many as among some (PostgreSQL)."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Account
from oidc.events import sending
from oidc.events.causes import tell_removed
from oidc.events.queueing import end_app_sessions, queue_for_account, sessions_of
from oidc.models import Connection, Delivery, EventReceiver
from oidc.values.event_types import EventType
from tests.factories import make_account, make_client, make_project

pytestmark = [pytest.mark.postgres, pytest.mark.django_db]

PEOPLE, FAMILIES, DELIVERIES = 2_500, 8, 8
APPS = 100
# The most rows that one statement may read, a whole small table of receivers included.
FEW = 40 + 2 * APPS
PAGE = 40
_ACCOUNTS = """
    INSERT INTO accounts_account
        (password, is_superuser, email, email_verified, given_name, picture, is_active, is_staff, created_at,
         session_stamp)
    SELECT '', false, 'p' || i || '@example.com', true, '', '', true, false, now(), '' FROM generate_series(1, %s) i
"""
_SUBJECTS = """
    INSERT INTO accounts_pairwisesubject (account_id, sector, sub, picture_key, created_at)
    SELECT id, 'sector', 'sub' || id, 'pk' || id, now() FROM accounts_account
"""
_CONNECTIONS = """
    INSERT INTO oidc_connection
        (scopes, left_out, joined_outside_review, first_authorized_at, last_authorized_at, account_id, client_id,
         subject_id)
    SELECT 'openid email', '', false, now(), now(), s.account_id, c.id, s.id
    FROM accounts_pairwisesubject s JOIN (SELECT id, row_number() OVER () - 1 AS n FROM oidc_client) c
        ON c.n IN (s.id %% %s, (s.id + 1) %% %s)
"""
_FAMILIES = """
    INSERT INTO oidc_family
        (scope, nonce, auth_time, amr, created_at, revocation_reason, revocation_note, connection_id, sid, session_tag)
    SELECT 'openid', '', now(), '["pwd"]', now(), '', '', c.id, 'sid' || c.id || '-' || n,
        CASE WHEN n = 1 THEN 'tag' || c.account_id WHEN n = 2 THEN 'other' || c.account_id ELSE '' END
    FROM oidc_connection c, generate_series(1, %s) n
"""
_DELIVERIES = """
    INSERT INTO oidc_delivery
        (receiver_id, event, jti, connection_id, sub, sid, details, happened_at, state, not_before, attempts, tries,
         answer)
    SELECT r.id, 'session-revoked', 'jti' || c.id || '-' || n || r.channel, c.id, 'sub' || c.account_id, '', '{}',
        now(), CASE (c.id + n) %% 50 WHEN 0 THEN 'failed' WHEN 1 THEN 'waiting' ELSE 'delivered' END, now(), 0, '[]', ''
    FROM oidc_connection c JOIN oidc_eventreceiver r USING (client_id), generate_series(1, %s) n
"""


@pytest.fixture
def person() -> Account:
    """One of many people, each with two apps and several families at them; most receivers are paused."""
    project = make_project(make_account("dana@example.com"))
    clients = [make_client(project, name=f"App {number}") for number in range(APPS)]
    EventReceiver.objects.bulk_create(
        EventReceiver(client=client, channel=channel, url="https://a.example/", types="")
        for client in clients
        for channel in ("logout", "events")
    )
    with connection.cursor() as cursor:
        cursor.execute(_ACCOUNTS, [PEOPLE])
        cursor.execute(_SUBJECTS)
        cursor.execute(_CONNECTIONS, [APPS, APPS])
        cursor.execute(_FAMILIES, [FAMILIES])
        cursor.execute(_DELIVERIES, [DELIVERIES])
        cursor.execute("ANALYZE")
    return Account.objects.get(email=f"p{PEOPLE // 2}@example.com")


def most_read(action: Callable[[], Any]) -> tuple[int, str]:
    """Return how many rows the statement of an action reads that reads most, and that statement."""
    with CaptureQueriesContext(connection) as queries:
        action()
    asked = [each["sql"] for each in queries if each["sql"].startswith(("SELECT", "UPDATE"))]
    assert asked
    return max((_rows_read(sql), sql) for sql in asked)


def _rows_read(statement: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}")
        (found,) = cursor.fetchone()
    plans: Any = json.loads(found) if isinstance(found, str) else found
    return _scanned(plans[0]["Plan"])


def _scanned(plan: dict[str, Any]) -> int:
    removed = plan.get("Rows Removed by Filter", 0) + plan.get("Rows Removed by Index Recheck", 0)
    own = int((plan["Actual Rows"] + removed) * plan["Actual Loops"]) if "Scan" in plan["Node Type"] else 0
    return own + sum(_scanned(part) for part in plan.get("Plans", []))


def _check(few: int, actions: dict[str, Callable[[], Any]]) -> None:
    found = {name: most_read(action) for name, action in actions.items()}
    assert {name: read for name, (read, _) in found.items() if read > few} == {}, found


def test_causes_read_what_belongs_to_the_person_or_session(person: Account) -> None:
    first, _ = Connection.objects.filter(account=person)
    _check(
        FEW,
        {
            "a session ends": lambda: end_app_sessions(sessions_of(None, [f"tag{person.pk}"], "")),
            "an app is removed": lambda: tell_removed(first),
            "all sessions end": lambda: end_app_sessions(sessions_of(person, None, "")),
            "an event of the account": lambda: queue_for_account(EventType.SESSIONS_REVOKED, person),
        },
    )
    assert Delivery.objects.filter(sub=f"sub{person.pk}", event="logout").count() == 4


def test_senders_read_what_they_send(person: Account) -> None:
    receiver = EventReceiver.objects.all()[APPS]
    for_each = 4 * 2 * APPS  # a receiver, its client and project, and one delivery
    _check(
        FEW + for_each,
        {
            "due receivers": sending.due_receivers,
            "the oldest": sending.oldest_due,
            "claim": lambda: sending._claim(receiver.pk),  # all clients are read only while there are few
        },
    )
    _check(5, {"next": lambda: Delivery.objects.due().filter(receiver=receiver.pk).first()})


def test_lists_read_one_page(person: Account) -> None:
    rows, receiver = Delivery.objects.order_by("-pk"), EventReceiver.objects.all()[APPS]
    _check(
        6 * PAGE,  # an index may be read before the rows that it names
        {
            "of a person": lambda: list(rows.filter(sub=f"sub{person.pk}")[:PAGE]),
            "of a receiver": lambda: list(rows.filter(receiver=receiver)[:PAGE]),
            "failed, of a receiver": lambda: list(rows.filter(receiver=receiver, state="failed")[:PAGE]),
            "of a consent": lambda: list(rows.filter(connection__account=person)[:PAGE]),
        },
    )
    _check(60 * PAGE, {"failed, 1 of 50": lambda: list(rows.filter(state="failed")[:PAGE])})
