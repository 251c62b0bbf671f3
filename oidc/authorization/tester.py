"""The console's tester: a dry run of an authorization request, check by check.

It runs the checks of the authorization endpoint in order, up to the one for a signed-in person. The endpoint stops at
the first check that fails. Here, every check runs whose prerequisites passed. Nothing is fetched, stored or reported.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from django.conf import settings
from django.urls import reverse

from accounts.sessions.authentication import Authentication
from oidc.apis import scopes
from oidc.apis.registry import OPENID, current_registry
from oidc.authorization import checks
from oidc.authorization.interactions import Interaction
from oidc.authorization.outcomes import ClientUnavailable
from oidc.authorization.requests import AuthorizationRequest
from oidc.clients.reviewed_hosts import reason_outside
from oidc.errors import AuthorizationError
from oidc.models import Client
from oidc.values.parameters import Parameters, UnreadableParameters, parse, within_bounds
from oidc.values.reasons import Reason, developer_text, public_text

MAX_LENGTH = 16_000  # characters; few browsers send more


@dataclass(frozen=True)
class CheckResult:
    """The result of one check: whether it passed (None: it could not run), and the exact reason if it failed.

    `name` is the check's name, which selects the fix. `error` is the error code that the app would get, "" if the
    person would see a page instead. `is_answered` is False if the pasted text is not a request of this client, so that
    neither would happen. `note` is a remark on a check that passed. `needs` is the title of the check that has to pass
    before this one can run. `value` is the redirect_uri that was sent if that check failed, and "unapproved" if the
    check of the scope failed although every scope exists.
    """

    title: str
    passed: bool | None
    reason: str = ""
    error: str = ""
    is_answered: bool = False
    note: str = ""
    name: str = ""
    needs: str = ""
    value: str = ""


class NotARequest(Exception):
    """The pasted text is not a request of this client."""


@dataclass
class RequestUnderTest:
    """A dry run: the pasted text, the client, and the request so far."""

    text: str
    client: Client
    auth_request: AuthorizationRequest


Trial = TypeVar("Trial")  # a request under test


@dataclass(frozen=True)
class Check(Generic[Trial]):
    """A check of the dry run. `after` names the checks that have to pass before it can run."""

    name: str
    title: str
    run: Callable[[Trial], object]
    after: tuple[str, ...] = field(default=())


def run_checks(checks: Sequence[Check[Trial]], run: Callable[[Check[Trial]], CheckResult]) -> list[CheckResult]:
    """Return the result of each check in order. A check whose prerequisites did not pass is not run."""
    results: dict[str, CheckResult] = {}
    for check in checks:
        missing = next((results[name].title for name in check.after if not results[name].passed), "")
        skipped = CheckResult(check.title, None, name=check.name, needs=missing)
        results[check.name] = skipped if missing else run(check)
    return list(results.values())


def check_request(client: Client, text: str) -> list[CheckResult]:
    """Return the result of each check for `text`: an authorization URL of this service, or its query string."""
    nobody = AuthorizationRequest(Parameters(), Interaction("", "", 0.0), None, Authentication(0.0, ()))
    trial = RequestUnderTest(text, client, nobody)
    return run_checks(CHECKS, lambda check: _result(check, trial))


def _result(check: Check[RequestUnderTest], trial: RequestUnderTest) -> CheckResult:
    try:
        check.run(trial)
    except NotARequest as refusal:
        return CheckResult(check.title, False, str(refusal), name=check.name)
    except AuthorizationError as error:
        sent = error.error if error.may_redirect else ""
        value = _value(check.name, trial.auth_request)
        text = error.developer_text
        return CheckResult(check.title, False, text, sent, is_answered=True, name=check.name, value=value)
    note = _NOTES[check.name](trial) if check.name in _NOTES else ""
    return CheckResult(check.title, True, note=note, name=check.name)


def _value(name: str, auth_request: AuthorizationRequest) -> str:
    if name == "check_redirect_uri":
        return auth_request.parameters.get("redirect_uri") or ""
    asked = scopes.parse_scope(auth_request.parameters.get("scope"))
    exist = name == "check_scope" and OPENID in asked and set(asked) <= set(scopes.known_scopes())
    return "unapproved" if exist else ""


# --- Checks of the pasted text ---


def _at_the_right_url(trial: RequestUnderTest) -> None:
    url, query = split_pasted(trial.text)
    expected = f"{settings.AUTH_URL}{reverse('authorize')}"
    if url not in ("", expected):
        raise NotARequest(f"Send authorization requests to {expected}.")
    if not query:
        raise NotARequest("There are no parameters. Paste the whole URL, or the part after the question mark.")


def _readable(trial: RequestUnderTest) -> None:
    trial.auth_request.parameters = read_pasted(trial.text)


def read_pasted(text: str) -> Parameters:
    """Return the parameters of the pasted text. Raises NotARequest."""
    query = split_pasted(text)[1]
    if not query:
        raise NotARequest("There are no parameters to read.")
    try:
        return parse(within_bounds(query))
    except UnreadableParameters as error:
        raise NotARequest(public_text(error.reason, error.parameters)) from error


def _of_this_client(trial: RequestUnderTest) -> None:
    sent = trial.auth_request.parameters.get("client_id")
    if sent and sent != trial.client.client_id:
        raise NotARequest(f"This client's id is {trial.client.client_id}, but the request has another client_id.")


def split_pasted(text: str) -> tuple[str, str]:
    """Split the text into the URL ("" if only a query string was pasted) and the query string."""
    # Browsers ignore line breaks and tabs in a URL, and don't send the part after #.
    joined = text.strip().translate({ord(character): None for character in "\t\r\n"}).partition("#")[0]
    before, mark, query = joined.partition("?")
    if mark:
        return before, query
    is_query = "=" in before and "://" not in before.partition("=")[0]
    return ("", before) if is_query else (before, "")


# --- The endpoint's own checks ---


def _note_of_host(trial: RequestUnderTest) -> str:
    """Return the note on a host that the app's review does not cover (docs/review.md#hosts), "" for any other host."""
    if not (host := trial.auth_request.outside_host):
        return ""
    client = trial.auth_request.client
    return developer_text(*reason_outside(client, host, Reason.SHOWN_OUTSIDE_REVIEW, Reason.SHOWN_HOME_UNPROVEN))


