"""A client's page *Permissions*: the APIs with their scopes, and which scopes people may leave out."""

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse

from core.changed_meanwhile import ChangedMeanwhile
from core.limits.middleware import limited_by_person
from devportal.console.access import Membership, get_client
from devportal.console.clients.forms import OptionalScopesForm
from devportal.console.clients.permissions import DAYS, permissions_of
from devportal.console.navigation import console_page, redirect_to_client, render_page
from oidc.clients.registration import change_optional_scopes, optional_scopes_digest
from oidc.models import Client
from oidc.projects.roles import Role, lock_for_change


@limited_by_person
@console_page("GET", "HEAD", "POST")
def client_permissions(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """…/permissions: a POST saves the optional scopes."""
    at_least = Role.DEVELOPER if request.method == "POST" else Role.VIEWER
    membership, client = get_client(request, project_id, client_id, at_least)
    form = OptionalScopesForm(request.POST if request.method == "POST" else None, client=client)
    if form.is_valid() and _save(membership, client, form):
        messages.success(request, "Saved. The changes apply to sign-ins from now on.")
        return redirect_to_client(client, "client_permissions")
    permissions = permissions_of(client)
    chosen = form["optional_scopes"].value() or []
    return render_page(
        request,
        "console/client_permissions.html",
        membership,
        client,
        form=form,
        permissions=permissions,
        chosen=chosen,
        days=DAYS,
    )


def _save(membership: Membership, client: Client, form: OptionalScopesForm) -> bool:
    """Save the choice and return True. Otherwise add the error to the form."""
    try:
        with lock_for_change(membership.project, membership.account, Role.DEVELOPER):
            given = form.cleaned_data
            change_optional_scopes(client, membership.account, given["optional_scopes"], given["seen"])
    except ValidationError as error:  # changed by someone else, or an approval was withdrawn a moment ago
        if isinstance(error, ChangedMeanwhile):
            client.refresh_from_db(fields=["optional_scopes"])
            form.show_over(optional_scopes_digest(client))
        form.add_error("optional_scopes", error)
        return False
    return True
