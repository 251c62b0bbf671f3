"""Pages that rotate and revoke client secrets and API keys, and the panel that shows a new one once."""

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

from api.keys import API_KEYS, READS_PROFILE, replacement_expires_at
from api.models import ApiKey
from core import clock
from core.limits.middleware import limited_by_person
from devportal.console import idempotency
from devportal.console.access import Membership, get_client, get_membership, member_email
from devportal.console.fixes import client_page
from devportal.console.navigation import console_page, render_page, render_secret_page
from oidc.clients.secrets import CLIENT_SECRETS, MAX_LIVE_SECRETS
from oidc.models import Client, ClientSecret
from oidc.projects.credentials import MAX_OVERLAP, CredentialEnded, CredentialKind
from oidc.projects.lifecycle import QuotaExceeded
from oidc.projects.roles import Role, lock_for_change
from oidc.values.redirect_uris import playground_redirect_uri

RECENTLY = timedelta(hours=24)
FORMER_MEMBER = "Someone who is no longer a member"


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


_NOW, _NEVER, _CHOSEN = "now", "never", "at"
_SPANS = {
    "1h": ("In 1 hour", timedelta(hours=1)),
    "24h": ("In 24 hours", timedelta(hours=24)),
    "7d": ("In 7 days", timedelta(days=7)),
}
_LATER = [*((value, label) for value, (label, _) in _SPANS.items()), (_CHOSEN, "At a time of your choice")]
_FORMATS = ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M"]


class EndForm(forms.Form):
    """When a credential ends: a choice of times, and a field for any other time."""

    when = forms.ChoiceField(
        label="Expires", error_messages={"required": "Choose one.", "invalid_choice": "This is not one of the choices."}
    )
    at = forms.DateTimeField(
        label="Day and time in UTC",
        required=False,
        input_formats=_FORMATS,
        error_messages={"invalid": "Enter day and time as 2031-12-24 18:30."},
        widget=forms.DateTimeInput(attrs={"placeholder": "2031-12-24 18:30"}, format=_FORMATS[-1]),
    )

    def __init__(self, data: Any, choices: list[tuple[str, str]], most: timedelta, **initial: Any) -> None:
        """`most` is how far ahead the end may be, `initial` the initial values of the fields."""
        super().__init__(data, initial=initial)
        self._most = most
        when = self.fields["when"]
        assert isinstance(when, forms.ChoiceField)
        when.choices = choices

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        if given.get("when") != _CHOSEN or "at" in self.errors:
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
        """The chosen end, in UTC; None for now (of a rotation) or never (of an expiry)."""
        when = self.cleaned_data["when"]
        if when == _CHOSEN:
            at: datetime = self.cleaned_data["at"]
            return at.astimezone(UTC)
        return clock.now() + _SPANS[when][1] if when in _SPANS else None


@dataclass(frozen=True)
class ShownCredential:
    """The client secret or API key of a page."""

    membership: Membership
    row: Any  # ClientSecret or ApiKey
    name: str  # its name within a sentence
    masked: str
    created_by: str  # an email address, or who else it was
    list_url: str
    revoke_url: str
    role: str = Role.DEVELOPER  # the lowest role that may change it
    client: Client | None = None
    replacement_expires_at: datetime | None = None
    is_only: bool = False  # the client has no other live secret
    is_used_lately: bool = False
    may_overlap: bool = True  # its replacement may be live at the same time

    @property
    def is_live(self) -> bool:
        return bool(self.row.state == "live")


@dataclass(frozen=True)
class CredentialPages:
    """The pages of one kind of credentials: how a credential is found and shown, and the specific texts."""

    kind: CredentialKind[Any]
    # Finds the credential of a URL. Takes the request, whether it is to be revoked, and the URL's ids. Raises Http404
    # and PermissionDenied.
    find: Callable[..., ShownCredential]
    show: Callable[[HttpRequest, ShownCredential, Any, str], HttpResponse]  # the new row and its raw value
    rotation_text: str  # explains rotation
    sent_before_text: str  # for a form that is sent a second time
    too_many_text: str  # if the old one and its replacement can't both be live
    revocation_text: str  # explains revocation


