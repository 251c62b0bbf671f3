"""The checklist of a submission. It fetches no URL; that is done after it was sent (reviews/evidence/)."""

from dataclasses import dataclass

from django.core.exceptions import ValidationError

from devportal.console.reviews.domain_rules import hosts_to_prove
from devportal.console.reviews.snapshots import Snapshot, has_changes, working_snapshot
from oidc.clients.branding import FIELD_VALIDATORS, foreign_hosts
from oidc.clients.uris import LOOPBACK_HOSTS
from oidc.models import Client

MIN_JUSTIFICATION_LENGTH = 20  # characters; less says nothing


@dataclass(frozen=True)
class Requirement:
    """One item of the checklist. `blocks`: required to submit; otherwise it is advice."""

    code: str
    title: str
    done: bool
    blocks: bool
    help: str
    url_name: str = "console:review"


def _is_fine(field: str, value: str) -> bool:
    try:
        FIELD_VALIDATORS[field](value)
    except ValidationError:
        return False
    return bool(value)


def submission_requirements(client: Client, snapshot: Snapshot | None = None) -> list[Requirement]:
    """Return the checklist of `snapshot`, by default of the developer's working values."""
    asked = working_snapshot(client) if snapshot is None else snapshot
    return [*_of_the_text(asked), *_of_the_app(client, asked), *_advice(client, asked)]


def _of_the_text(asked: Snapshot) -> list[Requirement]:
    return [
        Requirement(code, title, _is_fine(field, asked[field]), True, help_text)
        for code, field, title, help_text in (
            ("name", "name", "A name of its own", "People read it on the consent page."),
            (
                "home_page",
                "home_page_url",
                "A home page over https",
                "It says what the app is; its domain is shown once the app is reviewed.",
            ),
            (
                "privacy_policy",
                "privacy_policy_url",
                "A privacy policy",
                "It names the app, and what happens with what it reads.",
            ),
            ("support_address", "support_address", "A support address", "People and reviewers write to it."),
        )
    ]


def _of_the_app(client: Client, asked: Snapshot) -> list[Requirement]:
    settings = "console:client_settings"
    unexplained = [name for name, text in asked["scopes"].items() if len(text.strip()) < MIN_JUSTIFICATION_LENGTH]
    more = f"Say more about {', '.join(unexplained)}." if unexplained else "What needs it, and what is done with it."
    justified = [Requirement("justifications", "A justification for each scope", not unexplained, True, more)]
    news = (
        []
        if not client.is_verified
        else [
            Requirement(
                "something_new",
                "Something to review",
                has_changes(client, asked),
                True,
                "Other than what is approved.",
            )
        ]
    )
    has_url = bool(asked["redirect_urls"])
    return [
        *(justified if asked["scopes"] else []),
        Requirement("redirect_urls", "A redirect URL", has_url, True, "Without one nobody can sign in.", settings),
        domains_requirement(client, asked),
        Requirement("turned_on", "The app is turned on", client.is_on, True, "Reviewers sign in to it.", settings),
        *news,
    ]


def domains_requirement(client: Client, asked: Snapshot) -> Requirement:
    """Return the item on the domains: pages, redirect and sign-out URLs lie on domains that the project has proven."""
    unproven = hosts_to_prove(client, asked)
    more = f"Prove {', '.join(unproven[:5])}." if unproven else "Every page and redirect URL is on a domain of yours."
    return Requirement("domains", "Proven domains", not unproven, True, more)


def _advice(client: Client, asked: Snapshot) -> list[Requirement]:
    settings = "console:client_settings"
    foreign = foreign_hosts(asked["home_page_url"], asked["redirect_urls"])
    ask = f"Reviewers will ask about {', '.join(foreign[:5])}." if foreign else "Reviewers look at this first."
    is_live = client.type == Client.Type.NATIVE or not _on_loopback(asked["redirect_urls"])
    leave_out = "Take out those that you only developed with."
    has_people = client.connections.exists()
    return [
        Requirement("logo", "A logo", bool(asked["logo"]), False, "Without one, people go on seeing the first letter."),
        Requirement("terms", "Terms", bool(asked["terms_url"]), False, "If the app has any, people want to read them."),
        Requirement("own_domain", "Redirect URLs on the home page's domain", not foreign, False, ask, settings),
        Requirement("no_loopback", "No redirect URL on localhost", is_live, False, leave_out, settings),
        Requirement(
            "signed_in",
            "Somebody has signed in",
            has_people,
            False,
            "Try the app before reviewers do.",
            "console:quick_start",
        ),
    ]


def _on_loopback(urls: list[str]) -> bool:
    return any(url.startswith(f"http://{host}") for url in urls for host in LOOPBACK_HOSTS)


def missing_requirements(client: Client, snapshot: Snapshot) -> list[Requirement]:
    """Return the blocking items of `snapshot` that are not done."""
    return [item for item in submission_requirements(client, snapshot) if item.blocks and not item.done]
