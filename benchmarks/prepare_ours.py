"""Makes people, an app and codes in the service's own database, and prints them as JSON.

Run as `python -m benchmarks.prepare_ours` in the service's environment. Each connection of the load generator stands
for another person; codes come from the function that the authorization endpoint calls.
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
from django.db import transaction

from accounts.authentication import Authentication
from devportal.lib.credentials import random_text
from oidc import consent, tokens
from tests import factories

SCOPES = ["openid", "email", "profile", "offline_access"]


@transaction.atomic
def make(asked: dict[str, str], people: int, codes: int) -> dict[str, object]:
    """Return a client with its secret, and `codes` codes of it, person by person in turn."""
    client, secret = factories.make_web_client(redirect_uris=asked["redirect_uri"])
    connections = [consent.record(factories.make_account(), client, SCOPES) for _ in range(people)]
    signed_in = Authentication(time.time(), ("pwd",))
    raw = [random_text(30) for _ in range(codes)]
    for number, code in enumerate(raw):
        tokens.create_code(
            code,
            connections[number % people],
            scopes=SCOPES,
            redirect_uri=asked["redirect_uri"],
            code_challenge=asked["code_challenge"],
            nonce="nonce-of-a-benchmark",
            authentication=signed_in,
            request_key=random_text(16),
        )
    return {"client_id": client.client_id, "client_secret": secret, "codes": raw}


def main() -> None:
    asked = json.load(sys.stdin)
    call_command("migrate", verbosity=0)
    json.dump(make(asked, asked["connections"], asked["codes"]), sys.stdout)


if __name__ == "__main__":
    main()
