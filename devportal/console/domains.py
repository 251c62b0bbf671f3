"""Pages to list, add, check and remove a project's domains, and the notices about them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.dispatch import receiver
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from core import clock
from core.limits.middleware import limited_by_person
from core.limits.usage import Rate, hit
from devportal.console.access import Membership, get_membership
from devportal.console.navigation import console_page, refreshes, render_page
from devportal.console.notices.kinds import NoticeKind
from devportal.console.notices.raising import notify
from devportal.console.notices.texts import Part, register_parts
from oidc.clients.domain_names import LONGEST_TYPED, domains_of
from oidc.domains.claims import AlreadyListed, add_domain, apps_on, remove_domain, request_check
from oidc.domains.proofs import CHALLENGE_PATH, Problem, file_url, problems_of, record_name
from oidc.domains.results import Change, lost_from
from oidc.models import Project, ProjectDomain
from oidc.projects.lifecycle import QuotaExceeded
from oidc.projects.roles import Role
from oidc.signals import domain_changed


class AddDomainForm(forms.Form):
    """A domain, or a URL on it. oidc/clients/domain_names.py decides what is accepted."""

    name = forms.CharField(
        label="Domain",
        max_length=LONGEST_TYPED,
        help_text="For example, example.com. A proof by DNS also covers the subdomains.",
        error_messages={"required": "Enter a domain.", "max_length": "This is too long for a domain."},
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )


Method = ProjectDomain.Method
_PROVEN_BY = {Method.DNS: "DNS record", Method.FILE: "file on its web server", Method.OPERATOR: "the operator"}


@dataclass(frozen=True)
class DomainRow:
    """A domain on the page."""

    domain: ProjectDomain
    state: str  # new, proven, missing or lost
    proven_by: str
    is_checking: bool
    counts_until: datetime | None  # if the proof is missing
    problems: list[Problem]
    record_name: str
    file_url: str
    file_path: str

    @property
    def is_operators(self) -> bool:
        return self.domain.method == Method.OPERATOR

    @property
    def covers_subdomains(self) -> bool:
        return self.domain.method != Method.FILE

    @property
    def shows_what_to_publish(self) -> bool:
        """Whether to show what to publish, because the domain is not proven."""
        return self.state != "proven"


def state_of(domain: ProjectDomain) -> str:
    """Return the state of a domain's proof: new, proven, missing (but still valid) or lost."""
    if domain.lost_at is not None:
        return "lost"
    if domain.proven_at is None:
        return "new"
    return "missing" if domain.missing_since is not None else "proven"


def is_checking(domain: ProjectDomain) -> bool:
    """Return whether a check of the domain was requested or is due, and has not finished."""
    return domain.check_at is not None and domain.check_at <= clock.now()


def domain_row(domain: ProjectDomain) -> DomainRow:
    """Return the row of a domain."""
    state = state_of(domain)
    return DomainRow(
        domain=domain,
        state=state,
        proven_by=_PROVEN_BY.get(Method(domain.method), "") if domain.method else "",
        is_checking=is_checking(domain),
        counts_until=lost_from(domain.missing_since) if state == "missing" and domain.missing_since else None,
        problems=problems_of(domain),
        record_name=record_name(domain.name),
        file_url=file_url(domain.name),
        file_path=CHALLENGE_PATH,
    )


def domain_rows(project: Project) -> list[DomainRow]:
    """Return the rows of a project's domains by name, in one statement."""
    return [domain_row(domain) for domain in domains_of(project)]


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
    """…/domains: all domains with their state and what to publish, and for developers a form to add one."""
    membership = get_membership(request, project_id, Role.DEVELOPER if request.method == "POST" else Role.VIEWER)
    form = AddDomainForm(request.POST if request.method == "POST" else None)
    if form.is_valid() and _add(request, membership, form):
        return _back(membership)
    rows = domain_rows(membership.project)
    waits = refreshes(request, any(row.is_checking for row in rows))
    return render_page(request, "console/domains.html", membership, form=form, rows=rows, refreshes=waits)


