"""Mails about cases and appeals: to the developers, and to the reviewers who want them."""

from typing import Any

from django.urls import reverse

from accounts.mail import outbox
from devportal.console.models import AppReview, ReviewCase
from devportal.console.reviews.conflicts import conflict_of
from devportal.console.reviews.notifications import console_url, developer_addresses, review_admin_url
from devportal.console.reviews.recipients import who_wants
from devportal.lib.split_hosts import address_of
from oidc.models import Client, Project

# Reviewers who get a mail about one appeal.
MOST_REVIEWERS = 50


def _context(project: Project, client: Client | None, text: str = "") -> dict[str, Any]:
    link = console_url(project, client)
    name = client.name if client else project.name
    whole = client is None
    return {"app": name, "project": project.name, "whole_project": whole, "reasons": [], "text": text, "link": link}


def case_admin_url(case: ReviewCase) -> str:
    """Return the URL of a case in the admin."""
    return address_of(f"{reverse('admin:index')}console/reviewcase/{case.pk}/change/")


def tell_of_outcome(case: ReviewCase) -> None:
    """Mail the developers how their appeal ended; in the caller's transaction, as all of these."""
    context = _context(case.project, case.client, case.outcome_text)
    for address in developer_addresses(case.project):
        outbox.queue_mail(address, "appeal_answered", context)


def tell_that_review_is_due(client: Client) -> None:
    """Mail the developers that a reviewer will look at their app again, and at what."""
    for address in developer_addresses(client.project):
        outbox.queue_mail(address, "re_review_due", _context(client.project, client))


def tell_reviewers_of_appeal(case: AppReview | ReviewCase, text: str, without: int | None) -> None:
    """Mail the reviewers who may answer it that somebody appeals; `without` is the key of who decided before."""
    is_review = isinstance(case, AppReview)
    project = case.client.project if isinstance(case, AppReview) else case.project
    link = review_admin_url(case) if isinstance(case, AppReview) else case_admin_url(case)
    context = _context(project, case.client, text) | {"link": link, "of_rejection": is_review}
    review = case if isinstance(case, AppReview) else None
    others = who_wants("mails_new").exclude(pk=without or 0)
    for reviewer in others[:MOST_REVIEWERS]:
        if not conflict_of(reviewer, project, review):
            outbox.queue_mail(reviewer.email, "desk_appealed", context)
