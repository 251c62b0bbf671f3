"""Migrate the database of stock django-oauth-toolkit, and print clients and codes as JSON.

Run as `python -m benchmarks.stock.prepare`.
"""

import json
import os
import sys
from datetime import timedelta

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchmarks.stock.settings")
django.setup()

from django.contrib.auth.hashers import make_password  # noqa: E402  (only once Django is set up)
from django.contrib.auth.models import User  # noqa: E402  (after setup)
from django.core.management import call_command  # noqa: E402  (after setup)
from django.utils import timezone  # noqa: E402  (after setup)
from django.utils.crypto import get_random_string  # noqa: E402  (after setup)
from oauth2_provider.models import Application, Grant  # noqa: E402  (after setup)

SCOPE = "openid email profile"


def make_client(owner: User, hasher: str, asked: dict[str, str], codes: int) -> dict[str, object]:
    """Store a client, whose secret is hashed with `hasher`, and codes. Return what the app needs to use them."""
    secret = get_random_string(128)  # as long as the secrets that the library creates
    client = Application.objects.create(
        name=f"Orbit Notes ({hasher})",
        user=owner,
        client_type=Application.CLIENT_CONFIDENTIAL,
        authorization_grant_type=Application.GRANT_AUTHORIZATION_CODE,
        client_secret=make_password(secret, hasher=hasher),
        redirect_uris=asked["redirect_uri"],
        algorithm=Application.RS256_ALGORITHM,
    )
    raw = [get_random_string(30) for _ in range(codes)]
    expires = timezone.now() + timedelta(hours=1)
    Grant.objects.bulk_create(
        Grant(
            user=owner,
            code=code,
            application=client,
            expires=expires,
            redirect_uri=asked["redirect_uri"],
            scope=SCOPE,
            code_challenge=asked["code_challenge"],
            code_challenge_method="S256",
        )
        for code in raw
    )
    return {"client_id": client.client_id, "client_secret": secret, "codes": raw}


def main() -> None:
    asked = json.load(sys.stdin)
    call_command("migrate", verbosity=0)
    owner = User.objects.create_user("ada", "ada@example.com", first_name="Ada", last_name="Lovelace")
    made = {
        "cheap": make_client(owner, "md5", asked, asked["codes"]),
        "default": make_client(owner, "pbkdf2_sha256", asked, asked["codes_at_start"]),
    }
    json.dump(made, sys.stdout)


if __name__ == "__main__":
    main()
