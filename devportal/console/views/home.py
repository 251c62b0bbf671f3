"""The console's home: a person's projects at a glance, and the invitations that they may answer."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from accounts.models import Account
from devportal.console.overview import memberships, overviews
from devportal.console.pages import console_page, show
from devportal.console.paging import page_of
from oidc.invitations import NoSuchInvitation, accept, decline, invitations_for
from oidc.projects import TooMany


@console_page()
def home(request: HttpRequest) -> HttpResponse:
    """GET /console/: the projects, newest seat first; below them those that are deleted and can be restored."""
    assert isinstance(request.user, Account)
    page = page_of(memberships(request.user), request)
    found = overviews(page.rows)
    live = [one for one in found if not one.project.is_deleted]
    return show(
        request,
        "console/home.html",
        page=page,
        projects=sorted(live, key=lambda one: one.project.name.casefold()),
        deleted=[one for one in found if one.is_restorable],
        invitations=invitations_for(request.user),
    )


@console_page("POST")
def invitation(request: HttpRequest, invitation_id: int) -> HttpResponse:
    """POST …/invitations/<id> with `decision`, accept or decline: the person's answer."""
    assert isinstance(request.user, Account)
    decision = request.POST.get("decision")
    try:
        if decision == "accept":
            project = accept(invitation_id, request.user).project
            messages.success(request, f"You now work on {project.name}.")
            return HttpResponseRedirect(reverse("console:project", args=[project.public_id]))
        if decision == "decline":
            decline(invitation_id, request.user)
            messages.success(request, "The invitation is declined.")
        else:
            messages.error(request, "Accept the invitation, or decline it.")
    except NoSuchInvitation:
        messages.error(request, "That invitation is no longer open. Ask for a new one.")
    except TooMany as too_many:
        messages.error(request, str(too_many))
    return HttpResponseRedirect(reverse("console:home"))