def _note_of_api(trial: RequestUnderTest) -> str:
    """Return which API the first access token is for, "" if the request has only scopes of `/v1`."""
    asked = trial.auth_request.scopes
    if not scopes.other_api_names(asked):
        return ""
    api = current_registry().api_implied_by(" ".join(asked))
    return (
        f"Without resource in the token request, the access token is for {api.name}, and its aud is {api.identifier}."
    )


_NOTES = {"check_redirect_uri": _note_of_host, "check_resource": _note_of_api}


def _as_endpoint(check: checks.Check) -> Callable[[RequestUnderTest], None]:
    """Wrap a check of the authorization endpoint for the dry run. It uses this client, whatever id was sent."""

    def run(trial: RequestUnderTest) -> None:
        if check is not checks.check_client and trial.auth_request.found_client is None:
            trial.auth_request.found_client = trial.client
        if isinstance(check(trial.auth_request), ClientUnavailable):
            raise AuthorizationError(trial.auth_request.client.unavailable_reason, may_redirect=False)

    return run


TITLES: dict[checks.Check, str] = {
    checks.check_client: "client_id names a registered app",
    checks.check_redirect_uri: "redirect_uri exactly matches a registered redirect URL",
    checks.check_client_enabled: "The app is on, and its project is not suspended",
    checks.check_parameters: "state and response_type are present, and no parameter is repeated or too long",
    checks.check_code_challenge: "code_challenge and code_challenge_method follow PKCE with S256",
    checks.check_prompt: "prompt and max_age, if sent, have supported values",
    checks.check_acr: "claims, if sent, is readable and requests a supported level",
    checks.check_scope: "scope includes openid, and only scopes that this app may request",
    checks.check_resource: "Each resource, if sent, is an API that scope has a scope of",
}
_READABLE = ("readable",)

CHECKS: tuple[Check[RequestUnderTest], ...] = (
    Check("address", "The request goes to this service's authorization endpoint", _at_the_right_url),
    Check("readable", "The parameters are readable", _readable),
    Check("this_client", "client_id is the id of this client", _of_this_client, _READABLE),
    *(
        # Whether this client is on is checked whatever was pasted. The ids of other clients are never looked up.
        Check(
            check.__name__,
            TITLES[check],
            _as_endpoint(check),
            ()
            if check is checks.check_client_enabled
            else (*_READABLE, "this_client")
            if check is checks.check_client
            else (*_READABLE, "check_scope")
            if check is checks.check_resource
            else _READABLE,
        )
        for check in checks.CHECKS
        if check in TITLES
    ),
    Check(
        "id_token_hint",
        "id_token_hint, if sent, is an ID token of this service",
        lambda trial: checks.id_token_hint_subject(trial.auth_request),
        _READABLE,
    ),
)
