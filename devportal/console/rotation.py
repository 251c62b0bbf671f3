"""Rotation of client secrets and API keys: their pages, and the panel that shows a new one once."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from accounts.models import Account
from api.keys import READS_PROFILE, replacement_expires_at, revoke_key, rotate_key, set_key_expiry
from api.models import ApiKey
from core import clock
from core.limits.middleware import limited_by_person
from devportal.console import idempotency
from devportal.console.access import Membership, get_client, get_membership, member_email
from devportal.console.api_keys.forms import FURTHEST_DAYS
from devportal.console.navigation import console_page, render_page, render_secret_page
from oidc.clients.redirect_uris import playground_redirect_uri
from oidc.clients.secrets import MAX_LIVE_SECRETS, TooManySecrets, end_secret, rotate_secret, set_secret_expiry
from oidc.credential_rotation import MAX_OVERLAP, CredentialEnded
from oidc.models import Client, ClientSecret
from oidc.projects.lifecycle import QuotaExceeded
from oidc.projects.roles import Role, lock_for_change

RECENTLY = timedelta(hours=24)
FORMER_MEMBER = "Somebody who is no longer a member"


def was_used_lately(secret: ClientSecret) -> bool:
    """Return whether the secret was used in the last 24 hours."""
    return secret.last_used_at is not None and secret.last_used_at > clock.now() - RECENTLY


@dataclass(frozen=True)
class SecretPanel:
    """A new secret and the texts of its page. It is never stored, logged or shown again."""

    title: str
    what: str  # "client secret", as the page calls it
    raw: str
    env: str  # the lines of a .env file
    file_name: str  # of the download; browsers change names that begin with a dot
    done_url: str
    command: str = ""  # a shell command that tries it


def show_client_secret(
    request: HttpRequest, membership: Membership, client: Client, raw: str, title: str
) -> HttpResponse:
    """Render the page with a client's new secret."""
    # The variables that the sample app, the quick starts and the guides read.
    lines = {
        "OIDC_ISSUER": settings.ISSUER,
        "CLIENT_ID": client.client_id,
        "CLIENT_SECRET": raw,
        "REDIRECT_URI": next((uri for uri in client.registered_redirect_uris if uri != playground_redirect_uri()), ""),
        "API_URL": settings.BASE_URL,
    }
    done = reverse("console:quick_start", args=[membership.project.public_id, client.client_id])
    panel = SecretPanel(title, "client secret", raw, _env(lines), "client.env", done)
    return render_secret_page(request, "console/secret_once.html", membership, client, panel=panel)


def show_api_key(request: HttpRequest, membership: Membership, key: ApiKey, raw: str, title: str) -> HttpResponse:
    """Render the page with a new API key."""
    done = reverse("console:keys", args=[membership.project.public_id])
    file = "api-key.env"
    # The key is read from the file, so that no shell stores it in its history.
    reads_profile = READS_PROFILE in key.permissions.split()
    command = (
        f'. ./{file}\ncurl -sS -H "Authorization: Bearer $API_KEY" {settings.BASE_URL}/v1/me; echo'
        if reads_profile
        else ""
    )
    panel = SecretPanel(title, "API key", raw, _env({"API_KEY": raw}), file, done, command)
    return render_secret_page(request, "console/secret_once.html", membership, panel=panel)


def _env(lines: dict[str, str]) -> str:
    # Values are quoted only if a shell needs it, because some parsers of .env files keep quotes.
    return "".join(f"{name}={shlex.quote(value)}\n" for name, value in lines.items())


NOW, NEVER, CHOSEN = "now", "never", "at"
_SPANS = {
    "1h": ("In 1 hour", timedelta(hours=1)),
    "24h": ("In 24 hours", timedelta(hours=24)),
    "7d": ("In 7 days", timedelta(days=7)),
}
_FORMATS = ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M"]


