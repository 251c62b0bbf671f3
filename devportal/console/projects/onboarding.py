"""The checklist on a project's overview, from the first client to review; it checks itself."""

from dataclasses import dataclass

from django.urls import reverse

from devportal.console.access import Membership
from devportal.console.projects.overview import ProjectCounts
from oidc.models import Client


@dataclass(frozen=True)
class OnboardingStep:
    """One step: its text, whether it is done, and the URL where to do it ("" if it is not possible yet)."""

    title: str
    text: str
    is_done: bool
    url: str = ""


def onboarding_steps(membership: Membership, facts: ProjectCounts, client: Client | None) -> list[OnboardingStep]:
    """Return the steps of one project, in their order; `client` is the newest of its clients."""

    def at(page: str) -> str:
        """Return the URL of a page of the client, "" without a client."""
        return reverse(f"console:{page}", args=[membership.project.public_id, client.client_id]) if client else ""

    return [
        OnboardingStep(
            "Create a client",
            "An app of yours: a web site, a page in the browser, or an app for phones and computers.",
            facts.clients > 0,
            reverse("console:client_new", args=[membership.project.public_id]) if membership.may_edit else "",
        ),
        OnboardingStep(
            "Sign the first person in",
            "The quick start of the client has code that runs as it stands.",
            facts.ever_signed_in,
            at("quick_start"),
        ),
        OnboardingStep(
            "Call the API",
            "With the access token of that person, or with an API key of your own.",
            facts.first_call_at is not None,
            reverse("console:keys", args=[membership.project.public_id]),
        ),
        OnboardingStep(
            "Submit it for review",
            "Review lifts the limit of people, and shows your logo when people sign in.",
            facts.verified > 0,
            at("review"),
        ),
    ]


def is_complete(steps: list[OnboardingStep]) -> bool:
    """Return whether all steps are done."""
    return all(step.is_done for step in steps)