def _find_secret(
    request: HttpRequest, revoking: bool, project_id: str, client_id: str, secret_id: int
) -> ShownCredential:
    membership, client = get_client(request, project_id, client_id, Role.DEVELOPER)
    rows = client.secrets.annotate(creator=member_email(membership.project, "created_by"))
    live = list(rows.live())
    row = next((each for each in live if each.pk == secret_id), None) or rows.filter(pk=secret_id).first()
    if row is None or (revoking and row not in live):
        raise Http404
    row.client = client
    return ShownCredential(
        membership,
        row,
        name=f"secret …{row.last_four}",
        masked=f"…{row.last_four}",
        created_by=(row.creator or FORMER_MEMBER) if row.created_by_id else "An operator",
        list_url=client_page(client, "client_settings", "secrets"),
        revoke_url=reverse("console:client_secret_end", args=[project_id, client_id, secret_id]),
        client=client,
        is_only=len(live) == 1,
        is_used_lately=was_used_lately(row),
        may_overlap=len(live) < MAX_LIVE_SECRETS,
    )


def _show_secret(request: HttpRequest, old: ShownCredential, new: ClientSecret, raw: str) -> HttpResponse:
    assert old.client is not None
    return show_client_secret(request, old.membership, old.client, raw, "The new secret")


def may_revoke(membership: Membership, key: ApiKey) -> bool:
    """Return whether the member may revoke the key: the key's owner in any role, and project owners."""
    return membership.is_owner or key.owner_id == membership.account.pk


def _find_key(request: HttpRequest, revoking: bool, project_id: str, key_id: str) -> ShownCredential:
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
    return ShownCredential(
        membership,
        key,
        name=key.name,
        masked=key.masked,
        created_by=key.owner_email or FORMER_MEMBER,
        list_url=reverse("console:keys", args=[project_id]),
        revoke_url=reverse("console:key_revoke", args=[project_id, key_id]),
        role=Role.DEVELOPER if not revoking else Role.VIEWER if is_own else Role.OWNER,
        replacement_expires_at=replacement_expires_at(key),
    )


def _show_key(request: HttpRequest, old: ShownCredential, new: ApiKey, raw: str) -> HttpResponse:
    return show_api_key(request, old.membership, new, raw, f"{new.name} is rotated")


SECRET_PAGES = CredentialPages(
    CLIENT_SECRETS,
    _find_secret,
    _show_secret,
    rotation_text="You get a new secret. Both are accepted until the old one expires, so that you can give your app "
    "the new one without downtime.",
    sent_before_text="This form was already sent and has created a secret, which was shown once. No second secret was "
    "created.",
    too_many_text="Two secrets are live, which is the maximum. Choose to end this one immediately, or revoke the "
    "other one first.",
    revocation_text="Requests with this secret are refused immediately. This can’t be undone.",
)
KEY_PAGES = CredentialPages(
    API_KEYS,
    _find_key,
    _show_key,
    rotation_text="You get a new key with the same name and scopes. Both work until the old one expires.",
    sent_before_text="This form was already sent and has created a key, which was shown once. No second key was "
    "created.",
    too_many_text="This project has the maximum number of live keys. Choose to end this one immediately, or revoke "
    "another one first.",
    revocation_text="Requests with this key are refused everywhere within 30 seconds. This can’t be undone.",
)


