"""Creating a project, and its overview page."""

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from accounts.authentication import account_of
from accounts.models import Account
from devportal.console import idempotency
from devportal.console.access import get_membership
from devportal.console.activity import feed
from devportal.console.projects import overview
from devportal.console.projects.forms import ProjectNameForm
from devportal.console.projects.onboarding import is_complete, onboarding_steps
from devportal.console.reviews import appeals
from devportal.console.shortcuts import console_page, render_page
from devportal.lib.ratelimit.forms import limited_by_person
from oidc.models import Client, ProjectMember
from oidc.projects import lifecycle, quotas

FEW = 5


@limited_by_person
@console_page("GET", "HEAD", "POST")
def project_new(request: HttpRequest) -> HttpResponse:
    """…/projects/new: the form; idempotent: a repeated submission redirects to the created project."""
    form = ProjectNameForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            made = _make(request, account_of(request), form.cleaned_data["name"])
        except idempotency.MissingToken:
            form.add_error(None, "Nothing was created: send the form once more.")
        except quotas.QuotaExceeded as too_many:
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
    messages.success(request, f"{project.name} is created. Add its first client.")
    return project.public_id


@console_page()
def project(request: HttpRequest, project_id: str) -> HttpResponse:
    """GET …/p/<id>/: checklist, figures and warnings of a project."""
    membership = get_membership(request, project_id)
    member = ProjectMember(project=membership.project, account=membership.account, role=membership.role)
    (found,) = overview.project_overviews([member])
    clients = list(Client.objects.filter(project=membership.project).order_by("-pk")[:FEW])
    steps = onboarding_steps(membership, found.facts, clients[0] if clients else None)
    return render_page(
        request,
        "console/project.html",
        membership,
        overview=found,
        checklist=steps,
        is_begun=is_complete(steps),
        clients=clients,
        appeal=appeals.offer_for_project(membership.project),
        lines=feed.activity_entries(membership, feed.events_of(membership.project)[:FEW]),
    )
