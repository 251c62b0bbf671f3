"""What a submission needs, checked by itself: no address is ever fetched, reviewers open them."""

from dataclasses import dataclass

from django.core.exceptions import ValidationError

from devportal.console.reviews.snapshots import Snapshot, changes_anything, working
from oidc.branding import FIELDS, foreign_hosts
from oidc.models import Client
from oidc.registration import LOOPBACK

LEAST_JUSTIFICATION = 20  # characters; less says nothing


@dataclass(frozen=True)
class Item:
    """One line of the checklist. `blocks`: nothing can be sent before it is done; else it is advice."""

    code: str
    title: str
    done: bool
    blocks: bool
    help: str
    url_name: str = "console:review"


def _is_fine(field: str, value: str) -> bool:
    try:
        FIELDS[field](value)
    except ValidationError:
        return False
    return bool(value)


def checklist(client: Client, snapshot: Snapshot | None = None) -> list[Item]:
    """Return what is done and what is missing, of what the developer has before them unless `snapshot` is given."""
    asked = working(client) if snapshot is None else snapshot
    return [*_of_the_text(asked), *_of_the_app(client, asked), *_advice(client, asked)]


def _of_the_text(asked: Snapshot) -> list[Item]:
    return [
        Item(code, title, _is_fine(field, asked[field]), True, help_text)
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


def _of_the_app(client: Client, asked: Snapshot) -> list[Item]:
    settings = "console:client_settings"
    unexplained = [name for name, text in asked["scopes"].items() if len(text.strip()) < LEAST_JUSTIFICATION]
    more = f"Say more about {', '.join(unexplained)}." if unexplained else "What needs it, and what is done with it."
    justified = [Item("justifications", "A justification for each scope", not unexplained, True, more)]
    news = (
        []
        if not client.is_verified
        else [
            Item(
                "something_new",
                "Something to review",
                changes_anything(client, asked),
                True,
                "Other than what is approved.",
            )
        ]
    )
    has_url = bool(asked["redirect_urls"])
    return [
        *(justified if asked["scopes"] else []),
        Item("redirect_urls", "A redirect URL", has_url, True, "Without one nobody can sign in.", settings),
        Item("turned_on", "The app is turned on", client.is_on, True, "Reviewers sign in to it.", settings),
        *news,
    ]


def _advice(client: Client, asked: Snapshot) -> list[Item]:
    settings = "console:client_settings"
    foreign = foreign_hosts(asked["home_page_url"], asked["redirect_urls"])
    ask = f"Reviewers will ask about {', '.join(foreign[:5])}." if foreign else "Reviewers look at this first."
    is_live = client.type == Client.Type.NATIVE or not _on_loopback(asked["redirect_urls"])
    leave_out = "Take out those that you only developed with."
    has_people = client.connections.exists()
    return [
        Item("logo", "A logo", bool(asked["logo"]), False, "Without one, people go on seeing the first letter."),
        Item("terms", "Terms", bool(asked["terms_url"]), False, "If the app has any, people want to read them."),
        Item("own_domain", "Redirect URLs on the home page's domain", not foreign, False, ask, settings),
        Item("no_loopback", "No redirect URL on localhost", is_live, False, leave_out, settings),
        Item(
            "signed_in",
            "Somebody has signed in",
            has_people,
            False,
            "Try the app before reviewers do.",
            "console:quick_start",
        ),
    ]


def _on_loopback(urls: list[str]) -> bool:
    return any(url.startswith(f"http://{host}") for url in urls for host in LOOPBACK)


def missing(client: Client, snapshot: Snapshot) -> list[Item]:
    """Return what keeps `snapshot` from being sent."""
    return [item for item in checklist(client, snapshot) if item.blocks and not item.done]
