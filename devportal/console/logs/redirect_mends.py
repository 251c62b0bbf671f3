"""Redirect URLs that matched none: whether they can be registered as received, and where they differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from django.core.exceptions import ValidationError

from devportal.console.logs.redaction import MARKS
from devportal.console.mends import Mend, client_page
from devportal.console.models import SignInEvent
from oidc import sign_in_log
from oidc.clients import redirect_uris
from oidc.models import Client
from oidc.projects.roles import Role


@dataclass(frozen=True)
class ComparedURI:
    """A registered redirect URL: what it shares with the received one from the start, and the rest of both."""

    same: str
    received: str
    registered: str


def is_mismatch(client: Client, event: SignInEvent) -> bool:
    """Return whether a refused authorization request came with a redirect URL that is not registered now."""
    refused = event.outcome == SignInEvent.Outcome.REFUSED and event.endpoint == sign_in_log.AUTHORIZE
    return bool(refused and event.redirect_uri and event.redirect_uri not in client.registered_redirect_uris)


def why_not_registrable(uri: str) -> str:
    """Return why a received redirect URL can't be registered as it stands in the log, "" if it can."""
    if any(mark in uri for mark in MARKS):
        return "What looks like a secret or a person was left out, so there is nothing to add."
    try:
        redirect_uris.validate_redirect_uri(uri)
    except ValidationError as error:
        return str(error.messages[0])
    return ""


def mend_redirect_uri(client: Client, event: SignInEvent) -> Mend:
    """Return the mend for a redirect URL that was not registered: add it, or why that can't be."""
    settings = client_page(client, "client_settings")
    if not is_mismatch(client, event):
        return Mend("The redirect URL is registered by now. Start a new sign-in.", "Settings", settings)
    if why_not := why_not_registrable(event.redirect_uri):
        text = f"It can’t be added: {why_not} Have the app send one that is registered, character for character."
        return Mend(text, "Registered redirect URLs", settings)
    text = "Register it if it is yours, or have the app send one that is registered, character for character."
    add = f"{settings}?add={quote(event.redirect_uri, safe='')}"
    return Mend(text, "Add this redirect URL", add, Role.DEVELOPER)


def compare(received: str, registered: Sequence[str]) -> list[ComparedURI]:
    """Compare a received redirect URL with the registered ones, the nearest first."""
    compared = []
    for uri in registered:
        shared = redirect_uris.shared_start(received, uri)
        compared.append(ComparedURI(uri[:shared], received[shared:], uri[shared:]))
    return sorted(compared, key=lambda each: -len(each.same))
