"""Members of a project: the list, invitations, roles and removal."""

from collections.abc import Callable

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from accounts.plans.invitations import InvitationNotFound
from core.email_addresses import EmailAddressField
from core.limits.middleware import limited_by_person
from devportal.console.access import Membership, get_membership
from devportal.console.navigation import console_page, render_page
from oidc.models import ProjectInvitation, ProjectMember
from oidc.projects.invitations import AlreadyMember, invitations_to_project, invite, renew, withdraw
from oidc.projects.lifecycle import QuotaExceeded
from oidc.projects.members import LastOwner, change_role, remove_member
from oidc.projects.roles import Gone, Role

ROLE_CHOICES = (
    (Role.VIEWER, "Viewer", "Reads everything. There are no secrets to read."),
    (Role.DEVELOPER, "Developer", "Also changes clients, creates secrets and keys, and submits apps for review."),
    (Role.OWNER, "Owner", "Also manages members, and may transfer or delete the project."),
)


class RoleForm(forms.Form):
    """A member's role."""

    role = forms.ChoiceField(
        label="Role",
        choices=[(value, name) for value, name, _ in ROLE_CHOICES],
        error_messages={"required": "Choose a role.", "invalid_choice": "Choose one of these three."},
    )


class InviteForm(RoleForm):
    """Invitation of an email address, with a role."""

    email = EmailAddressField(
        label="Email address",
        error_messages={"required": "Enter an email address."},
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )
    field_order = ("email", "role")


CHANGED = "This changed in the meantime. The page shows the current state."
_NEW_ROLE = {
    Role.OWNER: "{email} is now an owner.",
    Role.DEVELOPER: "{email} is now a developer.",
    Role.VIEWER: "{email} is now a viewer.",
}
_OTHER_ROLE = {
    Role.OWNER: "There was an open invitation with another role. The role is now owner.",
    Role.DEVELOPER: "There was an open invitation with another role. The role is now developer.",
    Role.VIEWER: "There was an open invitation with another role. The role is now viewer.",
}
LAST_OWNER = "A project needs an owner. Make someone else an owner first."


def back(membership: Membership) -> HttpResponse:
    """Redirect to the list of members."""
    return HttpResponseRedirect(reverse("console:members", args=[membership.project.public_id]))


def members_of(membership: Membership) -> list[ProjectMember]:
    """Return the members of a project, at most MEMBERS_PER_PROJECT."""
    return list(ProjectMember.objects.filter(project=membership.project).select_related("account").order_by("pk"))


@limited_by_person
@console_page("GET", "HEAD", "POST")
def members(request: HttpRequest, project_id: str) -> HttpResponse:
    """…/team: the members and open invitations, and for owners a form to invite."""
    membership = get_membership(request, project_id, Role.OWNER if request.method == "POST" else Role.VIEWER)
    form = InviteForm(request.POST if request.method == "POST" else None)
    if form.is_valid() and _invite(request, membership, form):
        return back(membership)
    return render_page(
        request,
        "console/members.html",
        membership,
        form=form,
        roles=ROLE_CHOICES,
        members=members_of(membership),
        invitations=invitations_to_project(membership.project) if membership.is_owner else [],
    )


def _invite(request: HttpRequest, membership: Membership, form: InviteForm) -> bool:
    """Send the invitation; return False, with an error in the form, if it is rejected."""
    email, role = form.cleaned_data["email"], form.cleaned_data["role"]
    invited = next((row for row in invitations_to_project(membership.project) if row.email == email), None)
    try:
        invite(membership.project, email, role, membership.account)
    except AlreadyMember:
        form.add_error("email", f"{email} is already a member.")
    except QuotaExceeded as too_many:
        form.add_error(None, str(too_many))
    except Gone:
        form.add_error(None, CHANGED)
    else:
        messages.success(request, f"{email} is invited, and will find the invitation in the console after signing in.")
        if invited is not None and invited.role != role:
            messages.warning(request, _OTHER_ROLE[Role(role)])
        return True
    return False


@console_page("GET", "HEAD", "POST")
def member(request: HttpRequest, project_id: str, member_id: int) -> HttpResponse:
    """…/team/<id>: change the role or remove the member; for owners."""
    membership = get_membership(request, project_id, Role.OWNER)
    row = _member(membership, member_id)
    form = RoleForm(request.POST if request.method == "POST" else None, initial={"role": row.role})
    if form.is_valid():
        role = form.cleaned_data["role"]
        done = _NEW_ROLE[Role(role)].format(email=row.account.email)
        if _do(request, lambda: change_role(row, role, membership.account), done):
            return back(membership)
        return HttpResponseRedirect(request.path)
    return render_page(request, "console/member.html", membership, form=form, roles=ROLE_CHOICES, member=row)


def _member(membership: Membership, member_id: int) -> ProjectMember:
    rows = ProjectMember.objects.filter(project=membership.project, pk=member_id).select_related("account", "project")
    row = rows.first()
    if row is None:
        raise Http404
    return row


def _do(request: HttpRequest, change: Callable[[], object], done: str) -> bool:
    """Call `change` and add a message; return False if the change was rejected."""
    try:
        change()
    except LastOwner:
        messages.error(request, LAST_OWNER)
        return False
    except QuotaExceeded as too_many:
        messages.error(request, str(too_many))
        return False
    except (Gone, InvitationNotFound, AlreadyMember):
        messages.error(request, CHANGED)
    else:
        messages.success(request, done)
    return True


@console_page("POST")
def member_remove(request: HttpRequest, project_id: str, member_id: int) -> HttpResponse:
    """POST …/team/<id>/remove: remove a member."""
    membership = get_membership(request, project_id, Role.OWNER)
    row = _member(membership, member_id)
    done = f"{row.account.email} is removed, and their API keys here have ended. They may know secrets of web clients."
    is_gone = _do(request, lambda: remove_member(row, membership.account), done)
    # After removing themselves, people can no longer open the list.
    return (
        HttpResponseRedirect(reverse("console:home"))
        if is_gone and row.account == membership.account
        else back(membership)
    )


def _invitation(membership: Membership, invitation_id: int) -> ProjectInvitation:
    row = ProjectInvitation.objects.filter(project=membership.project, pk=invitation_id).first()
    if row is None:
        raise Http404
    return row


@limited_by_person
@console_page("POST", form_at="console:members")
def invitation_renew(request: HttpRequest, project_id: str, invitation_id: int) -> HttpResponse:
    """POST …/invitations/<id>/renew: extend it by a week, and send the email again at most once an hour."""
    membership = get_membership(request, project_id, Role.OWNER)
    row = _invitation(membership, invitation_id)
    _do(request, lambda: renew(row, membership.account), f"The invitation of {row.email} is renewed.")
    return back(membership)


@console_page("POST", form_at="console:members")
def invitation_withdraw(request: HttpRequest, project_id: str, invitation_id: int) -> HttpResponse:
    """POST …/invitations/<id>/withdraw: withdraw an invitation."""
    membership = get_membership(request, project_id, Role.OWNER)
    row = _invitation(membership, invitation_id)
    _do(request, lambda: withdraw(row, membership.account), f"The invitation of {row.email} is withdrawn.")
    return back(membership)
