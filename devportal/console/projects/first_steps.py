"""The checklist of a new project."""

from dataclasses import dataclass
from datetime import timedelta

from django.urls import reverse

from core import clock
from devportal.console.access import Membership
from devportal.console.projects.overview import ProjectCounts
from oidc.models import Client

# The checklist is for the first days. Until someone has signed in, it stays.
FIRST_DAYS = timedelta(days=14)


@dataclass(frozen=True)
class Step:
    """One step: its text, whether it is done, and the URL where it is done ("" if not possible yet)."""

    title: str
    text: str
    is_done: bool
    url: str = ""


def first_steps(membership: Membership, facts: ProjectCounts, client: Client | None) -> list[Step]:
    """Return the steps in order, or none if all are done or the first days are over. `client` is the newest one."""
    steps = _steps(membership, facts, client)
    is_over = facts.ever_signed_in and membership.project.created_at < clock.now() - FIRST_DAYS
    return [] if is_over or all(step.is_done for step in steps) else steps


def _steps(membership: Membership, facts: ProjectCounts, client: Client | None) -> list[Step]:
    project_id = membership.project.public_id

    def at(page: str) -> str:
        """Return the URL of a page of the client, or "" without a client."""
        return reverse(f"console:{page}", args=[project_id, client.client_id]) if client else ""

    return [
        Step(
            "Create an app",
            "A website, a browser app, or an app for phones and computers.",
            facts.clients > 0,
            reverse("console:client_new", args=[project_id]) if membership.may_edit else "",
        ),
        Step(
            "Sign in the first person",
            "The app’s quick start has code that you can run.",
            facts.ever_signed_in,
            at("quick_start"),
        ),
        Step(
            "Send a request to the API",
            "Use that person’s access token, or one of your API keys.",
            facts.first_request_at is not None,
            reverse("console:keys", args=[project_id]),
        ),
        Step(
            "Submit the app for review",
            "After review, any number of people can sign in, and they see your logo.",
            facts.reviewed > 0,
            at("review"),
        ),
    ]