@limited_by_person
@console_page("GET", "HEAD", "POST")
def rotate(request: HttpRequest, pages: CredentialPages, **ids: Any) -> HttpResponse:
    """…/<id>/rotate: ask when the old one ends, then create a new one and show it once; idempotent."""
    credential = pages.find(request, False, **ids)
    if not credential.is_live and request.method != "POST":
        raise Http404
    chosen = "24h" if credential.may_overlap else _NOW
    form = EndForm(_sent(request), [(_NOW, "Now"), *_LATER], MAX_OVERLAP, when=chosen)
    if form.is_valid():
        try:
            with lock_for_change(credential.membership.project, credential.membership.account, credential.role):
                sent = idempotency.consume_token(request)
                new, raw = pages.kind.rotate(
                    credential.row, form.expires_at or clock.now(), credential.membership.account
                )
                idempotency.record_result(sent, new.last_four)
            return pages.show(request, credential, new, raw)
        except idempotency.AlreadyProcessed:
            return _to_list(request, credential, pages.sent_before_text, messages.INFO)
        except idempotency.MissingToken:
            form.add_error(None, "Nothing was rotated. Please send the form again.")
        except QuotaExceeded:
            form.add_error(None, pages.too_many_text)
        except CredentialEnded:
            return _to_list(
                request, credential, "It has ended in the meantime, so nothing was rotated.", messages.ERROR
            )
    if not credential.is_live:
        raise Http404
    return _page(request, "rotate", credential, pages=pages, form=form, once=idempotency.new_token())


@limited_by_person
@console_page("GET", "HEAD", "POST")
def change_expiry(request: HttpRequest, pages: CredentialPages, **ids: Any) -> HttpResponse:
    """…/<id>/expiry: change or remove the expiry of a live credential."""
    credential = pages.find(request, False, **ids)
    if not credential.is_live:
        raise Http404
    membership, end = credential.membership, credential.row.expires_at
    choices = [*_LATER, (_NEVER, "Never")]
    form = EndForm(_sent(request), choices, pages.kind.max_life, when=_CHOSEN if end else _NEVER, at=end)
    if form.is_valid():
        end = form.expires_at
        with lock_for_change(membership.project, membership.account, credential.role):
            try:
                pages.kind.set_expiry(credential.row, end, membership.account)
            except CredentialEnded as ended:
                raise Http404 from ended
        if end is None:
            return _to_list(request, credential, f"You removed the expiry of {credential.name}.")
        moment = f"{end:%-d %B %Y at %H:%M} UTC"
        return _to_list(request, credential, f"You changed the expiry of {credential.name} to {moment}.")
    return _page(request, "expiry", credential, form=form)


@console_page("GET", "HEAD", "POST")
def revoke(request: HttpRequest, pages: CredentialPages, **ids: Any) -> HttpResponse:
    """…/<id>/revoke (secrets: …/<id>/end): confirm, then revoke.

    A secret that was used recently, or is the only one, needs a checkbox as well.
    """
    credential = pages.find(request, True, **ids)
    membership = credential.membership
    must_tick = credential.is_used_lately or credential.is_only
    is_unticked = request.method == "POST" and must_tick and "understood" not in request.POST
    if request.method == "POST" and not is_unticked:
        with lock_for_change(membership.project, membership.account, credential.role):
            pages.kind.revoke(credential.row, membership.account)
        return _to_list(request, credential, f"You revoked {credential.name}.")
    return _page(request, "revoke", credential, pages=pages, must_tick=must_tick, is_unticked=is_unticked)


def _sent(request: HttpRequest) -> Any:
    return request.POST if request.method == "POST" else None


def _to_list(
    request: HttpRequest, credential: ShownCredential, text: str, level: int = messages.SUCCESS
) -> HttpResponse:
    messages.add_message(request, level, text)
    # Without the anchor, because the message is at the top of the page.
    return HttpResponseRedirect(credential.list_url.partition("#")[0])


def _page(request: HttpRequest, page: str, credential: ShownCredential, **context: Any) -> HttpResponse:
    template = f"console/credential_{page}.html"
    return render_page(request, template, credential.membership, credential.client, credential=credential, **context)
