"""Rows of a large service for benchmarks/row_sizes.py. Each table is filled by one SQL statement."""

import sys
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import connection
from django.db.models import Field, Model

from accounts.models import (
    Account,
    Family,
    Invitation,
    Organization,
    OrganizationMember,
    Outbox,
    PairwiseSubject,
    Plan,
    Subscription,
)
from api.models import ApiKey, RequestLog
from core import clock
from core.database import partitions
from devportal.console.models import AuditEvent, SignInEvent
from devportal.review.models import AppReview, ReviewEntry
from oidc.models import AccessToken, Client, Connection, Project, ProjectMember, RefreshToken
from oidc.models import TokenFamily as TokenFamily

NOW = "now()"
# The time of row n: the rows are spread over the last 30 days, the last one is from now.
DAYS = 30
THEN = f"now() - ({{count}} - n) * interval '{DAYS} days' / {{count}}"


@dataclass(frozen=True)
class Sizes:
    """How many rows of each kind there are."""

    people: int = 1_000_000
    tokens: int = 5_000_000
    log: int = 1_000_000

    @property
    def projects(self) -> int:
        return max(self.people // 100, 10)

    @property
    def clients(self) -> int:
        return 2 * self.projects


def _default(field: "Field[Any, Any]") -> str:
    if field.null:
        return "NULL"
    kind = field.get_internal_type()
    if kind == "BooleanField":
        return "false"
    if kind == "DateTimeField":
        return THEN
    if kind == "JSONField":
        return "'[]'" if field.default is list else "'{}'"
    return "0" if "Integer" in kind or kind == "FloatField" else "''"


def insert(model: type[Model], count: int, /, **expressions: str) -> None:
    """Insert `count` rows in one statement. `n` counts from 1. Fields without an expression get an empty value."""
    own = {str(field.column): field for field in model._meta.concrete_fields if not field.primary_key}
    by_column = {model._meta.get_field(name).column: text for name, text in expressions.items()}  # type: ignore[union-attr]
    values = [by_column.get(column, _default(field)).replace("{count}", str(count)) for column, field in own.items()]
    quote = connection.ops.quote_name
    table = quote(model._meta.db_table)
    with connection.cursor() as cursor:
        started = time.perf_counter()
        cursor.execute(
            f"INSERT INTO {table} ({', '.join(map(quote, own))}) "
            f"SELECT {', '.join(values)} FROM generate_series(1, {count}) AS n"
        )
        cursor.execute(f"ANALYZE {table}")
        print(f"{count:,} rows of {table} in {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)


def first_key(model: type[Model]) -> int:
    key = model._default_manager.order_by("pk").values_list("pk", flat=True).first()
    assert isinstance(key, int)
    return key


def fill(sizes: Sizes) -> None:
    """Create all rows without triggers that check foreign keys, because the expressions only produce valid keys."""
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica; SET synchronous_commit = off")
    _fill(sizes)
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = DEFAULT")
        cursor.execute("VACUUM ANALYZE")


def _fill(sizes: Sizes) -> None:
    """Create the rows.

    Half of the rows with a client belong to the first client, and half of the seats to one organization.
    """
    _people(sizes)
    person, project = first_key(Account), None
    _projects(sizes, person)
    client, project = first_key(Client), first_key(Project)
    one_of = f"{client} + CASE WHEN n % 2 = 0 THEN 0 ELSE n % {sizes.clients} END"
    someone = f"{person} + n % {sizes.people}"
    insert(Connection, sizes.people, account=f"{person} + n - 1", client=one_of, scopes="'openid email'")
    family = first_key(Connection)
    insert(TokenFamily, sizes.people, connection=f"{family} + n - 1", scope="'openid email'", amr="'[\"pwd\"]'")
    first = first_key(TokenFamily)
    whose = {
        "family": f"{first} + n % {sizes.people}",
        "user": someone,
        "application": one_of,
        "scope": "'openid email'",
        "expires": "now() + interval '10 minutes'",
    }
    insert(AccessToken, sizes.tokens, **whose, token_checksum="encode(sha256(n::text::bytea), 'hex')")
    del whose["scope"]
    insert(RefreshToken, sizes.people, **whose, token_checksum="encode(sha256(n::text::bytea), 'hex')")
    _logs(sizes, person, project, client)
    _reviews(sizes, person, project, client)


def _people(sizes: Sizes) -> None:
    insert(
        Account, sizes.people, email="'user' || n || '@example.com'", given_name="'Given ' || n", is_active="true",
        email_verified="n % 10 > 0", family_name="'Family ' || n", password="'!x'",
    )  # fmt: skip
    person = first_key(Account)
    insert(
        PairwiseSubject, sizes.people, account=f"{person} + n - 1", sector="'prj_x'",
        sub="md5(n::text)", picture_key="md5('p' || n::text)",
    )  # fmt: skip
    plan = Plan.objects.create(plan_id="plus", display_name="Plus", rank=10).pk
    insert(Family, sizes.people // 10, owner=f"{person} + n - 1")
    insert(Organization, sizes.people // 100, name="'Organization ' || n")
    organization = first_key(Organization)
    seat = f"{organization} + CASE WHEN n % 2 = 0 THEN 0 ELSE n % {sizes.people // 100} END"
    insert(OrganizationMember, sizes.people // 2, account=f"{person} + n - 1", organization=seat)
    insert(
        Subscription, sizes.people // 2, account=f"{person} + n - 1", plan=str(plan),
        state="CASE WHEN n % 1000 = 0 THEN 'PastDue' ELSE 'Active' END",
    )  # fmt: skip
    insert(
        Invitation, sizes.people // 10, organization=f"{organization} + n % 100", email="'guest' || n || '@example.com'"
    )
    insert(
        Outbox, sizes.people // 5, to="'user' || n || '@example.com'", subject="'Hello'", body="'Hello'",
        message_id="'<' || n || '@x>'", sent_at=NOW,
    )  # fmt: skip


def _projects(sizes: Sizes, person: int) -> None:
    insert(Project, sizes.projects, public_id="'prj_' || left(md5(n::text), 22)", name="'Project ' || n")
    project = first_key(Project)
    insert(
        ProjectMember, sizes.projects, project=f"{project} + n - 1", account=f"{person} + n - 1", role="'owner'",
    )  # fmt: skip
    insert(
        Client, sizes.clients, project=f"{project} + n / 2 % {sizes.projects}", name="'App ' || n", type="'spa'",
        name_reading="'app' || n", client_id="'op_client_' || left(md5(n::text), 22)", enabled="true",
        redirect_uris="'https://app' || n || '.example.com/callback'",
        verified_at="CASE WHEN n % 10 = 1 THEN now() END",
    )  # fmt: skip
    subject = first_key(PairwiseSubject)
    insert(
        ApiKey, sizes.people // 10, project=f"{project} + n % {sizes.projects}", owner=f"{person} + n - 1",
        subject=f"{subject} + n - 1", public_id="left(md5(n::text), 12)", last_four="'abcd'", name="'Key ' || n",
    )  # fmt: skip


def _logs(sizes: Sizes, person: int, project: int, client: int) -> None:
    """Create logs with few errors: 1 in 1,000 sign-ins, 1 in 100,000 requests. A person did 20 events in the audit."""
    for table in ("api_requestlog", "console_signinevent"):
        for ago in range(1, DAYS + 1):
            day = partitions.midnight(clock.now()) - timedelta(days=ago)
            partitions._create(connection, partitions.DailyTable(table, "at"), day)
    where = f"{project} + CASE WHEN n % 2 = 0 THEN 0 ELSE n % {sizes.projects} END"
    app = f"CASE WHEN n % 2 = 0 THEN 0 ELSE n % {sizes.clients} END"  # counted from 0, as in _projects
    insert(
        RequestLog, sizes.log, project=where, method="'GET'", path="'/v1/me'", is_counted="true", milliseconds="3",
        status="CASE WHEN n % 100000 = 0 THEN 500 ELSE 200 END", client="'op_client_x'",
        request_id="left(md5(n::text), 20)",
    )  # fmt: skip
    insert(
        SignInEvent, sizes.log, client=f"{client} + {app}", project=f"{project} + ({app} + 1) / 2 % {sizes.projects}",
        endpoint="'token'", outcome="CASE WHEN n % 1000 = 0 THEN 'refused' ELSE 'refreshed' END",
        error="CASE WHEN n % 1000 = 0 THEN 'invalid_grant' ELSE '' END", request_id="left(md5(n::text), 20)",
        family="n / 20",
    )  # fmt: skip
    insert(
        AuditEvent, sizes.log, action="'client.created'", actor=f"{person} + n % {max(sizes.log // 20, 1000)}",
        actor_email="'x@example.com'", project="'prj_' || left(md5((n % 100)::text), 22)",
        target="'op_client_' || left(md5((n % 20000)::text), 22)", request_id="left(md5(n::text), 20)",
    )  # fmt: skip


def _reviews(sizes: Sizes, person: int, project: int, client: int) -> None:
    snapshot = (
        "json_build_object('name', 'App ' || n, 'logo', '', 'home_page_url', 'https://app.example.com/', "
        "'privacy_policy_url', '', 'terms_url', '', 'support_address', '', 'redirect_urls', json_build_array(), "
        "'scopes', json_build_object('account.read', 'Needed.'))"
    )
    insert(
        AppReview, sizes.clients, client=f"{client} + n - 1", number="1", revision="1", snapshot=snapshot,
        status="CASE WHEN n % 10 = 1 THEN 'submitted' ELSE 'approved' END", submitted_by=f"{person} + n - 1",
        submitted_at=THEN,
    )  # fmt: skip
    review = first_key(AppReview)
    insert(
        ReviewEntry, 50_000, project=str(project), client=str(client), review=str(review), side="'developer'",
        kind="'comment'", text="'Hello'", author=str(person),
    )  # fmt: skip
