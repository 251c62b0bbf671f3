"""A project's domains: the list, adding one, having one checked, removing one."""

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from devportal.console.access import Membership, get_membership
from devportal.console.domains.forms import AddDomainForm
from devportal.console.domains.presentation import domain_row, domain_rows, is_checking, state_of
from devportal.console.shortcuts import console_page, render_page
from devportal.lib.ratelimit.forms import limited_by_person
from devportal.lib.ratelimit.usage import Rate, hit
from oidc.domains.claims import AlreadyListed, add_domain, apps_on, remove_domain, request_check
from oidc.models import ProjectDomain
from oidc.projects.quotas import QuotaExceeded
from oidc.projects.roles import Role

HOUR = 3600


def _back(membership: Membership) -> HttpResponse:
    return HttpResponseRedirect(reverse("console:domains", args=[membership.project.public_id]))


def _domain(membership: Membership, domain_id: int) -> ProjectDomain:
    row = ProjectDomain.objects.filter(project=membership.project, pk=domain_id).first()
    if row is None:
        raise Http404
    return row


@limited_by_person
@console_page("GET", "HEAD", "POST")
def domains(request: HttpRequest, project_id: str) -> HttpResponse:
    """…/domains: every domain with its state and what to publish; for developers, a form to add one."""
    membership = get_membership(request, project_id, Role.DEVELOPER if request.method == "POST" else Role.VIEWER)
    form = AddDomainForm(request.POST if request.method == "POST" else None)
    if form.is_valid() and _add(request, membership, form):
        return _back(membership)
    return render_page(request, "console/domains.html", membership, form=form, rows=domain_rows(membership.project))


def _add(request: HttpRequest, membership: Membership, form: AddDomainForm) -> bool:
    """Add the domain; return False, with an error in the form, if it is refused."""
    try:
        domain = add_domain(membership.project, form.cleaned_data["name"], membership.account)
    except ValidationError as wrong:
        form.add_error("name", wrong)
    except AlreadyListed as listed:
        form.add_error("name", f"{listed} is in the list already.")
    except QuotaExceeded as too_many:
        form.add_error(None, str(too_many))
    else:
        messages.success(request, f"{domain.name} is added. Publish what is written below, then have it checked.")
        return True
    return False


@console_page("POST")
def domain_check(request: HttpRequest, project_id: str, domain_id: int) -> HttpResponse:
    """POST …/domains/<id>/check: have the proof looked for now."""
    membership = get_membership(request, project_id, Role.DEVELOPER)
    domain = _domain(membership, domain_id)
    hit(Rate("domain checks", settings.DOMAIN_CHECKS_PER_HOUR, HOUR), "person", membership.account.pk)
    if request_check(domain, membership.account):
        _tell_result(request, domain)
    return _back(membership)


def _tell_result(request: HttpRequest, domain: ProjectDomain) -> None:
    """Add a message of what the look saw, if it is over: in the embedded environment it is."""
    row = ProjectDomain.objects.filter(pk=domain.pk).first()
    if row is None:  # removed at this moment
        return
    if is_checking(row):
        messages.info(request, f"{row.name} is being checked. Reload this page in a few seconds to see the result.")
    elif not row.problems:
        messages.success(request, f"{row.name} is proven.")
    elif state_of(row) == "proven":
        messages.warning(request, f"{row.name} could not be asked. It still counts as proven.")
    else:
        messages.error(request, f"No proof of {row.name} was found. What was seen stands below.")


@console_page("GET", "HEAD", "POST")
def domain_remove(request: HttpRequest, project_id: str, domain_id: int) -> HttpResponse:
    """…/domains/<id>/remove: says which reviewed apps depend on it, then removes it."""
    membership = get_membership(request, project_id, Role.DEVELOPER)
    domain = _domain(membership, domain_id)
    if request.method == "POST":
        remove_domain(domain, membership.account)
        messages.success(request, f"{domain.name} is removed.")
        return _back(membership)
    apps = apps_on(domain) if domain.proven_at else []
    return render_page(request, "console/domain_remove.html", membership, row=domain_row(domain), apps=apps)
