"""Fills a database as a busy project would over a month: clients, keys, people, counted calls, both logs, the trail.

The rows are made in the database, so that millions of them take seconds. Django has to be set up.
"""

from dataclasses import dataclass
from typing import Any

from django.db import connection

from accounts.models import Account
from api.models import ApiKey, RequestLog
from devportal.console.models import SignInEvent
from devportal.lib.credentials import random_text
from oidc.models import Client, ClientSecret, Project, ProjectMember
from tests import factories

CLIENTS = 1000
KEYS = 100
MEMBERS = 20
OTHER_PROJECTS = 49
PEOPLE = 20_000
LOG_ROWS = 100_000
TRAIL_ROWS = 10_000
SIGN_INS = 1_000_000  # counted, in SIGN_IN_DAYS
SIGN_IN_DAYS = 35
CALLS = 10_000_000
DAYS = 30
# Each minute has so many groups of like calls; those of one kind fall together, and two thirds stay.
GROUPS_A_MINUTE = 120


@dataclass(frozen=True)
class Filled:
    """What pages are asked for: the project, its owner, its busiest client, and things of it."""

    owner: Account
    project: Project
    client: Client
    key: ApiKey
    secret: ClientSecret
    member: ProjectMember
    call: RequestLog
    sign_in: SignInEvent  # a refused one


def fill() -> Filled:
    """Make everything, and let the database see how much there is."""
    owner = factories.make_account("owner@example.com")
    project = factories.make_project(owner, name="Busy project")
    client, _ = factories.make_web_client(project, name="Client 0001")
    _make_clients(project)
    keys = [factories.make_key(project, owner)[0] for _ in range(KEYS)]
    for number in range(MEMBERS):
        member = factories.make_account(f"member{number}@example.com")
        ProjectMember.objects.create(project=project, account=member, role=ProjectMember.Role.DEVELOPER)
    for number in range(OTHER_PROJECTS):
        factories.make_client(factories.make_project(owner, name=f"Project {number}"))
    _make_people(project)
    _run("CREATE TEMPORARY TABLE callers AS " + _CALLERS, [project.pk, project.pk])
    _count_calls(project)
    _write_logs(project, client)
    _count_sign_ins(project)
    for table in connection.introspection.table_names():
        _run(f'VACUUM ANALYZE "{table}"')
    found = ProjectMember.objects.filter(project=project).exclude(account=owner).order_by("pk")[0]
    refused = SignInEvent.objects.filter(client=client, outcome=SignInEvent.Outcome.REFUSED).order_by("-pk")[0]
    call = RequestLog.objects.filter(project=project).order_by("-pk")[0]
    return Filled(owner, project, client, keys[0], client.secrets.get(), found, call, refused)


def totals() -> dict[str, int]:
    """Return how much there is of what is measured."""
    names = {
        "clients": "oidc_client",
        "requests logged": "api_requestlog",
        "sign-ins logged": "console_signinevent",
        "rows by minute": "api_usagebucket",
        "rows by hour": "api_usagehour",
        "rows by day": "api_usageday",
        "people's consents": "oidc_connection",
        "steps of sign-ins by hour": "console_signinhour",
        "steps of sign-ins by day": "console_signinday",
    }
    found = {name: _one(f"SELECT count(*) FROM {table}") for name, table in names.items()}
    sums = {_one(f"SELECT sum(count) FROM api_usage{name}") for name in ("bucket", "hour", "day", "total")}
    assert sums == {CALLS}, sums
    return {"calls counted": CALLS} | found


def _make_clients(project: Project) -> None:
    rows = [
        Client(
            project=project,
            type=Client.Type.SPA,
            name=f"Client {number:04}",
            client_id=f"op_client_{random_text(22)}",
            redirect_uris=factories.REDIRECT_URI,
        )
        for number in range(2, CLIENTS + 1)
    ]
    Client.objects.bulk_create(rows)


def _make_people(project: Project) -> None:
    """Have people allow clients, most of them the first ones."""
    accounts = [Account(email=f"person{number}@example.com") for number in range(PEOPLE)]
    Account.objects.bulk_create(accounts, batch_size=2000)
    _run(
        """
        INSERT INTO oidc_connection (account_id, client_id, scopes, first_authorized_at, last_authorized_at)
        SELECT people.id, clients.ids[floor(power(cardinality(clients.ids), random()))::int], 'openid email',
               now() - random() * interval '60 days', now()
        FROM accounts_account AS people,
             (SELECT array_agg(id ORDER BY id) AS ids FROM oidc_client WHERE project_id = %s) AS clients
        WHERE people.email LIKE 'person%%'
        """,
        [project.pk],
    )


