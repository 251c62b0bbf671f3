"""`[[projects.clients]]`: apps, known by their name in the project."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from rest_framework import serializers

from core import clock, names
from core.http.strict_fields import StrictBooleanField, StrictCharField, StrictChoiceField, StrictListField
from devportal.operations.provisioning.toml_tables import ScopeField, Table
from devportal.review.decisions.reviewer_actions import record_operator_step
from devportal.review.models import ReviewEntry
from oidc.apis import scopes
from oidc.apis.registry import OPENID
from oidc.clients import secrets
from oidc.clients.reviewed_hosts import set_approved_hosts, set_reviewed_hosts
from oidc.events import registration
from oidc.models import Client, EventReceiver, Project
from oidc.models.clients import new_client_id
from oidc.values import redirect_uris as client_redirect_uris
from oidc.values.event_types import EventType


def _approvable() -> list[str]:
    # Includes scopes that need no approval today, so that the client keeps them if that changes.
    return [scope.name for scope in scopes.known_scopes().values() if scope.api]


def _optional() -> list[str]:
    return [name for name in scopes.known_scopes() if name != OPENID]


class AddressesField(StrictListField):
    """URLs that a client may register, deserialized to the form in which they are stored."""

    default_error_messages = {"empty": "must contain at least one URL"}

    def __init__(self, **kwargs: Any) -> None:
        child = StrictCharField(validators=[client_redirect_uris.validate_redirect_uri])
        super().__init__(child=child, unique=True, **kwargs)


class EventTypeField(StrictCharField):
    """A type of security events: its name or its URI."""

    def to_internal_value(self, data: Any) -> EventType:
        name = super().to_internal_value(data)
        try:
            return registration.event_types([name])[0]
        except ValidationError as error:
            raise serializers.ValidationError(error.messages) from error


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
    backchannel_logout_uri = StrictCharField(allow_blank=True, required=False)
    backchannel_logout_session_required = StrictBooleanField(required=False)
    events_url = StrictCharField(allow_blank=True, required=False)
    events = StrictListField(child=EventTypeField(), unique=True, required=False)


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
    # Locked, because all columns are written and an approval may be withdrawn at the same time.
    client = clients_named(project, values["name"]).select_for_update(no_key=True).first()
    if client is None:
        client = Client(project=project, name=values["name"], type=values["type"], client_id=new_client_id())
    elif client.type != values["type"]:
        secrets.change_type(client, values["type"])
    scopes_before, was_verified = set(client.approved_scopes.split()), client.is_verified
    for key in ("redirect_uris", "post_logout_redirect_uris", "optional_scopes"):
        if key in values:
            setattr(client, key, " ".join(values[key]))
    _approve_scopes(client, values)
    for key in ("enabled", "first_party", "least_acr", "forgive_lost_responses"):
        if key in values:
            setattr(client, key, values[key])
    verified = values.get("verified", client.is_verified)
    if verified != client.is_verified:
        client.verified_at = client.last_reviewed_at = clock.now() if verified else None
    if values.get("verified"):
        # The declaration approves the hosts of its redirect URLs, and the proven domains of all its URLs. Developers
        # change the sign-out URLs without a review, so these count only if the file names them.
        pages = (client.home_page_url, client.privacy_policy_url, client.terms_url)
        sign_outs = values.get("post_logout_redirect_uris", ())
        set_approved_hosts(client, client.redirect_uris.split(), [*pages, *sign_outs])
    else:
        set_reviewed_hosts(client)
    client.save()
    if scopes_before - set(client.approved_scopes.split()) or (was_verified and not client.is_verified):
        record_operator_step(ReviewEntry.Kind.APPROVAL_WITHDRAWN, project, client)
    _apply_receivers(values, client)
    return {
        "client_id": client.client_id,
        "client_secret": _secret(client, rotate_secrets),
        "name": client.name,
        "type": client.type,
        "redirect_uris": client.redirect_uris.split(),
        "post_logout_redirect_uris": client.post_logout_redirect_uris.split(),
    }


def _approve_scopes(client: Client, values: dict[str, Any]) -> None:
    """Set the scopes that the operator approves for everyone. What some people keep stays (docs/apis.md)."""
    if "approved_scopes" not in values:
        return
    kept = [scope for scope in client.kept_scopes.split() if scope not in values["approved_scopes"]]
    client.kept_scopes = " ".join(kept)
    client.approved_scopes = " ".join([*values["approved_scopes"], *kept])


def _apply_receivers(values: dict[str, Any], client: Client) -> None:
    """Set where the client receives events. Its redirect URIs and the project's domains are already those of the file.

    Raises the serializers' ValidationError with the reason for each URL that is not allowed.
    """
    errors = {}
    for key, change in (("backchannel_logout_uri", _apply_logout_receiver), ("events_url", _apply_event_receiver)):
        try:
            change(values, client)
        except ValidationError as error:
            errors[key] = error.messages
    if errors:
        raise serializers.ValidationError(errors)


def _apply_logout_receiver(values: dict[str, Any], client: Client) -> None:
    url, session_required = "backchannel_logout_uri", "backchannel_logout_session_required"
    if url in values or session_required in values:
        known = registration.receiver_of(client, EventReceiver.Channel.LOGOUT)
        registration.change_logout_receiver(
            client,
            None,
            url=values.get(url, known.url),
            session_required=values.get(session_required, known.session_required),
        )


def _apply_event_receiver(values: dict[str, Any], client: Client) -> None:
    if "events_url" in values or "events" in values:
        known = registration.receiver_of(client, EventReceiver.Channel.EVENTS)
        registration.change_event_receiver(
            client, None, url=values.get("events_url", known.url), types=values.get("events", known.wanted_types)
        )


def _secret(client: Client, rotate: bool) -> str | None:
    """Return a web client's secret if it was just created: the first one, or one that replaces all others."""
    if not client.has_secret or client.project.is_deleted:
        return None
    live = client.secrets.live()
    if live.exists():
        if not rotate:
            return None
        live.update(revoked_at=clock.now())
    return secrets.create_secret(client)[1]
