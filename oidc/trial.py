"""Trying an authorization request without a person: what would become of it, check by check.

The checks are the authorization endpoint's own, in its order, up to the one that asks who is signed in. Nothing is
fetched, kept or reported.
"""

from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.urls import reverse

from accounts.authentication import Authentication
from oidc import authorize
from oidc.authorize import Attempt, Unavailable
from oidc.errors import SignInError
from oidc.models import Client
from oidc.parameters import Parameters, Unreadable, parse, within_bounds
from oidc.pending import Pending

LONGEST = 16_000  # characters; few browsers send more


@dataclass(frozen=True)
class Step:
    """One check: whether it passed (None: it was not reached), and the exact reason if it did not.

    `error` is the code that the app would be sent; "" where the person would see a page and the app nothing. Neither
    happens (`is_answered` is False) when what was pasted would not reach sign-in as a request of this client.
    """

    title: str
    passed: bool | None
    reason: str = ""
    error: str = ""
    is_answered: bool = False


class _NotARequest(Exception):
    """What was pasted would not come to sign-in as a request of the client."""


@dataclass
class Trial:
    """What was pasted, whose client it is tried for, and what the checks have made of it so far."""

    text: str
    client: Client
    attempt: Attempt


def try_request(client: Client, text: str) -> list[Step]:
    """Return how each check goes for `text`: an authorization URL of this service, or the query of one."""
    nobody = Attempt(Parameters(), Pending("", "", 0.0), None, Authentication(0.0, ()))
    trial = Trial(text, client, nobody)
    steps: list[Step] = []
    for title, check in CHECKS:
        if steps and not steps[-1].passed:
            steps.append(Step(title, None))
            continue
        try:
            check(trial)
        except _NotARequest as refusal:
            steps.append(Step(title, False, str(refusal)))
        except SignInError as error:
            sent = error.code if error.may_redirect else ""
            steps.append(Step(title, False, error.reason or error.public_description, sent, is_answered=True))
        else:
            steps.append(Step(title, True))
    return steps


# --- What only a pasted text has to be asked ---


def _at_the_right_address(trial: Trial) -> None:
    address, query = _cut(trial.text)
    expected = f"{settings.AUTH_URL}{reverse('authorize')}"
    if address not in ("", expected):
        raise _NotARequest(f"Sign-in begins at {expected}, and nowhere else.")
    if not query:
        raise _NotARequest("There are no parameters: paste the whole address, or what follows its question mark.")


def _readable(trial: Trial) -> None:
    try:
        trial.attempt.parameters = parse(within_bounds(_cut(trial.text)[1]))
    except Unreadable as error:
        raise _NotARequest(str(error)) from error


def _of_this_client(trial: Trial) -> None:
    sent = trial.attempt.parameters.get("client_id")
    if sent and sent != trial.client.client_id:
        raise _NotARequest(f"The id of this client is {trial.client.client_id}; another one was sent.")


def _cut(text: str) -> tuple[str, str]:
    """Return the address ("" if a query alone was pasted) and the query."""
    # As browsers read an address: line breaks and tabs in it do not count, and what follows # is not sent.
    joined = text.strip().translate({ord(character): None for character in "\t\r\n"}).partition("#")[0]
    before, mark, query = joined.partition("?")
    if mark:
        return before, query
    is_query = "=" in before and "://" not in before.partition("=")[0]
    return ("", before) if is_query else (before, "")


# --- The endpoint's own checks ---


def _as_endpoint(check: authorize.Check) -> Callable[[Trial], None]:
    """Return a check of the authorization endpoint as a check of a trial."""

    def run(trial: Trial) -> None:
        if isinstance(check(trial.attempt), Unavailable):
            off = not trial.attempt.client.enabled
            reason = "The client is turned off." if off else "The project is suspended."
            raise SignInError("invalid_request", reason, may_redirect=False)

    return run


TITLES: dict[authorize.Check, str] = {
    authorize.known_client: "client_id names a registered app",
    authorize.registered_redirect_uri: "redirect_uri is, letter by letter, a registered one",
    authorize.client_is_on: "The client is on, and its project is not suspended",
    authorize.well_formed: "state and response_type are there, and nothing is sent twice or too long",
    authorize.proper_challenge: "code_challenge and its method are those of PKCE with S256",
    authorize.known_prompts: "prompt and max_age, if sent, have values that are supported",
    authorize.allowed_scopes: "scope includes openid, and nothing that this client may not ask for",
}

CHECKS: tuple[tuple[str, Callable[[Trial], object]], ...] = (
    ("It goes to the sign-in address of this service", _at_the_right_address),
    ("Its parameters can be read", _readable),
    ("client_id is that of this client", _of_this_client),
    *((TITLES[check], _as_endpoint(check)) for check in authorize.CHECKS if check in TITLES),
    (
        "id_token_hint, if sent, is an ID token of this service",
        lambda trial: authorize.hinted_subject(trial.attempt),
    ),
)
