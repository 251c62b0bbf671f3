"""The two kinds of credentials that a project has: client secrets and API keys.

Each kind says who may rotate and revoke, which functions do it, and what its pages say beyond what they have in common.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse

from accounts.models import Account
from api.keys import replacement_expires_at, revoke_key, rotate_key, set_key_expiry
from api.models import ApiKey
from devportal.console import secret_panel
from devportal.console.access import Membership, get_client, get_membership
from devportal.console.api_keys.forms import FURTHEST_DAYS
from devportal.console.clients.secret_use import was_used_lately
from oidc.clients.secrets import MAX_LIVE_SECRETS, end_secret, rotate_secret, set_secret_expiry
from oidc.credential_rotation import MAX_OVERLAP
from oidc.models import Client, ClientSecret
from oidc.projects.roles import Role


@dataclass(frozen=True)
class Credential:
    """A client secret or API key that a page is about."""

    kind: "Kind"
    membership: Membership
    row: Any  # ClientSecret or ApiKey
    name: str  # as it stands within a sentence
    masked: str
    created_by: Account | None
    is_live: bool
    page_arguments: tuple[str, ...]  # of the URL of the list
    role: str = Role.DEVELOPER  # the lowest one that may change it
    client: Client | None = None
    replacement_expires_at: datetime | None = None
    is_only: bool = False  # nothing else authenticates the client
    is_used_lately: bool = False
    may_overlap: bool = True  # its replacement may be live beside it

    @property
    def list_url(self) -> str:
        return reverse(self.kind.list_page, args=self.page_arguments)

    @property
    def revoke_url(self) -> str:
        return reverse(self.kind.revoke_page, args=[*self.page_arguments, getattr(self.row, self.kind.id_field)])


@dataclass(frozen=True)
class Kind:
    """How credentials of one kind are found, changed and presented."""

    # The credential of a URL. Takes the request, whether it is to be revoked, and the URL's ids; raises Http404 and
    # PermissionDenied.
    find: Callable[..., Credential]
    rotate: Callable[[Any, datetime, Account], tuple[Any, str]]
    set_expiry: Callable[[Any, datetime | None, Account], None]
    revoke: Callable[[Any, Account], None]
    show: Callable[[HttpRequest, Credential, Any, str], HttpResponse]  # the new row and its raw value
    max_life: timedelta  # how far ahead a live one may expire
    list_page: str
    revoke_page: str
    id_field: str
    rotation_text: str  # what rotation does
    sent_before_text: str  # for a form that is sent a second time
    too_many_text: str  # where the old one and its replacement can't both be live
    revocation_text: str  # what revoking does


def _find_secret(request: HttpRequest, revoking: bool, project_id: str, client_id: str, secret_id: int) -> Credential:
    membership, client = get_client(request, project_id, client_id, Role.DEVELOPER)
    live = list(client.secrets.live())
    row = next((each for each in live if each.pk == secret_id), None)
    is_live = row is not None
    row = row or client.secrets.filter(pk=secret_id).first()
    if row is None or (revoking and not is_live):
        raise Http404
    row.client = client
    return Credential(
        CLIENT_SECRETS,
        membership,
        row,
        name=f"secret …{row.last_four}",
        masked=f"…{row.last_four}",
        created_by=row.created_by,
        is_live=is_live,
        page_arguments=(project_id, client_id),
        client=client,
        is_only=len(live) == 1,
        is_used_lately=was_used_lately(row),
        may_overlap=len(live) < MAX_LIVE_SECRETS,
    )


def _show_secret(request: HttpRequest, old: Credential, new: ClientSecret, raw: str) -> HttpResponse:
    assert old.client is not None
    return secret_panel.show_client_secret(request, old.membership, old.client, raw, "The new secret")


def may_revoke(membership: Membership, key: ApiKey) -> bool:
    """Return whether the member may revoke the key: its owner whatever their role, and project owners."""
    return membership.is_owner or key.owner_id == membership.account.pk


def _find_key(request: HttpRequest, revoking: bool, project_id: str, key_id: str) -> Credential:
    membership = get_membership(request, project_id, Role.VIEWER if revoking else Role.DEVELOPER)
    key = ApiKey.objects.filter(project=membership.project, public_id=key_id).select_related("owner").first()
    if key is None:
        raise Http404
    is_own = key.owner_id == membership.account.pk
    # A new key acts as its owner, so nobody else may create it.
    if not (may_revoke(membership, key) if revoking else is_own):
        raise PermissionDenied
    key.project = membership.project
    return Credential(
        API_KEYS,
        membership,
        key,
        name=key.name,
        masked=key.masked,
        created_by=key.owner,
        is_live=key.state == "live",
        page_arguments=(project_id,),
        role=Role.DEVELOPER if not revoking else Role.VIEWER if is_own else Role.OWNER,
        replacement_expires_at=replacement_expires_at(key),
    )


def _show_key(request: HttpRequest, old: Credential, new: ApiKey, raw: str) -> HttpResponse:
    return secret_panel.show_api_key(request, old.membership, new, raw)


CLIENT_SECRETS = Kind(
    find=_find_secret,
    rotate=rotate_secret,
    set_expiry=set_secret_expiry,
    revoke=end_secret,
    show=_show_secret,
    max_life=MAX_OVERLAP,
    list_page="console:client_secrets",
    revoke_page="console:client_secret_end",
    id_field="pk",
    rotation_text="You get a new secret. Both are accepted until the old one expires, so that you can give your app "
    "the new one without downtime.",
    sent_before_text="This form was already sent and has created a secret, which was shown once. No second secret was "
    "created.",
    too_many_text="Two secrets are live, which is the maximum. Choose to end this one immediately, or revoke the "
    "other one first.",
    revocation_text="Requests with this secret are refused immediately. This can’t be undone.",
)
API_KEYS = Kind(
    find=_find_key,
    rotate=lambda key, expires_at, actor: rotate_key(key, expires_at),
    set_expiry=set_key_expiry,
    revoke=revoke_key,
    show=_show_key,
    max_life=timedelta(days=FURTHEST_DAYS),
    list_page="console:keys",
    revoke_page="console:key_revoke",
    id_field="public_id",
    rotation_text="You get a new key with the same name and permissions. Both work until the old one expires.",
    sent_before_text="This form was already sent and has created a key, which was shown once. No second key was "
    "created.",
    too_many_text="This project has the maximum number of live keys. Choose to end this one immediately, or revoke "
    "another one first.",
    revocation_text="Requests with this key are refused everywhere within 30 seconds. This can’t be undone.",
)