class _EndForm(forms.Form):
    """A choice of times, and a field for any other time."""

    edge: tuple[str, str] = ("", "")  # value and label of the choice that is not a future time
    edge_is_first = False

    when = forms.ChoiceField(
        label="Expires", error_messages={"required": "Choose one.", "invalid_choice": "This is not one of the choices."}
    )
    at = forms.DateTimeField(
        label="Day and time in UTC",
        required=False,
        input_formats=_FORMATS,
        error_messages={"invalid": "Enter day and time as 2031-12-24 18:30."},
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format=_FORMATS[0]),
    )

    def __init__(self, data: Any = None, *, most: timedelta, chosen: str = "24h", at: datetime | None = None) -> None:
        """`most` is how far ahead the end may be, `chosen` the initial choice, `at` the initial time in the field."""
        super().__init__(data, initial={"when": chosen, "at": at})
        self._most = most
        rows = [*((value, label) for value, (label, _) in _SPANS.items()), (CHOSEN, "At a time of your choice")]
        self._rows = [self.edge, *rows] if self.edge_is_first else [*rows, self.edge]
        when = self.fields["when"]
        assert isinstance(when, forms.ChoiceField)
        when.choices = self._rows

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        if given.get("when") != CHOSEN or "at" in self.errors:
            return given
        at: datetime | None = given.get("at")
        if at is None:
            self.add_error("at", "Enter day and time, or choose another option.")
        elif at <= clock.now():
            self.add_error("at", "This is in the past. Choose a later time.")
        elif at > clock.now() + self._most:
            self.add_error("at", f"This is too far ahead. Choose a time within {self._most.days} days.")
        return given

    @property
    def expires_at(self) -> datetime | None:
        """The chosen end, in UTC; None for never."""
        when = self.cleaned_data["when"]
        if when == NEVER:
            return None
        if when == CHOSEN:
            at: datetime = self.cleaned_data["at"]
            return at.astimezone(UTC)
        return clock.now() + (timedelta() if when == NOW else _SPANS[when][1])

    @property
    def choices(self) -> list[dict[str, Any]]:
        """The options to render: value, label, and whether it is chosen."""
        ticked = self["when"].value()
        return [{"value": value, "label": label, "on": value == ticked} for value, label in self._rows]


class RotationForm(_EndForm):
    """Form for the time at which the old credential ends after a rotation."""

    edge = (NOW, "Now")
    edge_is_first = True

    @property
    def ends_at(self) -> datetime:
        """The chosen end, in UTC."""
        end = self.expires_at
        assert end is not None
        return end


class ExpiryForm(_EndForm):
    """Form for the expiry of a live credential."""

    edge = (NEVER, "Never")


# Each kind defines who may rotate and revoke, which functions do it, and the specific texts of its pages.


@dataclass(frozen=True)
class Credential:
    """The client secret or API key of a page."""

    kind: "Kind"
    membership: Membership
    row: Any  # ClientSecret or ApiKey
    name: str  # its name within a sentence
    masked: str
    created_by: str  # an email address, or who else it was
    is_live: bool
    page_arguments: tuple[str, ...]  # of the URL of the list
    role: str = Role.DEVELOPER  # the lowest role that may change it
    client: Client | None = None
    replacement_expires_at: datetime | None = None
    is_only: bool = False  # the client has no other live secret
    is_used_lately: bool = False
    may_overlap: bool = True  # its replacement may be live at the same time

    @property
    def list_url(self) -> str:
        return reverse(self.kind.list_page, args=self.page_arguments)

    @property
    def revoke_url(self) -> str:
        return reverse(self.kind.revoke_page, args=[*self.page_arguments, getattr(self.row, self.kind.id_field)])


@dataclass(frozen=True)
class Kind:
    """One kind of credentials: how they are found, changed and shown."""

    # Finds the credential of a URL. Takes the request, whether it is to be revoked, and the URL's ids. Raises Http404
    # and PermissionDenied.
    find: Callable[..., Credential]
    rotate: Callable[[Any, datetime, Account], tuple[Any, str]]
    set_expiry: Callable[[Any, datetime | None, Account], None]
    revoke: Callable[[Any, Account], None]
    show: Callable[[HttpRequest, Credential, Any, str], HttpResponse]  # the new row and its raw value
    max_life: timedelta  # how far ahead a live one may expire
    list_page: str
    revoke_page: str
    id_field: str
    rotation_text: str  # explains rotation
    sent_before_text: str  # for a form that is sent a second time
    too_many_text: str  # if the old one and its replacement can't both be live
    revocation_text: str  # explains revocation


def _find_secret(request: HttpRequest, revoking: bool, project_id: str, client_id: str, secret_id: int) -> Credential:
    membership, client = get_client(request, project_id, client_id, Role.DEVELOPER)
    rows = client.secrets.annotate(creator=member_email(membership.project, "created_by"))
    live = list(rows.live())
    row = next((each for each in live if each.pk == secret_id), None)
    is_live = row is not None
    row = row or rows.filter(pk=secret_id).first()
    if row is None or (revoking and not is_live):
        raise Http404
    row.client = client
    return Credential(
        CLIENT_SECRETS,
        membership,
        row,
        name=f"secret …{row.last_four}",
        masked=f"…{row.last_four}",
        created_by=(row.creator or FORMER_MEMBER) if row.created_by_id else "An operator",
        is_live=is_live,
        page_arguments=(project_id, client_id),
        client=client,
        is_only=len(live) == 1,
        is_used_lately=was_used_lately(row),
        may_overlap=len(live) < MAX_LIVE_SECRETS,
    )


def _show_secret(request: HttpRequest, old: Credential, new: ClientSecret, raw: str) -> HttpResponse:
    assert old.client is not None
    return show_client_secret(request, old.membership, old.client, raw, "The new secret")


def may_revoke(membership: Membership, key: ApiKey) -> bool:
    """Return whether the member may revoke the key: the key's owner in any role, and project owners."""
    return membership.is_owner or key.owner_id == membership.account.pk


