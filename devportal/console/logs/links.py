"""Links from a count to the entries of a log that it counts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from urllib.parse import urlencode

from django.conf import settings
from django.urls import reverse

from core import clock
from devportal.console.analytics.store import FIGURES
from oidc.models import Client, Project
from oidc.sign_in_log.steps import ENTRIES, Step

# The filter of the sign-in log by how an entry was counted: its choices, each with its label and steps.
ANY_END, ANY_REFUSAL = "any_end", "any_refusal"
COUNTED_AS: Mapping[str, tuple[str, tuple[Step, ...]]] = {
    ANY_END: ("Ended sign-ins", (*FIGURES["signed_in"], *FIGURES["cancelled"], *FIGURES["refused"])),
    ANY_REFUSAL: ("Refused sign-ins", FIGURES["refused"]),
    Step.ISSUED: ("Code issued", (Step.ISSUED,)),
    Step.EXCHANGED: ("Signed in", (Step.EXCHANGED,)),
    Step.CANCELLED: ("Cancelled", (Step.CANCELLED,)),
    Step.TURNED_AWAY: ("Refused at the start", (Step.TURNED_AWAY,)),
    Step.REFUSED: ("Refused after it started", (Step.REFUSED,)),
    Step.NOT_EXCHANGED: ("Exchange of a code refused", (Step.NOT_EXCHANGED,)),
    Step.REFRESHED: ("Refreshed", (Step.REFRESHED,)),
    Step.NOT_REFRESHED: ("Refresh refused", (Step.NOT_REFRESHED,)),
    Step.REPEATED: ("Refresh repeated", (Step.REPEATED,)),
    Step.REVOKED: ("Revoked", (Step.REVOKED,)),
    Step.NOT_REVOKED: ("Revocation refused", (Step.NOT_REVOKED,)),
    Step.NO_USERINFO: ("Userinfo refused", (Step.NO_USERINFO,)),
    Step.NOT_SIGNED_OUT: ("Sign-out refused", (Step.NOT_SIGNED_OUT,)),
}
assert set(ENTRIES) <= set(COUNTED_AS)


@dataclass(frozen=True)
class LogLink:
    """The log at `path`, whose entries are kept for `days`, with filters that every link has."""

    path: str
    days: int
    filters: Mapping[str, str] = field(default_factory=dict)

    def url(self, since: datetime, until: datetime, **filters: str) -> str:
        """Return the URL of the entries from `since` to before `until`, or "" if none of them is kept any more."""
        if until <= clock.now() - timedelta(days=self.days):
            return ""
        times = {"from": f"{since:%Y-%m-%dT%H:%M}", "to": f"{until:%Y-%m-%dT%H:%M}"}
        given = {**self.filters, **filters}
        return f"{self.path}?{urlencode({name: text for name, text in given.items() if text} | times)}"


def request_log(project: Project, **filters: str) -> LogLink:
    """Return the request log of a project. Its filters here leave out the calls that usage does not count."""
    path = reverse("console:requests", args=[project.public_id])
    return LogLink(path, settings.REQUEST_LOG_DAYS, {"counted": "yes"} | filters)


def sign_in_log(project: Project, client: Client | None = None) -> LogLink:
    """Return the sign-in log of a client, or of all clients of a project."""
    if client is None:
        path = reverse("console:project_sign_ins", args=[project.public_id])
    else:
        path = reverse("console:sign_ins", args=[project.public_id, client.client_id])
    return LogLink(path, settings.SIGN_IN_LOG_DAYS)
