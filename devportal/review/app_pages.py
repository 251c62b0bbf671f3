"""The public page of a reviewed app (/apps/<slug>/), and the console page that publishes it (docs/review.md)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from core.limits.middleware import limited_by_person
from devportal.console.access import Membership, get_client
from devportal.console.navigation import console_page, redirect_to_client, render_page
from devportal.review.rules.snapshots import approved_snapshot
from oidc.apis.scopes import group_by_api, known_scopes
from oidc.clients.domain_names import domains_of, hosts_of
from oidc.clients.reviewed_hosts import approved_among
from oidc.domains import branding
from oidc.domains.branding import client_context
from oidc.models import Client
from oidc.projects.roles import Role, lock_for_change


@dataclass(frozen=True)
class Asked:
    """An approved scope: its API, its sentence on the consent page, and what the app needs it for."""

    api: str
    title: str
    why: str


def page_context(client: Client) -> dict[str, Any]:
    """Return the template context of the public page of an app that has one now.

    The project's name is not included, because its owners can change it at any time without a review.
    """
    justifications: dict[str, str] = approved_snapshot(client)["scopes"]
    available = [scope for scope in known_scopes().values() if scope.enabled]
    since, looked_at = client.verified_at, client.last_reviewed_at
    return {
        "client": client_context(client),
        "client_id": client.client_id,
        "domains": proven_domains(client),
        "asked": [
            Asked(api.name if api else "", scope.title, justifications[scope.name])
            for api, scopes in group_by_api(scope for scope in available if scope.name in justifications)
            for scope in scopes
        ],
        # what any app may ask for without a review
        "unreviewed": group_by_api(scope for scope in available if not scope.needs_approval),
        "since": since,
        "looked_at": looked_at if _is_later(looked_at, since) else None,
    }


def _is_later(looked_at: datetime | None, since: datetime | None) -> bool:
    return looked_at is not None and since is not None and looked_at.date() > since.date()


def proven_domains(client: Client) -> list[str]:
    """Return the proven domains, from the review, of the app's home page and redirect URLs."""
    hosts = hosts_of([client.home_page_url, *client.redirect_uris.split()])
    domains = approved_among(client, domains_of(client.project))
    return [domain.name for domain in domains if domain.is_proven and any(map(domain.covers, hosts))]


@require_safe
def public_page(request: HttpRequest, slug: str) -> HttpResponse:
    """GET /apps/<slug>/: the public page of a reviewed app; 404 if the app has none now."""
    client, is_its_address = branding.find_page(slug)
    if client is None:
        raise Http404
    if not is_its_address:
        return redirect("app_page", client.page_slug)
    return render(request, "review/app_public_page.html", page_context(client))


class SlugForm(forms.Form):
    slug = forms.CharField(
        label="End of the URL",
        max_length=branding.MAX_LENGTH,
        help_text="The part after /apps/: lowercase letters from a to z, digits and single hyphens. Earlier "
        "URLs still lead to the page.",
        validators=[branding.validate_slug],
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )


@limited_by_person
@console_page("GET", "HEAD", "POST")
def publish(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """…/page: publish, move or take down the public page of a reviewed app."""
    at_least = Role.DEVELOPER if request.method == "POST" else Role.VIEWER
    membership, client = get_client(request, project_id, client_id, at_least)
    if request.method != "POST":
        return _page(request, membership, client)
    if request.POST.get("step") == "take_down":
        with lock_for_change(membership.project, membership.account, Role.DEVELOPER):
            branding.take_down_page(client, membership.account)
        messages.success(request, "The public page was taken down. Its URLs stay reserved for this app.")
        return redirect_to_client(client, "app_page")
    form = SlugForm(request.POST)
    if form.is_valid() and _publish(membership, client, form):
        messages.success(request, "Published. People find a link to it on the consent page and under Connected apps.")
        return redirect_to_client(client, "app_page")
    return _page(request, membership, client, form)


def _publish(membership: Membership, client: Client, form: SlugForm) -> bool:
    try:
        with lock_for_change(membership.project, membership.account, Role.DEVELOPER):
            branding.publish_page(client, membership.account, form.cleaned_data["slug"])
    except ValidationError as refused:
        form.add_error("slug", refused)
    except branding.NotReviewed:
        form.add_error(None, "Only reviewed apps can have a public page. Submit the app for review first.")
    else:
        return True
    return False


def _page(request: HttpRequest, membership: Membership, client: Client, form: SlugForm | None = None) -> HttpResponse:
    suggested = client.page_slug or branding.suggest_slug(client.name)
    return render_page(
        request,
        "review/app_page.html",
        membership,
        client,
        form=form or SlugForm(initial={"slug": suggested}),
        is_public=branding.has_public_page(client),
    )
