"""A project's settings: renaming, transferring, leaving, deleting, restoring."""

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from devportal.console.access import get_membership
from devportal.console.confirmation import confirm_by_name
from devportal.console.members.views import CHANGED, LAST_OWNER, members_of
from devportal.console.name_field import accept_saved_name
from devportal.console.projects.forms import ProjectNameForm, TransferForm
from devportal.console.shortcuts import console_page, render_page
from devportal.lib.ratelimit.forms import limited_by_person
from oidc.projects import lifecycle, members
from oidc.projects.locking import Gone
from oidc.projects.members import LastOwner
from oidc.projects.quotas import QuotaExceeded
from oidc.projects.roles import Role, lock_for_change


def _to_home() -> HttpResponse:
    return HttpResponseRedirect(reverse("console:home"))


@limited_by_person
@console_page("GET", "HEAD", "POST")
def project_settings(request: HttpRequest, project_id: str) -> HttpResponse:
    """…/settings: the project's settings; owners can rename it here, and find the links to transfer and delete."""
    membership = get_membership(request, project_id, Role.OWNER if request.method == "POST" else Role.VIEWER)
    form = ProjectNameForm(
        request.POST if request.method == "POST" else None, initial={"name": membership.project.name}
    )
    accept_saved_name(form.fields["name"], membership.project.name)
    if form.is_valid():
        try:
            with lock_for_change(membership.project, membership.account, Role.OWNER):
                lifecycle.rename_project(membership.project, form.cleaned_data["name"], membership.account)
        except ValidationError as error:
            form.add_error("name", error)
        else:
            messages.success(request, "The name is saved.")
            return HttpResponseRedirect(request.path)
    days = settings.PROJECT_RESTORE_DAYS
    return render_page(request, "console/project_settings.html", membership, form=form, restore_days=days)


@limited_by_person
@console_page("GET", "HEAD", "POST")
def project_transfer(request: HttpRequest, project_id: str) -> HttpResponse:
    """…/transfer: transfer ownership to another member, and become a developer."""
    membership = get_membership(request, project_id, Role.OWNER)
    others = [
        one for one in members_of(membership) if one.account_id != membership.account.pk and one.account.is_active
    ]
    form = TransferForm(request.POST if request.method == "POST" else None, members=others)
    if form.is_valid():
        to = form.chosen()
        try:
            members.transfer_ownership(membership.project, to, membership.account)
        except QuotaExceeded as too_many:
            form.add_error("to", str(too_many))
        except Gone:
            form.add_error(None, CHANGED)
        else:
            messages.success(request, f"{to.account.email} is now an owner, and you are a developer.")
            return HttpResponseRedirect(reverse("console:members", args=[project_id]))
    return render_page(request, "console/project_transfer.html", membership, form=form, others=others)


@console_page("GET", "HEAD", "POST")
def project_leave(request: HttpRequest, project_id: str) -> HttpResponse:
    """…/leave: confirmation, then leaving."""
    membership = get_membership(request, project_id)
    if request.method == "POST":
        try:
            members.leave_project(membership.project, membership.account)
        except LastOwner:
            messages.error(request, LAST_OWNER)
            return HttpResponseRedirect(request.path)
        except Gone:
            pass
        else:
            messages.success(request, f"You have left {membership.project.name}.")
        return _to_home()
    owners = [one for one in members_of(membership) if one.role == Role.OWNER and one.account.is_active]
    is_last = membership.is_owner and len(owners) == 1
    return render_page(request, "console/project_leave.html", membership, is_last_owner=is_last)


@console_page("GET", "HEAD", "POST")
def project_delete(request: HttpRequest, project_id: str) -> HttpResponse:
    """…/delete: confirmation, then deletion."""
    membership = get_membership(request, project_id, Role.OWNER)
    name = membership.project.name
    form = confirm_by_name(request, name)
    if form.is_valid():
        try:
            lifecycle.delete_project(membership.project, membership.account)
        except Gone:
            messages.error(request, CHANGED)
        else:
            days = settings.PROJECT_RESTORE_DAYS
            messages.success(request, f"{name} is deleted. Its owners can restore it here for {days} days.")
        return _to_home()
    days = settings.PROJECT_RESTORE_DAYS
    return render_page(request, "console/project_delete.html", membership, form=form, restore_days=days)


@console_page("POST", form_at="console:home")
def project_restore(request: HttpRequest, project_id: str) -> HttpResponse:
    """POST …/restore: restore a deleted project, for its owners."""
    membership = get_membership(request, project_id, deleted=True)
    if not membership.is_owner:
        # Only owners can access a deleted project.
        raise Http404 if membership.project.is_deleted else PermissionDenied
    if not membership.project.is_deleted:
        return HttpResponseRedirect(reverse("console:project", args=[project_id]))
    try:
        lifecycle.restore_project(membership.project, membership.account)
    except QuotaExceeded as too_many:
        messages.error(request, str(too_many))
    except Gone:
        messages.error(request, CHANGED)
    else:
        name = membership.project.name
        messages.success(request, f"{name} is restored. Create new secrets and API keys: the old ones stay revoked.")
        return HttpResponseRedirect(reverse("console:project", args=[project_id]))
    return _to_home()
