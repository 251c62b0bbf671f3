"""The way of a project from its first client to review: a list that ticks itself."""

from dataclasses import dataclass

from devportal.console.overview import Overview


@dataclass(frozen=True)
class Step:
    """One step: what it is, whether it is done, and the page on which it is done next."""

    title: str
    text: str
    is_done: bool
    page: str


def checklist(overview: Overview) -> list[Step]:
    """Return the steps of one project, in their order."""
    facts = overview.facts
    return [
        Step(
            "Make a client",
            "An app of yours: a web site, a page in the browser, or an app for phones and computers.",
            facts.clients > 0,
            "clients" if facts.clients else "client_new",
        ),
        Step(
            "Sign the first person in",
            "The quick start of the client has code that runs as it stands.",
            facts.ever_signed_in,
            "clients",
        ),
        Step(
            "Call the API",
            "With the access token of that person, or with an API key of your own.",
            facts.ever_called,
            "keys",
        ),
        Step(
            "Have it reviewed",
            "Review lifts the limit of people, and shows your logo when people sign in.",
            facts.verified > 0,
            "clients",
        ),
    ]
