"""What a developer can do about an entry of the sign-in log: for every reason a sentence, and a link to the place.

The rules stand in devportal/console/logs/sign_in_mends.py; those of the request log in call_mends.py.
"""

from urllib.parse import urlencode

from django.urls import reverse

from devportal.console.logs.sign_in_mends import find_rule
from devportal.console.mends import Mend, docs
from devportal.console.models import SignInEvent
from oidc.models import Client

_MENDED = (SignInEvent.Outcome.REFUSED, SignInEvent.Outcome.CANCELLED)


def mend_for(client: Client, event: SignInEvent) -> Mend | None:
    """Return the mend of a refused or cancelled step, None for one that succeeded. Takes no statement."""
    if event.outcome not in _MENDED:
        return None
    rule = find_rule(event.error, event.reason)
    if rule is None:
        return Mend("Cause and fix are in the documentation of the error.", "Errors", docs("errors"))
    return rule.mend(client, event)


def sign_in_url(client: Client, request_id: str) -> str:
    """Return the address of a client's sign-in log with the entries of one request."""
    path = reverse("console:sign_ins", args=[client.project.public_id, client.client_id])
    return f"{path}?{urlencode({'request_id': request_id})}"
