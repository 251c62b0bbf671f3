"""Mends for scopes that were refused: the spelling that is nearest, or the review in which they are asked for."""

import difflib

from devportal.console.mends import Mend, client_page, docs, project_page
from devportal.console.models import SignInEvent
from oidc.clients.reviewed_hosts import home_host
from oidc.models import Client
from oidc.projects.roles import Role
from oidc.scopes import SCOPES, allowed_scopes

_MOST = 8  # names of one reason; an honest request has few
# What other services call the same; how it is spelt says nothing.
_ELSEWHERE = {
    "offline": "offline_access",
    "mail": "email",
    "emails": "email",
    "user": "profile",
    "account": "account.read",
}


def refused_scopes(reason: str) -> list[str]:
    """Return the names that a reason lists after its colon."""
    names = reason.rpartition(": ")[2].removesuffix(".")
    return [name for name in names.split(", ") if name][:_MOST]


def nearest_scope(name: str) -> str:
    """Return the scope that `name` is most likely to mean, "" if it is like none."""
    lowered = name.casefold()
    if lowered in SCOPES:
        return lowered
    if lowered in _ELSEWHERE:
        return _ELSEWHERE[lowered]
    return next(iter(difflib.get_close_matches(lowered, SCOPES, n=1, cutoff=0.7)), "")


def mend_scopes(client: Client, event: SignInEvent) -> Mend:
    """Return the mend for scopes that are unknown or not approved."""
    names, allowed = refused_scopes(event.reason), allowed_scopes(client)
    waiting = [name for name in names if name in SCOPES and name not in allowed]
    sentences = [_spelling(name) for name in names if name not in SCOPES]
    if waiting:
        sentences.insert(0, f"{' and '.join(waiting)} needs app review first: ask for it there.")
        return Mend(" ".join(sentences), "Ask for it in the review", client_page(client, "review"), Role.DEVELOPER)
    if not sentences:
        sentences = ["It is approved by now. Start a new sign-in."]
    return Mend(" ".join(sentences), "Scopes that there are", docs("authorization", "scopes"))


def _spelling(name: str) -> str:
    near = nearest_scope(name)
    return f"There is no scope {name}" + (f": did you mean {near}?" if near else ", leave it out.")


def mend_host_of_review(client: Client, event: SignInEvent) -> Mend:
    """Return the mend for what is approved, but not at the host of the redirect URL."""
    if client.is_verified and not client.carries_badge:
        text = f"Prove {home_host(client)} again. It is the domain of the app's home page, which the badge names."
        return Mend(text, "Domains", project_page(client.project, "domains"), Role.DEVELOPER)
    text = "Send the app for review with this host among its redirect URLs, or sign in at a host that was in it."
    return Mend(text, "Go to the review", client_page(client, "review"), Role.DEVELOPER)
