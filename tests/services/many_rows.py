"""Write a million rows within seconds, like those of a service that has run for a long time.

The database itself generates the rows. All of them belong to one connection. The statements name columns of the
schema of the baseline (tests/upgrades), which later schemas have as well.
"""

import hashlib

import psycopg

# The placeholders are filled in by str.format, because several statements in one text can't have parameters.
_FAMILIES = """
INSERT INTO oidc_family (scope, nonce, auth_time, amr, created_at, revocation_reason, revocation_note, connection_id)
SELECT 'openid profile offline_access', '', now() - {age}, '["pwd"]', now() - {age}, '', '', {connection}
FROM generate_series(1, {count}) RETURNING id
"""
_ACCESS = """
INSERT INTO oidc_accesstoken
  (token, token_checksum, expires, scope, resource, created, updated, user_id, application_id, family_id)
SELECT '', md5('a' || n || '-' || family.id), now() - {age}, 'openid', '[]', now(), now(), {user}, {client}, family.id
FROM family, generate_series(1, {each}) AS n
"""
_REFRESH = """
INSERT INTO oidc_refreshtoken
  (token, token_checksum, expires, resource, created, updated, user_id, application_id, family_id)
SELECT '', md5('r' || n || '-' || family.id), now() - {age}, '[]', now(), now(), {user}, {client}, family.id
FROM family, generate_series(1, {each}) AS n
"""
_CODES = """
INSERT INTO oidc_authorizationcode
  (code, expires, redirect_uri, scope, created, updated, code_challenge, code_challenge_method, claims, resource,
   request_key, nonce, user_id, application_id, family_id)
SELECT md5('c' || family.id), now() - {age}, 'https://a.example', '', now(), now(), '', '', '', '[]',
  md5(family.id::text), '', {user}, {client}, family.id
FROM family
"""
_USAGE = """
INSERT INTO api_usagebucket (minute, credential, client, endpoint, status, code, count,
  ms_5, ms_10, ms_25, ms_50, ms_100, ms_250, ms_1000, ms_more, project_id)
SELECT date_trunc('minute', now()) - (n / 10) * interval '1 minute', 'k' || n % 10, '', 'me', 200, '', 1,
  1, 0, 0, 0, 0, 0, 0, 0, {project}
FROM generate_series(1, {count}) AS n
"""


class Filler:
    """Fills the tables for one person and one client, who are found by email address and name."""

    def __init__(self, database: "psycopg.Connection[tuple[int, ...]]", email: str, client_name: str) -> None:
        self._database = database
        self.user = self.one(f"SELECT id FROM accounts_account WHERE email = '{email}'")
        self.client = self.one(f"SELECT id FROM oidc_client WHERE name = '{client_name}'")
        self.project = self.one(f"SELECT project_id FROM oidc_client WHERE id = {self.client}")
        sector = f"(SELECT public_id FROM oidc_project WHERE id = {self.project})"
        subject = self.one(
            "INSERT INTO accounts_pairwisesubject (account_id, sector, sub, picture_key, created_at) "
            f"VALUES ({self.user}, {sector}, md5('s' || {self.client}), md5('p' || {self.client}), now()) RETURNING id"
        )
        self.connection = self.one(
            "INSERT INTO oidc_connection (scopes, left_out, joined_outside_review, first_authorized_at, "
            "last_authorized_at, account_id, client_id, subject_id) "
            "VALUES ('openid profile offline_access', '', false, now(), now(), "
            f"{self.user}, {self.client}, {subject}) RETURNING id"
        )

    def one(self, sql: str) -> int:
        """Return the first value of a statement's first row."""
        row = self._database.execute(sql.encode()).fetchone()
        assert row is not None, sql
        return row[0]

    def add_families(self, count: int, *, age: str, codes: int = 1, access: int = 1, refresh: int = 1) -> None:
        """Add families that began `age` ago, an interval of PostgreSQL. Their codes and tokens expired at that time."""
        values = {"age": f"interval '{age}'", "user": self.user, "client": self.client, "connection": self.connection}
        parts = [
            f"made_{place} AS ({text.format(each=each, **values)})"
            for place, (text, each) in enumerate(((_CODES, codes), (_ACCESS, access), (_REFRESH, refresh)))
            if each
        ]
        # Do not check foreign keys row by row, which would take most of the time: all rows are created right here.
        self._database.execute(b"SET session_replication_role = replica")
        family = _FAMILIES.format(count=count, **values)
        self._database.execute(f"WITH family AS ({family}), {', '.join(parts)} SELECT 1".encode())
        self._database.execute(b"RESET session_replication_role")

    def add_refresh_token(self, raw: str) -> int:
        """Add a family with one refresh token that is valid for an hour; return the family's id."""
        checksum = hashlib.sha256(raw.encode()).hexdigest()
        family = self.one(_FAMILIES.format(count=1, age="interval '0'", connection=self.connection))
        values = {"user": self.user, "client": self.client, "each": 1, "age": "interval '-1 hour'"}
        token = _REFRESH.format(**values).replace("md5('r' || n || '-' || family.id)", f"'{checksum}'")
        self._database.execute(f"WITH family AS (SELECT {family} AS id) {token}".encode())
        return family

    def add_usage(self, count: int) -> None:
        """Add rows that count one call each: ten for each minute, going back from now."""
        self._database.execute(_USAGE.format(count=count, project=self.project).encode())
