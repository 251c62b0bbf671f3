"""Connected apps, /account/apps/: the apps that a person has authorized, and removing them."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from oidc import scopes
from oidc.authorization import consent
from oidc.clients.presentation import client_context
from oidc.models import Connection


def _row(connection: Connection) -> dict[str, Any]:
    granted = scopes.parse_scope(connection.scopes)
    return {
        "id": connection.pk,
        "client": client_context(connection.client),
        "accesses": [scopes.SCOPES[name].title for name in granted if name in scopes.SCOPES],
        "first_authorized_at": connection.first_authorized_at,
        "last_authorized_at": connection.last_authorized_at,
    }


def _connections_of(request: HttpRequest) -> Any:
    return Connection.objects.filter(account_id=request.user.pk or 0, removed_at=None).select_related("client__project")


@never_cache
@login_required
@require_safe
def connected_apps(request: HttpRequest) -> HttpResponse:
    """GET /account/apps/."""
    rows = [_row(connection) for connection in _connections_of(request).order_by("-last_authorized_at")]
    return render(request, "oidc/connected_apps.html", {"connections": rows})


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def remove(request: HttpRequest, connection_id: int) -> HttpResponse:
    """/account/apps/<id>/remove: a confirmation page, then the removal."""
    connection = get_object_or_404(_connections_of(request), pk=connection_id)
    if request.method == "POST":
        consent.remove_consent(connection, request)
        messages.success(request, f"{connection.client.name} no longer has access.")
        return HttpResponseRedirect(reverse("connected_apps"))
    return render(request, "oidc/connected_app_remove.html", {"connection": _row(connection)})