# Clients and keys by rank: the first gets the most calls (a rank is drawn evenly on a logarithmic scale).
_CALLERS = """
SELECT row_number() OVER (ORDER BY is_key, id) AS rank, credential, client FROM (
  SELECT id, 0 AS is_key, '' AS credential, client_id AS client FROM oidc_client WHERE project_id = %s
  UNION ALL
  SELECT id, 1, public_id, '' FROM api_apikey WHERE project_id = %s
) AS all_of_them
"""
# Of 100 calls 94 are answered well; a class of latency is drawn as a service has them: few are slow.
_DRAWN = f"""
SELECT minute, floor(power({CLIENTS + KEYS}, random()))::int AS rank,
       CASE WHEN random() < 0.8 THEN 'me' ELSE 'me/plan' END AS endpoint,
       least(floor(-ln(1 - random()) * 1.4), 7)::int AS latency, random() AS luck,
       -- Whole numbers that add up to all calls, exactly.
       (place + 1) * {CALLS}::bigint / {DAYS * 1440 * GROUPS_A_MINUTE} -
       place * {CALLS}::bigint / {DAYS * 1440 * GROUPS_A_MINUTE} AS calls
FROM (
  SELECT date_trunc('minute', now()) - number * interval '1 minute' AS minute,
         number::bigint * {GROUPS_A_MINUTE} + one AS place
  FROM generate_series(0, {DAYS * 1440 - 1}) AS number, generate_series(0, {GROUPS_A_MINUTE - 1}) AS one
) AS places
"""
_KINDS = f"""
SELECT minute, credential, client, endpoint, latency, calls,
       CASE WHEN luck < 0.90 THEN 200 WHEN luck < 0.94 THEN 304 WHEN luck < 0.96 THEN 401
            WHEN luck < 0.98 THEN 403 WHEN luck < 0.995 THEN 429 ELSE 502 END AS status
FROM ({_DRAWN}) AS drawn JOIN callers USING (rank)
"""
_CODES = """
CASE status WHEN 401 THEN 'invalid_token' WHEN 403 THEN 'insufficient_scope' WHEN 429 THEN 'rate_limited'
            WHEN 502 THEN 'upstream_unavailable' ELSE '' END
"""
_CLASSES = ("ms_5", "ms_10", "ms_25", "ms_50", "ms_100", "ms_250", "ms_1000", "ms_more")


def _count_calls(project: Project) -> None:
    by_class = ", ".join(f"coalesce(sum(calls) FILTER (WHERE latency = {place}), 0)" for place in range(len(_CLASSES)))
    columns = f"endpoint, status, code, count, {', '.join(_CLASSES)}"
    _run(
        f"INSERT INTO api_usagebucket (project_id, minute, credential, client, {columns}) "
        f"SELECT %s, minute, credential, client, endpoint, status, {_CODES}, sum(calls), {by_class} "
        f"FROM ({_KINDS}) AS kinds GROUP BY minute, credential, client, endpoint, status",
        [project.pk],
    )
    sums = ", ".join(f"sum({name})" for name in ("count", *_CLASSES))
    for table, unit, who in (
        ("api_usagehour", "hour", "credential, client, "),
        ("api_usageday", "day", "credential, client, "),
        ("api_usagetotal", "hour", ""),
    ):
        kind = f"{who}endpoint, status, code"
        _run(
            f"INSERT INTO {table} (project_id, {unit}, {who}{columns}) "
            f"SELECT project_id, date_trunc('{unit}', minute, 'UTC'), {kind}, {sums} FROM api_usagebucket "
            f"GROUP BY project_id, date_trunc('{unit}', minute, 'UTC'), {kind}"
        )


