"""The steps beside one are found by indexes: as many rows are read with a long log as with a short one (PostgreSQL)."""

import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from devportal.console.logs.sign_in_log import NEARBY, family_steps, request_steps
from devportal.console.models import SignInEvent
from oidc.models import Client
from tests.factories import make_client

pytestmark = [pytest.mark.postgres, pytest.mark.django_db]
ROWS = 60_000
_FILL = """
    INSERT INTO console_signinevent
        (client_id, project_id, at, endpoint, outcome, step, error, reason, parameters, redirect_uri, request_id,
         family)
    SELECT c.id, c.project_id, now() - interval '20 days' + i * interval '20 second',
        'token', 'refreshed', '', '', '', '{}', '', 'r' || i, i / 40
    FROM generate_series(1, %s) i JOIN oidc_client c ON c.id = CASE WHEN i %% 3 = 0 THEN %s::int ELSE %s END
"""


@pytest.fixture
def long_log() -> Client:
    client, other = make_client(), make_client()
    with connection.cursor() as cursor:
        cursor.execute(_FILL, [ROWS, other.pk, client.pk])
        cursor.execute("ANALYZE console_signinevent")
    return client


def rows_read(statement: str) -> int:
    """Return how many rows a statement reads, whether it keeps them or not."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}")
        (found,) = cursor.fetchone()
    plans: Any = json.loads(found) if isinstance(found, str) else found
    return _scanned(plans[0]["Plan"])


def _scanned(plan: dict[str, Any]) -> int:
    removed = plan.get("Rows Removed by Filter", 0)
    own = int((plan["Actual Rows"] + removed) * plan["Actual Loops"]) if "Scan" in plan["Node Type"] else 0
    return own + sum(_scanned(part) for part in plan.get("Plans", []))


def test_steps_are_found_without_reading_the_log(long_log: Client) -> None:
    event = SignInEvent.objects.get(client=long_log, request_id=f"r{ROWS // 2 + 2}")
    with CaptureQueriesContext(connection) as queries:
        found = family_steps(event)
        assert request_steps(event) == []
    assert {each.family for each in found} == {event.family}
    assert len(found) > 10
    read = [rows_read(query["sql"]) for query in queries]
    assert len(read) == 5
    # An index may be read before the rows that it names.
    assert max(read) <= 2 * NEARBY + 100, read
