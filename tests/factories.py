"""People, projects and clients for tests, made as the service makes them."""

from typing import Any

from allauth.account.models import EmailAddress

from accounts.models import Account
from devportal.lib.credentials import random_text
from oidc.clients import create_secret
from oidc.models import Client, Project, ProjectMember
from oidc.models.clients import new_client_id

PASSWORD = "correct horse 9 battery"
REDIRECT_URI = "https://app.example.com/callback"
SIGN_OUT_URI = "https://app.example.com/bye"


def make_account(email: str | None = None, *, verified: bool = True, **fields: Any) -> Account:
    """Return a person who can sign in with PASSWORD."""
    fields = {"given_name": "Ada", "family_name": "Lovelace"} | fields
    email = email or f"{random_text(8).lower()}@example.com"
    account = Account.objects.create_user(email, PASSWORD, **fields)
    EmailAddress.objects.create(user=account, email=account.email, verified=verified, primary=True)
    account.refresh_from_db()
    return account


def make_project(owner: Account | None = None, **fields: Any) -> Project:
    """Return a project with an owner."""
    project = Project.objects.create(**({"name": "Orbit Notes"} | fields))
    ProjectMember.objects.create(project=project, account=owner or make_account(), role=ProjectMember.Role.OWNER)
    return project


def make_client(project: Project | None = None, **fields: Any) -> Client:
    """Return a browser app, unless `type` says otherwise."""
    defaults = {
        "type": Client.Type.SPA,
        "name": "Orbit Notes",
        "client_id": new_client_id(),
        "redirect_uris": REDIRECT_URI,
        "post_logout_redirect_uris": SIGN_OUT_URI,
    }
    return Client.objects.create(project=project or make_project(), **(defaults | fields))


def make_web_client(project: Project | None = None, **fields: Any) -> tuple[Client, str]:
    """Return a web app and its secret."""
    client = make_client(project, type=Client.Type.WEB, **fields)
    return client, create_secret(client)[1]
