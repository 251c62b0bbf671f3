"""Mails about proofs of domains, to the project's owners and developers."""

from typing import Any

from django.dispatch import receiver
from django.urls import reverse

from accounts.mail import outbox
from devportal.console.reviews.notifications import developer_addresses
from devportal.lib.split_hosts import address_of
from oidc.domains.problems import problems_of
from oidc.domains.results import Change, lost_from
from oidc.models import Project, ProjectDomain
from oidc.signals import domain_changed

# A first proof is on the page of who asked for it, and a removal in the activity.
MAILS = {
    Change.MISSING: "domain_missing",
    Change.LOST: "domain_lost",
    Change.FOUND: "domain_found",
    Change.REGAINED: "domain_found",
    Change.NARROWED: "domain_narrowed",
}


@receiver(domain_changed)
def mail_change(sender: Any, project: Project, domain: ProjectDomain, change: Change, **kwargs: Any) -> None:
    """Queue the mails of a change of proof, in its transaction."""
    template = MAILS.get(change)
    if template is None:
        return
    context = {
        "domain": domain.name,
        "project": project.name,
        "was_lost": change == Change.REGAINED,
        "until": lost_from(domain.missing_since) if domain.missing_since else None,
        "problems": problems_of(domain),
        "link": address_of(reverse("console:domains", args=[project.public_id])),
    }
    for address in developer_addresses(project):
        outbox.queue_mail(address, template, context)
