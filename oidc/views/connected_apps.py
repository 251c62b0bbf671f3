"""Connected apps, /account/apps/: list the apps that a person has authorized, and remove them."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.models import Account
from oidc.apis import scopes
from oidc.apis.registry import ACCOUNT_READ
from oidc.apis.scopes import describe_scopes, plan_name
from oidc.authorization import consent
from oidc.clients.reviewed_hosts import outside_hosts
from oidc.domains.branding import client_context
from oidc.models import Connection


def _row(connection: Connection, account: Account, plan: str | None = None) -> dict[str, Any]:
    client = connection.client
    granted = [name for name in scopes.parse_scope(connection.scopes) if name in scopes.allowed_scopes(client)]
    left_out = scopes.optional_scopes(client) & consent.left_out_scopes(connection)
    if ACCOUNT_READ in granted:
        left_out -= scopes.ACCOUNT_READ_HOLDS
    return {
        "id": connection.pk,
        "client": client_context(client),
        "scope_descriptions": describe_scopes(account, granted, plan=plan),
        "outside_hosts": [host for host in outside_hosts(client) if host in (connection.scopes_outside_review or {})],
        "left_out": scopes.scope_titles(left_out),
        "first_authorized_at": connection.first_authorized_at,
        "last_authorized_at": connection.last_authorized_at,
    }


def _connections_of(account: Account) -> "QuerySet[Connection]":
    return Connection.objects.filter(account=account, removed_at=None).select_related("client__project")


def _account(request: HttpRequest) -> Account:
    assert isinstance(request.user, Account)
    return request.user


@never_cache
@login_required
@require_safe
def connected_apps(request: HttpRequest) -> HttpResponse:
    """GET /account/apps/."""
    account = _account(request)
    connections = list(_connections_of(account).order_by("-last_authorized_at"))
    needs_plan = any(ACCOUNT_READ in connection.scopes.split() for connection in connections)
    plan = plan_name(account) if needs_plan else ""  # once for all of them
    rows = [_row(connection, account, plan) for connection in connections]
    return render(request, "oidc/connected_apps.html", {"connections": rows})


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def which_account(request: HttpRequest) -> HttpResponse:
    """POST /account/apps/which-account: whether an app that several accounts have allowed shows the account chooser."""
    which = request.POST.get("which")
    if which in ("ask", "last"):
        Account.objects.filter(pk=_account(request).pk).update(asks_which_account=which == "ask")
        messages.success(request, "Saved.")
    return HttpResponseRedirect(reverse("connected_apps"))


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def remove(request: HttpRequest, connection_id: int) -> HttpResponse:
    """/account/apps/<id>/remove: a confirmation page, then the removal."""
    connection = get_object_or_404(_connections_of(_account(request)), pk=connection_id)
    if request.method == "POST":
        consent.remove_consent(connection, request)
        messages.success(request, f"{connection.client.name} no longer has access.")
        return HttpResponseRedirect(reverse("connected_apps"))
    return render(request, "oidc/connected_app_remove.html", {"connection": _row(connection, _account(request))})


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def ask_again(request: HttpRequest, connection_id: int) -> HttpResponse:
    """POST /account/apps/<id>/ask-again: let the next sign-in ask for the scopes that were left out. Grants nothing."""
    if request.method != "POST":  # the person had to sign in first, and was sent back here
        return HttpResponseRedirect(reverse("connected_apps"))
    connection = get_object_or_404(_connections_of(_account(request)), pk=connection_id)
    consent.ask_again(connection)
    messages.success(request, f"You will be asked again when you next sign in to {connection.client.name}.")
    return HttpResponseRedirect(reverse("connected_apps"))
