"""`[[projects.clients]]`: apps, known by their name in the project."""

from typing import Any

from django.db.models import QuerySet

from core import clock
from core.http.strict_fields import StrictBooleanField, StrictCharField, StrictChoiceField, StrictListField
from devportal.operations.provisioning.toml_tables import ScopeField, Table
from oidc import names, scopes
from oidc.apis.registry import OPENID
from oidc.clients import redirect_uris as client_redirect_uris
from oidc.clients import secrets
from oidc.clients.reviewed_hosts import set_approved_hosts, set_reviewed_hosts
from oidc.models import Client, Project
from oidc.models.clients import new_client_id


def _approvable() -> list[str]:
    # Also scopes that need no approval today: then the client keeps them when that changes.
    return [scope.name for scope in scopes.known_scopes().values() if scope.api]


def _optional() -> list[str]:
    return [name for name in scopes.known_scopes() if name != OPENID]


class AddressesField(StrictListField):
    """URLs that a client may register, deserialized to the form in which they are stored."""

    default_error_messages = {"empty": "must name at least one address"}

    def __init__(self, **kwargs: Any) -> None:
        child = StrictCharField(validators=[client_redirect_uris.validate_redirect_uri])
        super().__init__(child=child, unique=True, **kwargs)


class ClientTable(Table):
    name = StrictCharField(validators=[names.validate_name])
    type = StrictChoiceField(Client.Type.values)
    redirect_uris = AddressesField(allow_empty=False)
    post_logout_redirect_uris = AddressesField(required=False)
    enabled = StrictBooleanField(required=False)
    first_party = StrictBooleanField(required=False)
    verified = StrictBooleanField(required=False)
    least_acr = StrictChoiceField(Client.LeastAcr.values, required=False)
    forgive_lost_responses = StrictBooleanField(required=False)
    approved_scopes = StrictListField(child=ScopeField(_approvable), unique=True, required=False)
    optional_scopes = StrictListField(child=ScopeField(_optional), unique=True, required=False)


def clients_named(project: Project, name: str) -> QuerySet[Client]:
    """Return the clients of a project with this name. The console lets several clients share a name."""
    return Client.objects.filter(project=project, name=name)


def unapproved_optional_scope(values: dict[str, Any], project: Project | None) -> str:
    """Return the first optional scope of a table that its client may not request, "" if there is none."""
    known = clients_named(project, values["name"]).first() if project is not None else None
    approved = values.get("approved_scopes", known.approved_scopes.split() if known else [])
    optional = values.get("optional_scopes", [])
    known_scopes = scopes.known_scopes()
    return next((scope for scope in optional if known_scopes[scope].needs_approval and scope not in approved), "")


def apply_client(values: dict[str, Any], project: Project, rotate_secrets: bool) -> dict[str, Any]:
    """Create or update one client. A missing key changes nothing."""
    client = clients_named(project, values["name"]).first()
    if client is None:
        client = Client(project=project, name=values["name"], type=values["type"], client_id=new_client_id())
    elif client.type != values["type"]:
        secrets.change_type(client, values["type"])
    for key in ("redirect_uris", "post_logout_redirect_uris", "approved_scopes", "optional_scopes"):
        if key in values:
            setattr(client, key, " ".join(values[key]))
    for key in ("enabled", "first_party", "least_acr", "forgive_lost_responses"):
        if key in values:
            setattr(client, key, values[key])
    verified = values.get("verified", client.is_verified)
    if verified != client.is_verified:
        client.verified_at = client.last_reviewed_at = clock.now() if verified else None
    if client.verified_at and ("verified" in values or "redirect_uris" in values):
        # The declaration approves the hosts of its redirect URLs, and the proven domains that cover them.
        pages = (client.home_page_url, client.privacy_policy_url, client.terms_url)
        sign_outs = client.post_logout_redirect_uris.split()
        set_approved_hosts(client, client.redirect_uris.split(), [*pages, *sign_outs])
    else:
        set_reviewed_hosts(client)
    client.save()
    return {
        "client_id": client.client_id,
        "client_secret": _secret(client, rotate_secrets),
        "name": client.name,
        "type": client.type,
        "redirect_uris": client.redirect_uris.split(),
        "post_logout_redirect_uris": client.post_logout_redirect_uris.split(),
    }


def _secret(client: Client, rotate: bool) -> str | None:
    """Return a web client's secret if it was just created: the first one, or one that replaces all others."""
    if not client.has_secret:
        return None
    live = client.secrets.live()
    if live.exists():
        if not rotate:
            return None
        live.update(ended_at=clock.now())
    return secrets.create_secret(client)[1]
