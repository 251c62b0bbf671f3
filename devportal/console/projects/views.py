"""Pages of a project: creating it, its overview, and its settings."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from accounts.models import Account
from accounts.sessions.authentication import account_of
from core.limits.middleware import limited_by_person
from devportal.console import idempotency
from devportal.console.access import get_membership
from devportal.console.forms import accept_saved_name, confirm_by_name, name_field
from devportal.console.members import CHANGED, LAST_OWNER, members_of
from devportal.console.navigation import console_page, render_page
from devportal.console.people import limit_usage
from devportal.console.projects import trends
from devportal.console.projects.first_steps import first_steps
from devportal.console.projects.overview import project_overview, with_reviewers
from oidc.models import Client, ProjectMember
from oidc.projects import lifecycle, members
from oidc.projects.lifecycle import QuotaExceeded
from oidc.projects.members import LastOwner
from oidc.projects.roles import Gone, Role, lock_for_change


class ProjectNameForm(forms.Form):
    """A project's name."""

    name = name_field("Only your team sees this name.")


class TransferForm(forms.Form):
    """Transfer of a project: the member who becomes its owner."""

    to = forms.ChoiceField(
        label="New owner",
        error_messages={"required": "Choose a member.", "invalid_choice": "Choose one of the members."},
    )

    def __init__(self, *args: Any, members: Sequence[ProjectMember], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["to"]
        assert isinstance(field, forms.ChoiceField)
        # No member is preselected, so that submitting the form as it is transfers nothing.
        people = [(str(member.pk), member.account.email) for member in members]
        field.choices = [("", "Choose a member"), *people]
        self.members = {str(member.pk): member for member in members}

    def chosen(self) -> ProjectMember:
        """Return the chosen member, once the form is valid."""
        return self.members[self.cleaned_data["to"]]


MAX_APPS = 10


@limited_by_person
@console_page("GET", "HEAD", "POST")
def project_new(request: HttpRequest) -> HttpResponse:
    """…/projects/new: the form; idempotent: a repeated submission redirects to the created project."""
    form = ProjectNameForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            made = _make(request, account_of(request), form.cleaned_data["name"])
        except idempotency.MissingToken:
            form.add_error(None, "Nothing was created. Please send the form again.")
        except lifecycle.QuotaExceeded as too_many:
            form.add_error(None, str(too_many))
        except ValidationError as error:
            form.add_error("name", error)
        else:
            return HttpResponseRedirect(reverse("console:project", args=[made]) if made else reverse("console:home"))
    return render_page(request, "console/project_new.html", form=form, once=idempotency.new_token())


def _make(request: HttpRequest, account: Account, name: str) -> str:
    """Create the project, or find the one that the first submission created; return its public id, "" for none."""
    try:
        with transaction.atomic():
            sent = idempotency.consume_token(request)
            project = lifecycle.create_project(account, name)
            idempotency.record_result(sent, project.public_id)
    except idempotency.AlreadyProcessed as repeated:
        return repeated.made
    messages.success(request, f"{project.name} is created. Add its first app.")
    return project.public_id


@console_page()
def project(request: HttpRequest, project_id: str) -> HttpResponse:
    """GET …/p/<id>/: what changed in a project and needs attention; in its first days also a checklist."""
    membership = get_membership(request, project_id)
    project = membership.project
    member = ProjectMember(project=project, account=membership.account, role=membership.role)
    clients = Client.objects.filter(project=project)
    # A project may have thousands of apps, so only these columns are read of all.
    columns = ("pk", "enabled", "verified_at", "first_party", "waits")
    states = list(clients.annotate(waits=with_reviewers()).order_by("pk").values_list(*columns))
    keys = [key for key, *_ in states]
    unreviewed = {key: on and not waits for key, on, reviewed, own, waits in states if not (reviewed or own)}
    # The oldest app is usually the main one.
    oldest = next((key for key, is_open in unreviewed.items() if is_open), 0)
    loaded = clients.in_bulk([*keys[-MAX_APPS:], oldest])
    newest = [loaded[key] for key in reversed(keys[-MAX_APPS:]) if key in loaded]
    to_review = loaded.get(oldest)
    limit = limit_usage(project) if unreviewed else None
    found = project_overview(member, limit)
    is_in_use = found.facts.ever_signed_in or found.facts.first_request_at
    return render_page(
        request,
        "console/project.html",
        membership,
        overview=found,
        checklist=first_steps(membership, found.facts, to_review or (newest[0] if newest else None)),
        limit=limit,
        to_review=to_review,
        trends=[trends.sign_in_trend(project, keys), trends.request_trend(project)] if is_in_use else [],
        apps=trends.app_rows(project, newest),
        days=trends.DAYS,
    )


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
