"""Mails about domain proofs to the project's owners and developers, with their samples (docs/mail.md#samples)."""

from datetime import UTC, datetime
from typing import Any

from django.dispatch import receiver
from django.urls import reverse

from accounts.mail import outbox
from accounts.mail.samples import Sample, register
from core.http.split_hosts import address_of
from devportal.review.mail_samples import TEAM
from devportal.review.notifications import developer_addresses
from oidc.domains.proofs import Code, Problem, problems_of
from oidc.domains.results import Change, lost_from
from oidc.models import Project, ProjectDomain
from oidc.signals import domain_changed

# A first proof is shown on the page, and a removal in the activity, so they need no mail.
MAILS = {
    Change.MISSING: "domain_missing",
    Change.LOST: "domain_lost",
    Change.FOUND: "domain_found",
    Change.REGAINED: "domain_found",
    Change.NARROWED: "domain_narrowed",
}


@receiver(domain_changed)
def mail_change(sender: Any, project: Project, domain: ProjectDomain, change: Change, **kwargs: Any) -> None:
    """Queue the mails about a change of a proof, in its transaction."""
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


Method = ProjectDomain.Method

_CONTEXT: dict[str, Any] = {
    "domain": "example.com",
    "project": "Orbit",
    "was_lost": False,
    "until": datetime(2031, 12, 24, 8, 0, tzinfo=UTC),
    "problems": [Problem(Method.DNS, Code.NO_RECORD), Problem(Method.FILE, Code.NO_FILE, {"status": 404})],
    "link": "https://id.example.com/console/p/prj_sample/domains",
}

register(
    {
        "domain_missing": Sample(
            "Domain: proof missing", "The proof of a domain is no longer found", TEAM, {"": _CONTEXT}
        ),
        "domain_lost": Sample(
            "Domain: lost", "A proof is still missing at the end of the grace period", TEAM, {"": _CONTEXT}
        ),
        "domain_found": Sample(
            "Domain: found again",
            "A missing or lost proof is found again",
            TEAM,
            {"that was missing": _CONTEXT, "that was lost": _CONTEXT | {"was_lost": True}},
        ),
        "domain_narrowed": Sample(
            "Domain: proven by file", "A domain is proven by file and no longer by DNS", TEAM, {"": _CONTEXT}
        ),
    }
)
