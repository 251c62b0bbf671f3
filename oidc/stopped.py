"""Sign-ins that end on a page of this service: what the page says to the app's own developers.

Who they are is known above; they are asked by `oidc.signals.sign_in_stopped`, only where somebody is signed in.
"""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from accounts.models import Account
from oidc.models import Client
from oidc.signals import sign_in_stopped


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
