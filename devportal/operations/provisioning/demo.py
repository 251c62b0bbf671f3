"""The demo of `make run`: provision it, and describe it on the terminal."""

import json
import os
import tomllib
from pathlib import Path
from typing import Any

from django.conf import settings
from django.urls import reverse

from core.http.split_hosts import address_of
from devportal.operations.provisioning import provision
from devportal.operations.provisioning.demo_week import make_week

CREDENTIALS_FILE = "demo.json"


def prepare_demo(file: Path) -> str:
    """Provision `file`, generate a week of activity once, and return instructions for trying out the service."""
    result = provision(file)
    _keep_credentials(result)
    make_week(result)
    roles = {person["email"]: person.get("roles", []) for person in tomllib.loads(file.read_text())["people"]}
    lines = [
        f"{settings.SERVICE_NAME} is at {settings.AUTH_URL}",
        f"  issuer     {settings.ISSUER}",
        f"  API        {settings.BASE_URL}/v1/me",
        f"  admin      {address_of(reverse('admin:index'))}  ({_what_admin_takes()})",
        f"  mail       kept in {settings.MAIL_DIR}",
        "Sign in as",
    ]
    for person in result["people"]:
        what = ", ".join(roles.get(person["email"], [])) or "person"
        lines.append(f"  {person['email']}  {person['password']}  ({what})")
    for project in result["projects"]:
        lines.append(f"Apps of {project['name']}")
        lines += [f"  {client['client_id']}  {client['type']:<6}  {client['name']}" for client in project["clients"]]
        if "deleted" in project:
            lines.append("  They do not work, because an owner has deleted the project. The console can restore it.")
    lines.append(f"Their secrets are in {settings.DATA_DIR / CREDENTIALS_FILE}; `make app` signs in with one.")
    lines += [f"API {api['identifier']}  {api['slug']}; `make api` starts it" for api in result["apis"]]
    return "\n".join(lines)


def _what_admin_takes() -> str:
    if settings.ADMIN_SECOND_FACTOR:
        return "asks for two-step verification, which is set up at the first sign-in"
    return "a password is enough here; ADMIN_SECOND_FACTOR=true requires two-step verification"


def _keep_credentials(result: dict[str, Any]) -> None:
    """Store the demo's secrets for the sample app, with file mode 600: the service itself stores only hashes."""
    path = settings.DATA_DIR / CREDENTIALS_FILE
    kept = json.loads(path.read_text()) if path.exists() else {}
    secrets = {client["client_id"]: client for project in kept.get("projects", []) for client in project["clients"]}
    for project in result["projects"]:
        for client in project["clients"]:
            client["client_secret"] = client["client_secret"] or secrets.get(client["client_id"], {}).get(
                "client_secret"
            )
    credentials = {api["credential"]["id"]: api["credential"] for api in kept.get("apis", [])}
    for api in result["apis"]:
        credential = api["credential"]
        credential["secret"] = credential["secret"] or credentials.get(credential["id"], {}).get("secret")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(result, file, indent=2)
