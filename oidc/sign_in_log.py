"""What the sign-in log is told: every step of a sign-in, and the exact reason when one is refused.

The app gets the standard's error code; the reason is for its developer, who reads it in the console.
"""

from contextvars import ContextVar
from typing import Any

from devportal.lib.audit import Event, report
from oidc.models import Client

AUTHORIZE, TOKEN, REVOKE = "authorize", "token", "revoke"

# Between where a request is refused, which knows why, and the endpoint that answers it and reports.
_reason: ContextVar[str] = ContextVar("reason", default="")
_client_id: ContextVar[str] = ContextVar("client_id", default="")


def reset() -> None:
    """Forget what an earlier request on this thread left."""
    _reason.set("")
    _client_id.set("")


def set_reason(reason: str) -> None:
    """Note why the request being answered will be refused."""
    _reason.set(reason)


def set_client(client_id: str, reason: str = "") -> None:
    """Note which client the request being answered comes from, or claims to; and why it will be refused."""
    _client_id.set(client_id)
    _reason.set(reason)


def current_client_id() -> str:
    """Return the id of the client that the request being answered comes from, "" while it is not known."""
    return _client_id.get()


def reason_or(default: str) -> str:
    """Return the reason that was noted, else `default`."""
    return _reason.get() or default


def record(outcome: str, client: Client, endpoint: str, **details: Any) -> None:
    """Report one step: `outcome` is signed_in, cancelled or refused; `details` are error, reason, redirect_uri."""
    record_for_client_id(client.client_id, outcome, endpoint, project=client.project.public_id, **details)


def record_for_client_id(
    client_id: str, outcome: str, endpoint: str, project: str | None = None, **details: Any
) -> None:
    """Report one step of a client that only its id is known of."""
    report(Event(f"sign_in.{outcome}", None, project, client_id, {"endpoint": endpoint} | details))
