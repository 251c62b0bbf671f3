"""A client's settings: name, URLs, secrets, scopes, sign-in rules, turning it off and on, type, and deletion."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from core.changed_meanwhile import ChangedMeanwhile
from core.limits.middleware import limited_by_person
from devportal.console import idempotency
from devportal.console.access import Membership, get_client
from devportal.console.clients.forms import MORE, ChangeTypeForm, ClientSettingsForm
from devportal.console.clients.scope_report import DAYS, scope_report
from devportal.console.clients.secret_views import listed_secrets
from devportal.console.forms import confirm_by_name
from devportal.console.navigation import console_page, redirect_to_client, render_page
from oidc.clients import registration
from oidc.clients.domain_names import domains_of
from oidc.clients.reviewed_hosts import HostStanding, new_host_standings
from oidc.clients.secrets import change_type
from oidc.models import Client, TokenFamily
from oidc.projects.roles import Role, lock_for_change


class Endpoint(NamedTuple):
    """An endpoint: its URL, its label, and its name on the copy button."""

    label: str
    address: str

    @property
    def noun(self) -> str:
        return f"the {self.label[0].lower()}{self.label[1:]}" if self.label != "JWKS" else "the JWKS URL"


_ROUTES = (
    ("Discovery", "discovery"),
    ("Authorization endpoint", "authorize"),
    ("Token endpoint", "token"),
    ("Userinfo endpoint", "userinfo"),
    ("JWKS", "jwks"),
    ("Sign-out endpoint", "logout"),
)


def endpoints() -> list[Endpoint]:
    """Return the issuer and the endpoints, all on AUTH_URL."""
    found = [Endpoint(label, f"{settings.AUTH_URL}{reverse(name)}") for label, name in _ROUTES]
    return [Endpoint("Issuer", settings.ISSUER), *found]


MOST_NAMED = 5


def notify_about_new_hosts(request: HttpRequest, client: Client, before: Sequence[str]) -> None:
    """Add messages on whether new hosts count as reviewed. `before` are the client's previous redirect URIs."""
    if not client.is_verified or client.first_party:
        return
    new = new_host_standings(client, before, domains_of(client.project))
    if counting := _named(standing for standing in new if standing.counts):
        messages.success(request, f"People who come from {counting} immediately see the app as reviewed.")
    if outside := _named(standing for standing in new if not standing.counts):
        text = f"Not reviewed: {outside}. People who come from there see the app as not reviewed."
        messages.warning(request, text)


def _named(standings: Iterable[HostStanding]) -> str:
    """Return the first hosts and the number of others as text; "" for none."""
    hosts = [standing.host for standing in standings]
    more = len(hosts) - MOST_NAMED
    return ", ".join(hosts[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


@limited_by_person
@console_page("GET", "HEAD", "POST")
def client_settings(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """…/clients/<id>/: all settings; a POST saves the form. `?add=` and `?add_sign_out=` prefill a URL, unsaved."""
    at_least = Role.DEVELOPER if request.method == "POST" else Role.VIEWER
    membership, client = get_client(request, project_id, client_id, at_least)
    if request.method != "POST":
        added, added_sign_out = (request.GET.get(name, "").strip() for name in ("add", "add_sign_out"))
        form = ClientSettingsForm(client=client, added=added, added_sign_out=added_sign_out)
        return _settings(request, membership, client, form)
    if MORE in request.POST:
        return _settings(request, membership, client, ClientSettingsForm.with_more_rows(request.POST, client=client))
    form = ClientSettingsForm(request.POST, client=client)
    if form.is_valid():
        try:
            saved = _update(client, membership, form.cleaned_data)
        except ChangedMeanwhile as error:
            membership, client = get_client(request, project_id, client_id, at_least)
            form = ClientSettingsForm.over_changes(request.POST, error, client=client)
        except ValidationError as error:  # submitted, reviewed, or an approval withdrawn a moment ago
            form.add_error(None, error)
        else:
            messages.success(request, "Saved. The changes apply to sign-ins from now on.")
            notify_about_new_hosts(request, saved, client.registered_redirect_uris)
            return redirect_to_client(client)
    return _settings(request, membership, client, form)


def _update(client: Client, membership: Membership, given: dict[str, Any]) -> Client:
    name, addresses = given.get("name"), (given["redirect_uris"], given["post_logout_redirect_uris"])
    with lock_for_change(membership.project, membership.account, Role.DEVELOPER):
        saved = registration.update_client(
            client,
            membership.account,
            *addresses,
            name,
            least_acr=given["least_acr"],
            forgive_lost_responses=given["forgive_lost_responses"],
            seen=given["seen"],
        )
        if given["optional_scopes"] is not None:
            registration.change_optional_scopes(
                client, membership.account, given["optional_scopes"], given["seen_scopes"]
            )
    return saved


def _settings(request: HttpRequest, membership: Membership, client: Client, form: ClientSettingsForm) -> HttpResponse:
    return render_page(
        request,
        "console/client_settings.html",
        membership,
        client,
        form=form,
        once=idempotency.new_token(),
        secrets=listed_secrets(membership, client),
        scopes=scope_report(client),
        chosen_scopes=form["optional_scopes"].value() or [],
        days=DAYS,
        endpoints=endpoints(),
        people_before_review=settings.UNVERIFIED_APP_PEOPLE,
        lost_response_seconds=settings.LOST_RESPONSE_SECONDS,
    )


@console_page("POST")
def client_switch(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """POST …/switch with enabled=on or off."""
    membership, client = get_client(request, project_id, client_id, Role.DEVELOPER)
    wanted = request.POST.get("enabled", "")
    if wanted in ("on", "off"):
        with lock_for_change(membership.project, membership.account, Role.DEVELOPER):
            registration.set_client_enabled(client, membership.account, wanted == "on")
        messages.success(request, f"{client.name} is turned {wanted}. This takes effect everywhere within 30 seconds.")
    return redirect_to_client(client)


@console_page("GET", "HEAD", "POST")
def client_type(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """…/type: confirm the consequences, then change the type."""
    membership, client = get_client(request, project_id, client_id, Role.DEVELOPER)
    form = ChangeTypeForm(request.POST if request.method == "POST" else None, client=client)
    if form.is_valid():
        with lock_for_change(membership.project, membership.account, Role.DEVELOPER):
            change_type(client, form.cleaned_data["type"], membership.account)
        text = f"{client.name} has a new type. Its tokens and secrets of the old type have ended."
        messages.success(request, text + " Create a secret for it below." if client.has_secret else text)
        return redirect_to_client(client, anchor="secrets" if client.has_secret else "")
    authorizations = TokenFamily.objects.filter(connection__client=client, revoked_at=None)
    return render_page(
        request,
        "console/client_type.html",
        membership,
        client,
        form=form,
        secrets=client.secrets.live().count(),
        has_authorizations=authorizations.exists(),
    )


@console_page("GET", "HEAD", "POST")
def client_delete(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """…/delete: confirm by typing the name, then delete."""
    membership, client = get_client(request, project_id, client_id, Role.DEVELOPER)
    form = confirm_by_name(request, client.name)
    if form.is_valid():
        with lock_for_change(membership.project, membership.account, Role.DEVELOPER):
            registration.delete_client(client, membership.account)
        messages.success(request, f"{client.name} is deleted.")
        return HttpResponseRedirect(reverse("console:clients", args=[project_id]))
    return render_page(request, "console/client_delete.html", membership, client, form=form)
