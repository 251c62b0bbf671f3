"""Create people, an app and codes in the service's database, and print them as JSON.

Run as `python -m benchmarks.prepare_ours` in the service's environment. Each connection of the load generator acts
for a different person. Codes come from the function that the authorization endpoint calls.
"""

import json
import os
import sys
import time

import django
from django.apps import apps

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "devportal.settings")
if not apps.ready:
    django.setup()

from django.core.management import call_command
from django.db import connection, transaction
from django.db.models import Model

from accounts.models import Account
from accounts.sessions.authentication import Authentication
from core import clock
from core.credentials import digest, random_text
from oidc.apis.credentials import create_credential
from oidc.authorization import consent
from oidc.models import AccessToken, Client, RefreshToken, TokenFamily
from oidc.tokens import codes as token_codes
from tests import factories

READ = "calendar.read"
SCOPES = ["openid", "email", "profile", "offline_access"]


@transaction.atomic
def make(asked: dict[str, str], people: int, codes: int) -> dict[str, object]:
    """Return a client with its secret and `codes` codes, one person after another in turn."""
    client, secret = factories.make_web_client(redirect_uris=asked["redirect_uri"])
    connections = [consent.record_consent(factories.make_account(), client, SCOPES) for _ in range(people)]
    signed_in = Authentication(time.time(), ("pwd",))
    raw = []
    for number in range(codes):
        _, code = token_codes.create_code(
            connections[number % people],
            scopes=SCOPES,
            redirect_uri=asked["redirect_uri"],
            code_challenge=asked["code_challenge"],
            nonce="nonce-of-a-benchmark",
            authentication=signed_in,
            request_key=random_text(16),
        )
        raw.append(code)
    made = {"client_id": client.client_id, "client_secret": secret, "codes": raw}
    return made | make_calendar(client, [row.account for row in connections if row.account is not None])


def make_calendar(client: Client, people: list[Account]) -> dict[str, object]:
    """Return the credential of an API, and an access token for that API for each person."""
    most = 10**7  # requests a minute
    rules = [("GET", "/events*", READ), ("POST", "/events*", READ)]
    api = factories.make_api(rules=rules, calls_per_minute=most, calls_per_person_per_minute=most)
    credential, secret = create_credential(api)
    tokens = [factories.make_access_token(client, person, [*SCOPES, READ], api.identifier) for person in people]
    return {"api_id": credential.public_id, "api_secret": secret, "api_tokens": tokens}


def fill(table: type[Model], template: dict[str, object], rows: int) -> None:
    """Store `rows` copies of `template` in one statement, spread over all families, each with a different checksum."""
    row = table(**template)
    row.save()
    quote = connection.ops.quote_name
    own = {"family_id": "families.ids[1 + mod(number, cardinality(families.ids))]"}
    own |= {"token_checksum": "encode(sha256(number::text::bytea), 'hex')"}
    columns = [str(field.column) for field in table._meta.concrete_fields if not field.primary_key]
    name = quote(table._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {name} ({', '.join(map(quote, columns))}) "
            f"SELECT {', '.join(own.get(column, f'template.{quote(column)}') for column in columns)} "
            f"FROM (SELECT * FROM {name} WHERE id = %s) AS template, generate_series(1, %s) AS number, "
            f"(SELECT array_agg(id) AS ids FROM {quote(TokenFamily._meta.db_table)}) AS families",
            [row.pk, rows],
        )
        cursor.execute(f"ANALYZE {name}")


def grow(rows: int) -> None:
    """Add `rows` access tokens, and as many refresh tokens that were rotated an hour ago."""
    family = TokenFamily.objects.select_related("connection").first()
    assert family is not None
    whose = {"user_id": family.connection.account_id, "application_id": family.connection.client_id}
    common = whose | {"family": family, "token": "", "token_checksum": digest(random_text(22))}
    fill(AccessToken, common | {"scope": family.scope, "expires": clock.from_now(3600)}, rows)
    past = clock.from_now(-3600)
    fill(RefreshToken, common | {"expires": clock.from_now(30 * 24 * 3600), "revoked": past}, rows)


def main() -> None:
    asked = json.load(sys.stdin)
    call_command("migrate", verbosity=0)
    made = make(asked, asked["connections"], asked["codes"])
    if rows := asked.get("rows"):
        grow(rows)
    json.dump(made, sys.stdout)


if __name__ == "__main__":
    main()