def _find_key(request: HttpRequest, revoking: bool, project_id: str, key_id: str) -> Credential:
    membership = get_membership(request, project_id, Role.VIEWER if revoking else Role.DEVELOPER)
    keys = ApiKey.objects.annotate(owner_email=member_email(membership.project, "owner"))
    key = keys.filter(project=membership.project, public_id=key_id).first()
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
        created_by=key.owner_email or FORMER_MEMBER,
        is_live=key.state == "live",
        page_arguments=(project_id,),
        role=Role.DEVELOPER if not revoking else Role.VIEWER if is_own else Role.OWNER,
        replacement_expires_at=replacement_expires_at(key),
    )


def _show_key(request: HttpRequest, old: Credential, new: ApiKey, raw: str) -> HttpResponse:
    return show_api_key(request, old.membership, new, raw, f"{new.name} is rotated")


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


@limited_by_person
@console_page("GET", "HEAD", "POST")
def rotate(request: HttpRequest, kind: Kind, **ids: Any) -> HttpResponse:
    """…/<id>/rotate: ask when the old one ends, then create a new one and show it once; idempotent."""
    credential = kind.find(request, False, **ids)
    if not credential.is_live and request.method != "POST":
        raise Http404
    chosen = "24h" if credential.may_overlap else "now"
    form = RotationForm(_sent(request), most=MAX_OVERLAP, chosen=chosen)
    if form.is_valid():
        try:
            return _rotate(request, credential, form)
        except idempotency.AlreadyProcessed:
            return _to_list(request, credential, kind.sent_before_text, messages.INFO)
        except idempotency.MissingToken:
            form.add_error(None, "Nothing was rotated. Please send the form again.")
        except (QuotaExceeded, TooManySecrets):
            form.add_error(None, kind.too_many_text)
        except CredentialEnded:
            return _to_list(
                request, credential, "It has ended in the meantime, so nothing was rotated.", messages.ERROR
            )
    if not credential.is_live:
        raise Http404
    return _page(request, "rotate", credential, form=form, once=idempotency.new_token())


def _rotate(request: HttpRequest, credential: Credential, form: RotationForm) -> HttpResponse:
    membership, kind = credential.membership, credential.kind
    with lock_for_change(membership.project, membership.account, credential.role):
        sent = idempotency.consume_token(request)
        new, raw = kind.rotate(credential.row, form.ends_at, membership.account)
        idempotency.record_result(sent, new.last_four)
    return kind.show(request, credential, new, raw)


@limited_by_person
@console_page("GET", "HEAD", "POST")
def change_expiry(request: HttpRequest, kind: Kind, **ids: Any) -> HttpResponse:
    """…/<id>/expiry: change or remove the expiry of a live credential."""
    credential = kind.find(request, False, **ids)
    if not credential.is_live:
        raise Http404
    membership, end = credential.membership, credential.row.expires_at
    form = ExpiryForm(_sent(request), most=kind.max_life, chosen=CHOSEN if end else NEVER, at=end)
    if form.is_valid():
        end = form.expires_at
        with lock_for_change(membership.project, membership.account, credential.role):
            try:
                kind.set_expiry(credential.row, end, membership.account)
            except CredentialEnded as ended:
                raise Http404 from ended
        if end is None:
            return _to_list(request, credential, f"You removed the expiry of {credential.name}.")
        moment = f"{end:%-d %B %Y at %H:%M} UTC"
        return _to_list(request, credential, f"You changed the expiry of {credential.name} to {moment}.")
    return _page(request, "expiry", credential, form=form)


@console_page("GET", "HEAD", "POST")
def revoke(request: HttpRequest, kind: Kind, **ids: Any) -> HttpResponse:
    """…/<id>/revoke (secrets: …/<id>/end): confirm, then revoke.

    A secret that was used recently, or is the only one, needs a checkbox as well.
    """
    credential = kind.find(request, True, **ids)
    membership = credential.membership
    must_tick = credential.is_used_lately or credential.is_only
    is_unticked = request.method == "POST" and must_tick and "understood" not in request.POST
    if request.method == "POST" and not is_unticked:
        with lock_for_change(membership.project, membership.account, credential.role):
            kind.revoke(credential.row, membership.account)
        return _to_list(request, credential, f"You revoked {credential.name}.")
    return _page(request, "revoke", credential, must_tick=must_tick, is_unticked=is_unticked)


def _sent(request: HttpRequest) -> Any:
    return request.POST if request.method == "POST" else None


def _to_list(request: HttpRequest, credential: Credential, text: str, level: int = messages.SUCCESS) -> HttpResponse:
    messages.add_message(request, level, text)
    return HttpResponseRedirect(credential.list_url)


def _page(request: HttpRequest, page: str, credential: Credential, **context: Any) -> HttpResponse:
    template = f"console/credential_{page}.html"
    return render_page(request, template, credential.membership, credential.client, credential=credential, **context)
