"""The console's tester for sign-out requests: the endpoint's own checks, without a person.

As in oidc/authorization/tester.py, every check runs whose prerequisites passed, and nothing is stored or reported.
"""

from dataclasses import dataclass, field

from django.conf import settings
from django.urls import reverse

from oidc.authorization.tester import Check, CheckResult, NotARequest, read_pasted, run_checks, split_pasted
from oidc.errors import Refusal
from oidc.models import Client
from oidc.sign_out import requests
from oidc.values.parameters import Parameters

_ASKS = "Without it, the person is asked to confirm and does not return to your app."


@dataclass
class SignOutUnderTest:
    """A dry run: the pasted text, the client, and the request so far. `hinted` is the client id in the ID token."""

    text: str
    client: Client
    parameters: Parameters = field(default_factory=Parameters)
    hinted: str = ""


def is_sign_out(text: str) -> bool:
    """Return whether the pasted text is the URL or the query string of a sign-out request."""
    url, query = split_pasted(text)
    if url:
        return url.endswith(reverse("logout"))
    names = {part.partition("=")[0] for part in query.split("&")}
    return not names.isdisjoint(("post_logout_redirect_uri", "id_token_hint")) and "response_type" not in names


def check_sign_out(client: Client, text: str) -> list[CheckResult]:
    """Return the result of each check for `text`: a sign-out URL of this service, or its query string."""
    trial = SignOutUnderTest(text, client)
    return run_checks(CHECKS, lambda check: _result(check, trial))


def _result(check: Check[SignOutUnderTest], trial: SignOutUnderTest) -> CheckResult:
    sent = (trial.parameters.get("post_logout_redirect_uri") or "") if check.name == "sign_out_uri" else ""
    try:
        note = check.run(trial)
    except NotARequest as refusal:
        return CheckResult(check.title, False, str(refusal), name=check.name)
    except Refusal as refusal:
        text = refusal.developer_text
        return CheckResult(check.title, False, text, is_answered=True, name=check.name, value=sent)
    return CheckResult(check.title, True, note=str(note or ""), name=check.name)


def _endpoint() -> str:
    return f"{settings.AUTH_URL}{reverse('logout')}"


# --- The checks. Each may return a note. ---


def _at_the_right_url(trial: SignOutUnderTest) -> None:
    if split_pasted(trial.text)[0] not in ("", _endpoint()):
        raise NotARequest(f"Send sign-out requests to {_endpoint()}.")


def _readable(trial: SignOutUnderTest) -> None:
    trial.parameters = read_pasted(trial.text)


def _hint(trial: SignOutUnderTest) -> str:
    claims = requests.read_hint(trial.parameters)
    trial.hinted = claims["aud"] if claims else ""
    return "" if claims else _ASKS


def _of_this_client(trial: SignOutUnderTest) -> None:
    # The ids of other clients are never looked up.
    if trial.hinted not in ("", trial.client.client_id):
        raise NotARequest(f"This client's id is {trial.client.client_id}, but another client got the ID token.")
    requests.check_client(trial.parameters, trial.client.client_id)


def _uri(trial: SignOutUnderTest) -> str:
    return "" if requests.check_return(trial.parameters, trial.client) else _ASKS


_READABLE = ("readable",)
CHECKS: tuple[Check[SignOutUnderTest], ...] = (
    Check("sign_out_address", "The request goes to this service's sign-out endpoint", _at_the_right_url),
    Check("readable", "The parameters are readable", _readable),
    Check(
        "sign_out_parameters",
        "No parameter is repeated or unreadable",
        lambda trial: requests.check_parameters(trial.parameters),
        _READABLE,
    ),
    Check("sign_out_hint", "id_token_hint is an ID token of this service", _hint, _READABLE),
    Check(
        "sign_out_client",
        "id_token_hint, and client_id if sent, belong to this client",
        _of_this_client,
        (*_READABLE, "sign_out_hint"),
    ),
    Check("sign_out_uri", "post_logout_redirect_uri exactly matches a registered sign-out URL", _uri, _READABLE),
)