# Steps of a sign-in, with their errors: which share of them all takes each (oidc/sign_in_counts.py).
_STEPS = """
(VALUES ('started', '', luck < 0.95), ('silent', '', luck >= 0.95), ('shown', '', luck < 0.3),
        ('allowed', '', luck < 0.28), ('cancelled', 'access_denied', luck BETWEEN 0.28 AND 0.29),
        ('skipped', '', luck BETWEEN 0.3 AND 0.93), ('refused', 'login_required', luck > 0.97),
        ('turned_away', 'invalid_request', luck BETWEEN 0.5 AND 0.51), ('issued', '', luck < 0.93),
        ('exchanged', '', luck < 0.92), ('not_exchanged', 'invalid_grant', luck BETWEEN 0.92 AND 0.93),
        ('new_person', '', luck < 0.1), ('returning', '', luck BETWEEN 0.1 AND 0.5), ('refreshed', '', luck < 0.8)
) AS steps (step, error, is_taken)
"""


def _count_sign_ins(project: Project) -> None:
    _run(
        f"""
        INSERT INTO console_signinhour (client_id, hour, step, error, count)
        SELECT id, date_trunc('hour', at, 'UTC'), step, error, count(*)
        FROM (
          SELECT now() - random() * interval '{SIGN_IN_DAYS} days' AS at, random() AS luck,
                 floor(power({CLIENTS}, random()))::int AS rank
          FROM generate_series(1, {SIGN_INS})
        ) AS drawn JOIN (
          SELECT id, row_number() OVER (ORDER BY id) AS rank FROM oidc_client WHERE project_id = %s
        ) AS clients USING (rank), LATERAL {_STEPS}
        WHERE is_taken GROUP BY id, date_trunc('hour', at, 'UTC'), step, error
        """,
        [project.pk],
    )
    _run(
        """
        INSERT INTO console_signinday (client_id, day, step, error, count)
        SELECT client_id, date_trunc('day', hour, 'UTC'), step, error, sum(count) FROM console_signinhour
        GROUP BY client_id, date_trunc('day', hour, 'UTC'), step, error
        """
    )


def _write_logs(project: Project, client: Client) -> None:
    at = f"now() - ({LOG_ROWS} - number) * interval '{DAYS * 86400 / LOG_ROWS} seconds'"
    _run(
        f"""
        INSERT INTO api_requestlog (project_id, at, method, path, status, code, milliseconds, credential, client,
                                    subject, request_id)
        SELECT %s, at, 'GET', '/v1/' || endpoint, status, {_CODES}, latency, credential, client, 'aB3d…9xYz', id
        FROM (
          SELECT number, {at} AS at, 'request-' || number AS id,
                 CASE WHEN number %% 5 = 0 THEN 'me/plan' ELSE 'me' END AS endpoint,
                 CASE WHEN number %% 5000 = 7 THEN 502 WHEN number %% 50 = 3 THEN 401 ELSE 200 END AS status,
                 number %% 90 AS latency,
                 floor(power({CLIENTS + KEYS}, random()))::int AS rank
          FROM generate_series(1, {LOG_ROWS}) AS number
        ) AS drawn JOIN callers USING (rank) ORDER BY number
        """,
        [project.pk],
    )
    _run(
        f"""
        INSERT INTO console_signinevent (client_id, at, endpoint, outcome, error, reason, redirect_uri, request_id)
        SELECT %s, {at}, CASE WHEN number %% 7 = 0 THEN 'token' ELSE 'authorize' END,
               CASE WHEN number %% 10 = 0 THEN 'refused' ELSE 'signed_in' END,
               CASE WHEN number %% 5000 = 0 THEN 'app_full' WHEN number %% 10 = 0 THEN 'invalid_request' ELSE '' END,
               CASE WHEN number %% 10 = 0 THEN 'Differs from a registered one: only the slash at the end.' ELSE '' END,
               'https://app.example.com/callback' || CASE WHEN number %% 10 = 0 THEN '/' ELSE '' END,
               'sign-in-' || number
        FROM generate_series(1, {LOG_ROWS}) AS number
        """,
        [client.pk],
    )
    _run(
        f"""
        INSERT INTO console_auditevent (at, action, actor_email, ip, request_id, project, target, before, after,
                                        details)
        SELECT now() - ({TRAIL_ROWS} - number) * interval '4 minutes', 'client.changed', 'owner@example.com',
               '192.0.2.1', 'trail-' || number, %s, %s, '{{"name": "Before"}}', '{{"name": "After"}}', '{{}}'
        FROM generate_series(1, {TRAIL_ROWS}) AS number
        """,
        [project.public_id, client.client_id],
    )


def _run(sql: str, values: list[Any] | None = None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)


def _one(sql: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return int(cursor.fetchone()[0])
