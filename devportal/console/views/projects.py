"""Making a project, and its overview."""

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from accounts.models import Account
from devportal.console import activity, once, overview
from devportal.console.access import get_seat
from devportal.console.checklist import checklist, is_done
from devportal.console.forms.projects import ProjectNameForm
from devportal.console.pages import console_page, show
from oidc import projects
from oidc.models import Client, ProjectMember

FEW = 5


@console_page("GET", "HEAD", "POST")
def project_new(request: HttpRequest) -> HttpResponse:
    """…/projects/new: a name, and the project is made; sent again, the form leads to what it made."""
    assert isinstance(request.user, Account)
    form = ProjectNameForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            made = _make(request, request.user, form.cleaned_data["name"])
        except once.Unmarked:
            form.add_error(None, "Nothing is made yet: send the form once more.")
        except projects.TooMany as too_many:
            form.add_error(None, str(too_many))
        except ValidationError as error:
            form.add_error("name", error)
        else:
            return HttpResponseRedirect(reverse("console:project", args=[made]) if made else reverse("console:home"))
    return show(request, "console/project_new.html", form=form, once=once.new_token())


def _make(request: HttpRequest, account: Account, name: str) -> str:
    """Return the public id of what the form made, now or when it came first ("" for somebody else's form)."""
    try:
        with transaction.atomic():
            sent = once.spend(request)
            project = projects.create(account, name)
            once.note_made(sent, project.public_id)
    except once.Repeated as repeated:
        return repeated.made
    messages.success(request, f"{project.name} is made. Add its first client.")
    return project.public_id


@console_page()
def project(request: HttpRequest, project_id: str) -> HttpResponse:
    """GET …/p/<id>/: what is done and what is left, figures, and the way to everything else."""
    seat = get_seat(request, project_id)
    member = ProjectMember(project=seat.project, account=seat.account, role=seat.role)
    (found,) = overview.overviews([member])
    clients = list(Client.objects.filter(project=seat.project).order_by("-pk")[:FEW])
    steps = checklist(seat, found.facts, clients[0] if clients else None)
    return show(
        request,
        "console/project.html",
        seat,
        overview=found,
        checklist=steps,
        is_begun=is_done(steps),
        clients=clients,
        lines=activity.lines(seat, activity.trail(seat.project)[:FEW]),
    )