def _add(request: HttpRequest, membership: Membership, form: AddDomainForm) -> bool:
    """Add the domain; return False, with an error in the form, if it is refused."""
    try:
        domain = add_domain(membership.project, form.cleaned_data["name"], membership.account)
    except ValidationError as wrong:
        form.add_error("name", wrong)
    except AlreadyListed as listed:
        form.add_error("name", f"{listed} is already in the list.")
    except QuotaExceeded as too_many:
        form.add_error(None, str(too_many))
    else:
        messages.success(request, f"{domain.name} is added. Publish the record or file shown below, then check it.")
        return True
    return False


@console_page("POST")
def domain_check(request: HttpRequest, project_id: str, domain_id: int) -> HttpResponse:
    """POST …/domains/<id>/check: check the proof now."""
    membership = get_membership(request, project_id, Role.DEVELOPER)
    domain = _domain(membership, domain_id)
    hit(Rate("domain checks", settings.DOMAIN_CHECKS_PER_HOUR, HOUR), "person", membership.account.pk)
    if request_check(domain, membership.account):
        _show_result(request, domain)
    return _back(membership)


def _show_result(request: HttpRequest, domain: ProjectDomain) -> None:
    """Add a message with the result of the check, if it has finished, as in the embedded environment."""
    row = ProjectDomain.objects.filter(pk=domain.pk).first()
    if row is None:  # removed at this moment
        return
    if is_checking(row):
        messages.info(request, f"{row.name} is being checked.")
    elif not row.problems:
        messages.success(request, f"{row.name} is proven.")
    elif state_of(row) == "proven":
        messages.warning(request, f"{row.name} could not be reached. It still counts as proven.")
    else:
        messages.error(request, f"No proof of {row.name} was found. The result is shown below.")


@console_page("GET", "HEAD", "POST")
def domain_remove(request: HttpRequest, project_id: str, domain_id: int) -> HttpResponse:
    """…/domains/<id>/remove: list the reviewed apps that depend on the domain, then remove it."""
    membership = get_membership(request, project_id, Role.DEVELOPER)
    domain = _domain(membership, domain_id)
    if request.method == "POST":
        remove_domain(domain, membership.account)
        messages.success(request, f"{domain.name} is removed.")
        return _back(membership)
    apps = apps_on(domain) if domain.proven_at else []
    return render_page(request, "console/domain_remove.html", membership, row=domain_row(domain), apps=apps)


# A first proof is shown on the page, and a removal in the activity, so they need no notice.
KINDS = {
    Change.MISSING: NoticeKind.DOMAIN_MISSING,
    Change.LOST: NoticeKind.DOMAIN_LOST,
    Change.FOUND: NoticeKind.DOMAIN_FOUND,
    Change.REGAINED: NoticeKind.DOMAIN_REGAINED,
    Change.NARROWED: NoticeKind.DOMAIN_NARROWED,
}
_WITH_PROBLEMS = (NoticeKind.DOMAIN_MISSING, NoticeKind.DOMAIN_LOST)


@receiver(domain_changed)
def notice_change(sender: Any, project: Project, domain: ProjectDomain, change: Change, **kwargs: Any) -> None:
    """Raise the notice about a change of a proof, in its transaction."""
    kind = KINDS.get(change)
    if kind is None:
        return
    details: dict[str, Any] = {"domain": domain.name}
    if kind in _WITH_PROBLEMS:
        details["problems"] = domain.problems
    if kind == NoticeKind.DOMAIN_MISSING and domain.missing_since:
        details["lost_at"] = lost_from(domain.missing_since)
    notify(project, kind, details=details)


def _problem_parts(details: Mapping[str, Any]) -> list[Part]:
    """Return why the check found no proof, for the email."""
    problems = [Problem(**stored) for stored in details["problems"]]
    return [Part("Result of the check:", [f"{each.label}: {each.text}" for each in problems])]


register_parts(_WITH_PROBLEMS, _problem_parts)
