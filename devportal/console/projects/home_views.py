"""The console's home: a person's project cards and invitations."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from accounts.plans.invitations import InvitationNotFound
from accounts.sessions.authentication import account_of
from devportal.console import idempotency
from devportal.console.navigation import console_page, render_page
from devportal.console.pagination import paginate
from devportal.console.projects.overview import project_memberships, project_overviews
from devportal.console.projects.views import ProjectNameForm
from oidc.projects.invitations import accept, decline, invitations_to_account
from oidc.projects.lifecycle import QuotaExceeded
from oidc.projects.members import note_developer


@console_page()
def home(request: HttpRequest) -> HttpResponse:
    """GET /console/: the projects, newest membership first, then deleted ones that can be restored."""
    account = account_of(request)
    note_developer(request)
    page = paginate(project_memberships(account), request)
    found = project_overviews(page.rows)
    live = [one for one in found if not one.project.is_deleted]
    # People without a project create the first one here, without a separate form page.
    first: dict[str, Any] = {} if live or page.newer else {"form": ProjectNameForm(), "once": idempotency.new_token()}
    return render_page(
        request,
        "console/home.html",
        page=page,
        projects=sorted(live, key=lambda one: one.project.name.casefold()),
        deleted=[one for one in found if one.is_restorable],
        invitations=invitations_to_account(account),
        **first,
    )


@console_page("POST")
def invitation(request: HttpRequest, invitation_id: int) -> HttpResponse:
    """POST …/invitations/<id> with `decision`: accept or decline the invitation."""
    account = account_of(request)
    decision = request.POST.get("decision")
    try:
        if decision == "accept":
            project = accept(invitation_id, account).project
            messages.success(request, f"You now work on {project.name}.")
            return HttpResponseRedirect(reverse("console:project", args=[project.public_id]))
        if decision == "decline":
            decline(invitation_id, account)
            messages.success(request, "The invitation is declined.")
        else:
            messages.error(request, "Accept the invitation, or decline it.")
    except InvitationNotFound:
        messages.error(request, "This invitation is no longer open. Ask for a new one.")
    except QuotaExceeded as too_many:
        messages.error(request, str(too_many))
    return HttpResponseRedirect(reverse("console:home"))
