"""Functions that create people, projects, clients and other objects for tests, as the service does."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from allauth.account.models import EmailAddress
from django.conf import settings

from accounts.models import Account
from api.keys import create_key
from api.models import ApiKey
from core import clock
from core.credentials import digest, random_text
from oidc.apis.registry import reload_registry
from oidc.authorization import consent
from oidc.clients.reviewed_hosts import set_approved_hosts
from oidc.clients.secrets import create_secret
from oidc.models import (
    AccessToken,
    Api,
    ApiRule,
    ApiScope,
    Client,
    Delivery,
    EventReceiver,
    Project,
    ProjectDomain,
    ProjectMember,
    TokenFamily,
)
from oidc.models.clients import new_client_id
from oidc.tokens import access_tokens

PASSWORD = "correct horse 9 battery"
REDIRECT_URI = "https://app.example.com/callback"
SIGN_OUT_URI = "https://app.example.com/bye"
RECEIVER_URL = "https://app.example.com/events"


def make_account(email: str | None = None, *, verified: bool = True, **fields: Any) -> Account:
    """Return a person who can sign in with PASSWORD."""
    fields = {"given_name": "Ada", "family_name": "Lovelace"} | fields
    email = email or f"{random_text(8).lower()}@example.com"
    account = Account.objects.create_user(email, PASSWORD, email_verified=verified, **fields)
    # bulk_create sends no signals: the receiver that sets `email_verified` takes as long as everything else here.
    EmailAddress.objects.bulk_create([EmailAddress(user=account, email=account.email, verified=verified, primary=True)])
    return account


def make_project(owner: Account | None = None, **fields: Any) -> Project:
    """Return a project with an owner."""
    project = Project.objects.create(**({"name": "Orbit Notes"} | fields))
    ProjectMember.objects.create(project=project, account=owner or make_account(), role=ProjectMember.Role.OWNER)
    return project


def make_client(project: Project | None = None, **fields: Any) -> Client:
    """Return a client; a browser app unless `type` is another one."""
    defaults = {
        "type": Client.Type.SPA,
        "name": "Orbit Notes",
        "client_id": new_client_id(),
        "redirect_uris": REDIRECT_URI,
        "post_logout_redirect_uris": SIGN_OUT_URI,
    }
    client = Client(project=project or make_project(), **(defaults | fields))
    if client.verified_at and "approved_hosts" not in fields:
        set_approved_hosts(client, client.redirect_uris.split())
    client.save()
    return client


def as_reviewed(*hosts: str) -> dict[str, Any]:
    """Return the columns of an app whose review covers these hosts, by default that of REDIRECT_URI."""
    taken_in = " ".join(hosts or ("app.example.com",))
    return {"verified_at": clock.now(), "approved_hosts": taken_in, "reviewed_hosts": taken_in}


def make_domain(project: Project, name: str = "example.com", **fields: Any) -> ProjectDomain:
    """Return a domain of the project; it is proven by DNS unless `fields` contain other values."""
    moment = clock.now()
    proof = {"method": ProjectDomain.Method.DNS, "proven_at": moment, "checked_at": moment, "added_at": moment}
    return ProjectDomain.objects.create(project=project, name=name, **(proof | fields))


def make_web_client(project: Project | None = None, **fields: Any) -> tuple[Client, str]:
    """Return a web app and its secret."""
    client = make_client(project, type=Client.Type.WEB, **fields)
    return client, create_secret(client)[1]


def make_key(
    project: Project | None = None,
    owner: Account | None = None,
    permissions: Sequence[str] = ("account.read",),
    expires_at: datetime | None = None,
    name: str = "A script",
) -> tuple[ApiKey, str]:
    """Return an API key and its raw value. The default owner of the key is the owner of the project."""
    if project is None:
        project = make_project(owner)
    owner = owner or ProjectMember.objects.get(project=project, role=ProjectMember.Role.OWNER).account
    return create_key(project, owner, name, list(permissions), expires_at)


def make_api(slug: str = "calendar", *, rules: Sequence[tuple[str, str, str]] = (), **fields: Any) -> Api:
    """Return an API with the scopes `<slug>.read` and `<slug>.write`. The latter is sensitive.

    The registry of this process is reloaded. `rules` are method, path and scope, for forward authentication.
    """
    name = slug.capitalize()
    api = Api.objects.create(slug=slug, **{"name": name, "identifier": f"https://{slug}.example.com"} | fields)
    read = ApiScope.objects.create(api=api, name=f"{slug}.read", title=f"See your {slug}")
    write = ApiScope.objects.create(api=api, name=f"{slug}.write", title=f"Change your {slug}", sensitive=True)
    scopes = {scope.name: scope for scope in (read, write)}
    for position, (method, path, scope) in enumerate(rules):
        ApiRule.objects.create(api=api, position=position, method=method, path=path, scope=scopes[scope])
    reload_registry()
    return api


def make_receiver(client: Client, channel: str = "events", **fields: Any) -> EventReceiver:
    """Return the client's receiver of a channel, on the host of its redirect URI."""
    return EventReceiver.objects.create(client=client, channel=channel, **{"url": RECEIVER_URL} | fields)


def make_delivery(receiver: EventReceiver, **fields: Any) -> Delivery:
    """Return a waiting delivery of the event that all sessions of a person ended."""
    now = clock.now()
    moments = {"happened_at": now, "not_before": now}
    what = {"event": "sessions-revoked", "jti": random_text(22), "sub": random_text(22)}
    return Delivery.objects.create(receiver=receiver, **moments | what | fields)


def make_access_token(
    client: Client,
    account: Account,
    scopes: Sequence[str] = ("openid", "email", "profile"),
    audience: str | None = None,
    **family_fields: Any,
) -> str:
    """Return an access token like those of the token endpoint, without a sign-in.

    `audience` is the identifier of its API, None for the API at `/v1`.
    """
    connection = consent.record_consent(account, client, list(scopes))
    scope = " ".join(scopes)
    moment = clock.now()
    family = TokenFamily.objects.create(
        connection=connection, scope=scope, auth_time=moment, created_at=moment, **family_fields
    )
    raw = access_tokens.create_access_token(family, list(scopes), audience)
    AccessToken.objects.create(
        family=family,
        user=account,
        application=client,
        token="",
        token_checksum=digest(raw),
        scope=scope,
        expires=clock.from_now(settings.ACCESS_TOKEN_SECONDS),
    )
    return raw
