"""Signals for higher layers: changes of projects, and sign-ins that ended on an error page."""

from dataclasses import dataclass
from typing import Any

from django.dispatch import Signal
from django.http import HttpRequest

from accounts.models import Account
from oidc.models import Client

# Sent with `project` when a project is deleted, and again before it is restored. Receivers in higher layers revoke the
# credentials that they issued for it.
project_ended = Signal()

# Sent with `project`, `domain` and `change` (oidc/domains/results.py) when the proof of a domain is found, missing or
# lost, or the domain is removed. It is sent inside the transaction that has the project locked.
domain_changed = Signal()

# Sent with `request`, `account` and `failure` (a FailedSignIn) when a signed-in person sees a sign-in error page.
# A receiver returns a DevelopersView if the person is one of the app's developers, otherwise None.
sign_in_failed = Signal()

# Sent with `client`, `before` (the former type) and `actor` when a client's type changes, inside that transaction.
# `actor` is None if `manage.py provision` changed it.
client_type_changed = Signal()

# Sent with `client` before its name changes, inside that transaction. A receiver refuses the change with a
# ValidationError.
renaming_client = Signal()

# Sent with `project` and `transferred` (True for a transfer of ownership) when a project gets a new owner, inside that
# transaction.
owner_added = Signal()

# Sent with `scope` (its name) and `clients` (the clients that have it) when a scope becomes sensitive or starts to need
# an approval, inside that transaction (oidc/apis/declarations.py).
scope_needs_review = Signal()

# Sent with `scope` (its name) before a scope is deleted. A receiver returns a ScopeUse (oidc/apis/uses.py) if something
# of its layer names the scope, otherwise None.
asking_scope_use = Signal()

# Sent with `receiver`, an EventReceiver, when it is paused because it has failed for long, inside that transaction.
receiver_paused = Signal()

# Sent when a live API key or client secret was reported as leaked, inside the transaction that revokes or flags it:
# with `project`, `client` (None for an API key), `credential` ("api_key" or "client_secret"), `label` (the key's name,
# or the last four characters of the secret), `revoked` (False: it is only flagged), `source` ("github" or "web form")
# and `url` (where it was found, or "").
credential_leaked = Signal()

# Sent with `client`, `body` and `content_type` (of a POST) when an event is delivered to the playground's receiver
# (oidc/events/receiver_urls.py). A receiver returns the response, a core.outbound.fetching.Reply.
playground_delivery = Signal()


@dataclass(frozen=True)
class FailedSignIn:
    """A sign-in or sign-out with an error. `kind` is the anchor of the page's documentation, after `page-`."""

    kind: str
    client: Client | None = None
    client_id: str = ""  # as it was received
    redirect_uri: str = ""  # as it was received; of a sign-out, the sign-out URL
    text: str = ""  # of a sign-out: what is wrong, for developers; "" if it is only that URL


@dataclass(frozen=True)
class Comparison:
    """Two URLs: `same` is their common beginning, `received` and `registered` are the remainders."""

    same: str
    received: str
    registered: str


@dataclass(frozen=True)
class DevelopersView:
    """Details for a developer of the app. `links` are pairs of text and URL, with the fix first.

    `warning` says what to know before the fix is applied.
    """

    text: str
    comparison: Comparison | None = None
    links: tuple[tuple[str, str], ...] = ()
    warning: str = ""


def developers_view(request: HttpRequest, failure: FailedSignIn) -> DevelopersView | None:
    """Return the details for the signed-in person, None unless they are one of the app's developers."""
    account = request.user
    if not isinstance(account, Account):
        return None
    answers = sign_in_failed.send(sender=FailedSignIn, request=request, account=account, failure=failure)
    views: list[Any] = [view for _, view in answers]
    return next((view for view in views if view is not None), None)
