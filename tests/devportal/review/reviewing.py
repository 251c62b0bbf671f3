"""Functions for reviews in tests: reviewers and operators, an app that is ready to submit, and reviews in any state."""

from collections.abc import Sequence
from typing import Any

from django.test import Client as Browser

from accounts.models import Account, Outbox
from accounts.roles import set_roles
from devportal.review.decisions import reviewer_actions
from devportal.review.decisions.checklist import checklist_for, failing_checks
from devportal.review.evidence import collecting
from devportal.review.models import AppReview
from devportal.review.rules import snapshots, timeline, workflow
from devportal.review.submission import developer_actions, for_reviewers
from devportal.review.submission.requirements import addresses_to_prove, domains_to_cover
from oidc.clients.domain_names import unproven_hosts
from oidc.models import Client
from tests.devportal.console.notices.noticing import mail_notices, with_targets
from tests.factories import make_account, make_domain

Status = AppReview.Status
SCOPE = "account.read"
JUSTIFICATION = "The overview shows which plan you have and what it includes."
PLACE = "The page called Plan, behind the gear."
DEMO = "https://video.example.net/orbit-notes"
# The fields of the page that ask for SCOPE.
ASKED = {"ask_account_read": "on", "why_account_read": JUSTIFICATION, "place_account_read": PLACE, "demo_url": DEMO}
BRANDING = {
    "name": "Orbit Notes",
    "home_page_url": "https://example.com/",
    "privacy_policy_url": "https://example.com/privacy",
    "terms_url": "https://example.com/terms",
    "support_address": "help@example.com",
}
REASON = ["justification_vague"]


OF_BRANDING = {*BRANDING, "logo", "remove_logo"}  # the fields of the page Branding


def path_of(client: Client, tail: str = "") -> str:
    """Return the path of the page Review, or of a page below it."""
    return f"/console/p/{client.project.public_id}/clients/{client.client_id}/review{tail}"


def branding_of(client: Client) -> str:
    """Return the path of the page Branding."""
    return path_of(client).removesuffix("review") + "branding"


def post(browser: Browser, client: Client, step: str, **form: Any) -> Any:
    """Send the forms of Branding and Review, each with its fields. Returns the last response.

    A refused form of Branding ends it. `seen` is for the form that is sent first.
    """
    branding = {name: value for name, value in form.items() if name in OF_BRANDING}
    rest = {name: value for name, value in form.items() if name not in OF_BRANDING}
    if branding:
        seen = {"seen": rest.pop("seen")} if "seen" in rest else {}
        sent_step = "preview" if step == "preview" else "save"
        response: Any = browser.post(branding_of(client), {"step": sent_step, **branding, **seen})
        if response.status_code != 302 or step == "preview" or (step == "save" and not rest):
            return response
    return browser.post(path_of(client), {"step": step, **rest})


def make_reviewer(email: str | None = None, **fields: Any) -> Account:
    """Return a person with the role reviewer."""
    account = make_account(email, **fields)
    set_roles(account, ["reviewer"])
    return account


def make_operator() -> Account:
    """Return a person with the role operator."""
    account = make_account()
    set_roles(account, ["operator"])
    return account


def fill(client: Client, actor: Account, scopes: Sequence[str] = (SCOPE,), **values: str) -> AppReview:
    """Save a draft with everything that a submission needs, and prove its domain."""
    urls = {"redirect_urls": client.redirect_uris.split(), "sign_out_urls": []}
    if unproven_hosts(client.project, addresses_to_prove(BRANDING | urls)):
        client.project.domains.filter(name="example.com").delete()
        make_domain(client.project)
    told = for_reviewers.ForReviewers(places=dict.fromkeys(scopes, PLACE), demo_url=DEMO)
    asked = dict.fromkeys(scopes, JUSTIFICATION)
    return developer_actions.save_submission(client, actor, BRANDING | values, scopes=asked, for_reviewers=told)


def sent(client: Client, actor: Account, scopes: Sequence[str] = (SCOPE,)) -> AppReview:
    """Return a review that was just submitted."""
    fill(client, actor, scopes)
    return developer_actions.submit(client, actor)


def ticks(review: AppReview) -> list[str]:
    """Return the codes that a reviewer has to tick on the checklist to approve a review."""
    return [item.code for item in checklist_for(review)]


def ticked(review: AppReview, without: str = "") -> dict[str, str]:
    """Return the ticked checklist as a page sends it: for each part, the codes of the points that it showed.

    What else the page showed comes with it: the facts that fail, the proven domains and the newest measure.
    """
    evidence = collecting.collect_evidence(review)
    parts = {
        "measure": [str(workflow.last_measure(review.client))],
        "failing": list(failing_checks(evidence)),
        "domains": domains_to_cover(review.snapshot, evidence.gathered.domains),
    }
    for item in checklist_for(review, evidence):
        parts.setdefault(f"check_{item.group}", []).extend([item.code] if item.code != without else [])
    return {name: " ".join(codes) for name, codes in parts.items()}


def resent(client: Client, actor: Account, text: str = "") -> AppReview:
    """Resubmit a review after changes were requested, with an answer to every point."""
    answers = {point.code: "It is better now." for point in timeline.points_of(snapshots.open_review(client))}
    return developer_actions.resubmit(client, actor, text, answers)


def approve(review: AppReview, reviewer: Account, scopes: dict[str, bool] | None = None, **more: Any) -> AppReview:
    """Approve a started review, by default with all its scopes."""
    scopes = dict.fromkeys(review.snapshot["scopes"], True) if scopes is None else scopes
    values: dict[str, Any] = {"revision": review.revision, "scopes": scopes, "checked": ticks(review)}
    return reviewer_actions.approve(review, reviewer, **values | more)


def decide(review: AppReview, reviewer: Account, status: str) -> AppReview:
    """Decide on a submitted review."""
    if review.status == Status.SUBMITTED:
        review = reviewer_actions.start(review, reviewer)
    if status == Status.APPROVED:
        return approve(review, reviewer, despite="What was wrong before is settled.")
    step = reviewer_actions.reject if status == Status.REJECTED else reviewer_actions.request_changes
    return step(review, reviewer, revision=review.revision, reasons=REASON, text="Which page is it?")


def review_in(status: str, client: Client, developer: Account, reviewer: Account) -> AppReview:
    """Return a review of `client` in the state `status`."""
    if status == Status.DRAFT:
        return fill(client, developer)
    review = sent(client, developer)
    if status == Status.SUBMITTED:
        return review
    if status == Status.WITHDRAWN:
        return developer_actions.withdraw(review, developer)
    if status == Status.IN_REVIEW:
        return reviewer_actions.start(review, reviewer)
    return decide(review, reviewer, status)


def approved(client: Client, developer: Account, reviewer: Account) -> Client:
    """Submit an app and approve it; return the client, loaded again."""
    decide(sent(client, developer), reviewer, Status.APPROVED)
    return fresh(client)


def fresh(client: Client) -> Client:
    """Load the client from the database again."""
    return Client.objects.select_related("project").get(pk=client.pk)


def mails() -> list[tuple[str, str, str]]:
    """Mail the waiting notices, and return all queued and sent emails, oldest first: recipient, subject and body.

    Links to notices are replaced by links to the pages to which the notices lead.
    """
    mail_notices()
    return [(row.to, row.subject, with_targets(row.body)) for row in Outbox.objects.order_by("pk")]
