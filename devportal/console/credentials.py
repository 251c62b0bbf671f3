"""Rows of the lists of client secrets and API keys, which look the same."""

from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from api.models import ApiKey
from devportal.console.access import Membership
from devportal.console.rotation import FORMER_MEMBER, may_revoke
from oidc.models import Client, ClientSecret


@dataclass(frozen=True)
class ListedCredential:
    """A client secret or an API key in a list, with the URLs of what this member may do; "" for the rest."""

    row: Any  # ClientSecret or ApiKey
    name: str
    created_by: str
    rotate_url: str = ""
    expiry_url: str = ""
    revoke_url: str = ""


def list_secret(membership: Membership, client: Client, secret: ClientSecret) -> ListedCredential:
    """Return the row of a live secret. It needs the annotation `creator`, an email address."""
    creator = getattr(secret, "creator", "") or FORMER_MEMBER
    listed = ListedCredential(secret, f"…{secret.last_four}", creator if secret.created_by_id else "An operator")
    if not membership.may_edit:
        return listed
    ids = [membership.project.public_id, client.client_id, secret.pk]
    pages = ("client_secret_rotate", "client_secret_expiry", "client_secret_end")
    return ListedCredential(secret, listed.name, listed.created_by, *(_url(page, ids) for page in pages))


def list_key(membership: Membership, key: ApiKey) -> ListedCredential:
    """Return the row of an API key in any state. It needs the annotation `owner_email`."""
    is_own, ids = key.owner_id == membership.account.pk, [membership.project.public_id, key.public_id]
    # A new key acts as its owner, so nobody else may create it.
    may_rotate = key.state == "live" and membership.may_edit and is_own
    return ListedCredential(
        key,
        key.name,
        "You" if is_own else getattr(key, "owner_email", "") or FORMER_MEMBER,
        _url("key_rotate", ids) if may_rotate else "",
        _url("key_expiry", ids) if may_rotate else "",
        _url("key_revoke", ids) if key.state != "revoked" and may_revoke(membership, key) else "",
    )


def _url(page: str, ids: list[Any]) -> str:
    return reverse(f"console:{page}", args=ids)
