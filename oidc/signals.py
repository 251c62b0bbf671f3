"""Signals by which the layers above follow what happens to projects, and sign-ins that ended with an error page."""

from dataclasses import dataclass
from typing import Any

from django.dispatch import Signal
from django.http import HttpRequest

from accounts.models import Account
from oidc.models import Client

# Sent with `project` when one is deleted, and again before it is restored. Receivers on higher layers revoke the
# credentials they issued for it.
project_ended = Signal()

# Sent with `project`, `domain` and `change` (oidc/domains/results.py) when the proof of a domain was gained, or is
# missing or lost, or the domain was removed; in the transaction that has the project locked.
domain_changed = Signal()

# Sent with `request`, `account` and `stop` (oidc/signals.py) when a signed-in person sees a page that ends a sign-in to
# an app. A receiver returns a DevelopersView if the person is one of the app's developers, otherwise None.
sign_in_stopped = Signal()

# Sent with `client`, `before` (its type) and `actor` when a client's type was changed, in that transaction. `actor` is
# None for an operator's file.
client_type_changed = Signal()

# Sent with `project` and `transferred` (True for a transfer of ownership) when somebody became another owner of a
# project, in that transaction.
owner_added = Signal()


# Who they are is known above; they are asked by `oidc.signals.sign_in_stopped`, only where somebody is signed in.


@dataclass(frozen=True)
class Stop:
    """Why a sign-in ended on a page. `kind` is the anchor of its documentation, below `page-`."""

    kind: str
    client: Client | None = None
    client_id: str = ""  # as it was received
    redirect_uri: str = ""  # as it was received


@dataclass(frozen=True)
class Comparison:
    """Two addresses: `same` is what both begin with, then what follows in each."""

    same: str
    received: str
    registered: str


@dataclass(frozen=True)
class DevelopersView:
    """What one of the app's developers reads; `links` are pairs of text and address, the fix first."""

    text: str
    comparison: Comparison | None = None
    links: tuple[tuple[str, str], ...] = ()


def developers_view(request: HttpRequest, stop: Stop) -> DevelopersView | None:
    """Return what the signed-in person reads as a developer of the app, None if they are none.

    Where nobody is signed in, nothing is asked.
    """
    account = request.user
    if not isinstance(account, Account):
        return None
    answers = sign_in_stopped.send(sender=Stop, request=request, account=account, stop=stop)
    views: list[Any] = [view for _, view in answers]
    return next((view for view in views if view is not None), None)
