"""The plan page and its actions: answering invitations, inviting, removing members, leaving groups."""

import functools
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.models import Account, Family, FamilyMember, Organization
from accounts.plans import invitations, members
from accounts.plans.invitations import InvitationNotFound, InvitationRefused, TooManyInvitations
from accounts.plans.members import Group, MemberNotFound, sharing
from accounts.plans.overview import plan_overview
from accounts.profile.sources import SourceFailed
from accounts.views.forms import InvitationForm
from core.limits.middleware import limited_by_person

RETRY_SECONDS = 60


@never_cache
@login_required
@require_safe
def plan(request: HttpRequest) -> HttpResponse:
    """GET /account/plan: the plan, its source and next change, and the groups that share it."""
    assert isinstance(request.user, Account)
    return _page(request, request.user)


def _page(
    request: HttpRequest, account: Account, form: InvitationForm | None = None, status: int = 200
) -> HttpResponse:
    context = {"sharing": sharing(account), "form": form or InvitationForm()}
    try:
        found = plan_overview(account)
    except SourceFailed:
        return render(request, "accounts/plan.html", context | {"plan": None}, status=502)
    return render(request, "accounts/plan.html", context | {"plan": found}, status=status)


def _step(*, asks: bool = False) -> Callable[[Callable[..., HttpResponse]], Callable[..., HttpResponse]]:
    """Decorate the view of an action of the plan page, which requires POST.

    A GET (after reauthentication, or from an old link) is redirected to the plan page, or shows the confirmation page
    if `asks`. InvitationRefused becomes a message on the plan page; InvitationNotFound and MemberNotFound become 404.
    """

    def decorate(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        @never_cache
        @login_required
        @require_http_methods(["GET", "HEAD", "POST"])
        @functools.wraps(view)
        def stepped(request: HttpRequest, **arguments: Any) -> HttpResponse:
            if settings.PLAN_SOURCE_URL:
                raise Http404
            if request.method != "POST" and not asks:
                return redirect("account_plan")
            try:
                return view(request, request.user, **arguments)
            except (InvitationNotFound, MemberNotFound) as error:
                raise Http404 from error
            except InvitationRefused as refused:
                messages.error(request, str(refused))
                return redirect("account_plan")

        return stepped

    return decorate


def _done(request: HttpRequest, sentence: str) -> HttpResponseRedirect:
    messages.success(request, sentence)
    return redirect("account_plan")


def _name(group: Group) -> str:
    return group.called if isinstance(group, Family) else group.name


@_step()
def accept(request: HttpRequest, account: Account, pk: int) -> HttpResponse:
    """POST /account/plan/invitations/<pk>/accept: the person joins the group that invites them."""
    group = invitations.accept(pk, account)
    return _done(request, f"You now belong to {_name(group)}, and share its plan.")


@_step()
def decline(request: HttpRequest, account: Account, pk: int) -> HttpResponse:
    """POST /account/plan/invitations/<pk>/decline: the person declines an invitation."""
    invitations.decline(pk, account)
    return _done(request, "You have declined the invitation.")


@limited_by_person
@_step()
def invite(request: HttpRequest, account: Account) -> HttpResponse:
    """POST /account/plan/family/invite: the owner of a family invites an email address."""
    family = get_object_or_404(Family, owner=account)
    form = InvitationForm(request.POST)
    status = 200
    if form.is_valid():
        try:
            row = invitations.invite(family, form.cleaned_data["email"], account)
        except InvitationRefused as refused:
            form.add_error("email", str(refused))
            status = 429 if isinstance(refused, TooManyInvitations) else 200
        else:
            return _done(request, f"{row.email} has been invited. An email says where to answer.")
    response = _page(request, account, form, status)
    if status == 429:
        response["Retry-After"] = str(RETRY_SECONDS)
    return response


@_step()
def withdraw(request: HttpRequest, account: Account, pk: int) -> HttpResponse:
    """POST /account/plan/family/invitations/<pk>/withdraw: the owner of a family withdraws an invitation."""
    row = invitations.withdraw(get_object_or_404(Family, owner=account), pk, account)
    return _done(request, f"The invitation of {row.email} has been withdrawn. It can no longer be accepted.")


@_step(asks=True)
def remove_member(request: HttpRequest, account: Account, pk: int) -> HttpResponse:
    """/account/plan/family/members/<pk>/remove: the owner of a family removes a member, after a confirmation page."""
    others = FamilyMember.objects.filter(family__owner=account).exclude(account=account)
    member = get_object_or_404(others.select_related("family", "account"), pk=pk)
    if request.method != "POST":
        return render(request, "accounts/member_remove.html", {"member": member})
    members.remove_member(member, account)
    return _done(request, f"{member.account.email} is no longer in your family.")


@_step(asks=True)
def leave_family(request: HttpRequest, account: Account, pk: int) -> HttpResponse:
    """/account/plan/families/<pk>/leave: a member leaves a family, after a confirmation page; its owner can't."""
    of_others = Family.objects.filter(members__account=account).exclude(owner=account)
    return _leave(request, account, get_object_or_404(of_others.select_related("owner"), pk=pk))


@_step(asks=True)
def leave_organization(request: HttpRequest, account: Account, pk: int) -> HttpResponse:
    """/account/plan/organizations/<pk>/leave: a member leaves an organization, after a confirmation page."""
    return _leave(request, account, get_object_or_404(Organization, members__account=account, pk=pk))


def _leave(request: HttpRequest, account: Account, group: Group) -> HttpResponse:
    if request.method != "POST":
        return render(request, "accounts/group_leave.html", {"group_name": _name(group)})
    members.leave_group(group, account)
    return _done(request, f"You have left {_name(group)}.")
