"""Reports to the sign-in log: every step of a sign-in, with the exact reason if it is refused.

The app gets the error code of the standard; the reason is for its developer, in the console.
"""

from typing import Any

from devportal.lib.audit import Event, report
from oidc.models import Client

AUTHORIZE, TOKEN, REVOKE = "authorize", "token", "revoke"
# A code was sent to the app; its tokens were fetched; they were renewed; the app ended them; the person went back;
# refused.
ISSUED, SIGNED_IN, REFRESHED, REVOKED = "issued", "signed_in", "refreshed", "revoked"
CANCELLED, REFUSED = "cancelled", "refused"
# Where the app gets no error: the pages that people see, in the place of an error code.
UNAVAILABLE, APP_FULL = "unavailable", "app_full"
OUTCOMES = (ISSUED, SIGNED_IN, REFRESHED, REVOKED, CANCELLED, REFUSED)


def record(outcome: str, client: Client, endpoint: str, **details: Any) -> None:
    """Report one step: `outcome` is one of OUTCOMES.

    `details` are error, reason (oidc/reasons.py) with its parameters, redirect_uri, and family (its key).
    """
    record_for_client_id(client.client_id, outcome, endpoint, project=client.project.public_id, **details)


def record_for_client_id(
    client_id: str, outcome: str, endpoint: str, project: str | None = None, **details: Any
) -> None:
    """Report one step by client id; of an unknown client it is dropped when the log is written."""
    report(Event(f"sign_in.{outcome}", None, project, client_id, {"endpoint": endpoint} | details))
