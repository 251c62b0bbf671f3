"""Every reason that the sign-in service can log has a mend: collected from its source, and from real requests."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client as Browser

import oidc
from accounts.models import Account
from api.usage import recording
from devportal.console.logs.call_mends import MENDS
from devportal.console.logs.mends import mend_for
from devportal.console.logs.request_log import CODES
from devportal.console.logs.sign_in_log import ERRORS
from devportal.console.logs.sign_in_mends import find_rule
from devportal.console.models import SignInEvent
from oidc.errors import ERROR_DESCRIPTIONS
from oidc.models import Client
from oidc.token_errors import OF_LIBRARY, OF_LIBRARY_BY_CODE, TOKEN_ERRORS
from tests.oidc.test_sign_in_log import REFUSED
from tests.relying_party import RelyingParty, sign_in

# Calls that make a refusal, and which argument is its reason; `_refuse` is that of the parameter `claims`. The first
# argument of TokenRefusal names a row of TOKEN_ERRORS, whose description is the reason where it has none of its own.
RAISED = {"AuthorizationError": 1, "TokenRefusal": 1, "InvalidClient": 0, "_refuse": 0}
# What is no literal: the expression, and texts that it can have. "" stands for the description of the error.
MADE = {
    "TOO_LONG": ["The request is longer than 4,096 characters."],
    "scopes.SPACES": ["scope must be names with one space between each two, and none before or after."],
    "reason": [
        "Differs from https://a.example.com/: only the slash at the end.",
        "No redirect URL is registered yet.",
        "100 people use this app, and it has not been reviewed.",
        "The project’s unreviewed apps have 100 people, which is the limit, and it has not been reviewed.",
        "The code_verifier must have 43 to 128 characters, of A-Z, a-z, 0-9 and -._~ only.",
    ],
    "_why_refused(auth_request, refused)": [
        "Unknown, or not approved for this client: calendar.",
        "Approved for this client, but b.example.com was not in its review: account.read.",
    ],
    "_why_asked(auth_request)": [
        "",
        "The person has allowed it, but not at b.example.com, which its review did not take in.",
    ],
    "client.unavailable_reason": ["The client is turned off.", "The project is suspended.", "The project is deleted."],
    "text": ["The client authenticates in two ways.", "claims is not a JSON object."],
    "str(error)": ["There are too many parameters."],
}
# Rows that no client's log can hold: no client is found before them, or the endpoint has no log (userinfo).
NEVER_LOGGED = {
    "post_only",
    "get_or_post_only",
    "query_sent",
    "access_token_invalid",
    "access_token_expired",
    "access_token_ended",
    "openid_missing",
}


def raised() -> Iterator[tuple[str, str, str]]:
    """Yield where each refusal of oidc/ is made, its error code ("" where it is not written there) and its reason."""
    root = Path(oidc.__file__).parent
    for path in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in RAISED:
                where = f"{path.relative_to(root)}:{node.lineno}"
                for error, reason in _reasons(node, node.func.id, where):
                    yield where, error, reason


def _reasons(call: ast.Call, name: str, where: str) -> Iterator[tuple[str, str]]:
    error = {"InvalidClient": "invalid_client", "_refuse": "invalid_request"}.get(name, "")
    described = ""
    if not error and call.args and isinstance(call.args[0], ast.Constant):
        error = str(call.args[0].value)
        if name == "TokenRefusal":
            error, described, _ = TOKEN_ERRORS[error]
    by_name = {word.arg: word.value for word in call.keywords}
    place = RAISED[name]
    said = by_name.get("reason") or (call.args[place] if len(call.args) > place else None)
    for text in _texts(said, where):
        yield error, text or described or ERROR_DESCRIPTIONS.get(error, "")


def _texts(said: ast.expr | None, where: str) -> list[str]:
    match said:
        case None:
            return [""]
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr(values=parts):
            return ["".join(str(part.value) if isinstance(part, ast.Constant) else "1" for part in parts)]
        case ast.IfExp():
            return [*_texts(said.body, where), *_texts(said.orelse, where)]
        case _:
            assert ast.unparse(said) in MADE, f"{where}: say in MADE which reasons this can be"
            return MADE[ast.unparse(said)]


def test_every_reason_in_the_source_has_a_mend() -> None:
    found = list(raised())
    assert len(found) > 70
    # A code that is not written where it is raised is the library's, which gives its own description.
    missing = [each for each in found if each[1] and find_rule(*each[1:]) is None]
    assert missing == []


def test_a_new_reason_would_be_noticed() -> None:
    assert find_rule("invalid_request", "The moon is full.") is None


@pytest.mark.parametrize("error", sorted(ERROR_DESCRIPTIONS))
def test_every_description_has_a_mend(error: str) -> None:
    if error != "invalid_request":  # always has a reason of its own
        assert find_rule(error, ERROR_DESCRIPTIONS[error]) is not None


@pytest.mark.parametrize("kind", sorted(TOKEN_ERRORS.keys() - NEVER_LOGGED))
def test_every_description_of_the_token_endpoint_has_a_mend(kind: str) -> None:
    row = TOKEN_ERRORS[kind]
    assert find_rule(row.error, row.description) is not None
    # The analytics lead to the entries of each error.
    assert row.error in ERRORS


def test_what_the_library_refuses_has_a_row() -> None:
    assert set(OF_LIBRARY.values()) | set(OF_LIBRARY_BY_CODE.values()) <= set(TOKEN_ERRORS)


@pytest.mark.parametrize("why", ["refresh token reused", "code replayed", "access removed", "anything else"])
def test_every_end_of_an_authorization_has_a_mend(why: str) -> None:
    assert find_rule("invalid_grant", f"The authorization has ended: {why}.") is not None


def test_every_code_of_the_api_has_a_mend() -> None:
    assert set(MENDS) == set(CODES)


# --- From real requests ---


@pytest.fixture
def party(spa: Client, person: Account) -> RelyingParty:
    """A browser app, which acts for a person who is signed in."""
    browser = Browser()
    sign_in(browser, person)
    return RelyingParty(spa, browser)


def logged(client: Client) -> SignInEvent:
    recording.flush_usage()
    return SignInEvent.objects.filter(client=client).latest("pk")


@pytest.mark.parametrize(("changes", "error", "reason"), REFUSED)
def test_real_refusals_of_the_authorization_endpoint(
    changes: dict[str, str | None], error: str, reason: str, party: RelyingParty
) -> None:
    party.authorize(**changes)
    event = logged(party.client)
    assert (event.error, event.reason) == (error, reason)
    assert find_rule(event.error, event.reason) is not None
    mend = mend_for(party.client, event)
    assert mend is not None
    assert mend.url.startswith(("/docs/", "/console/p/"))
    assert mend.text
    assert mend.label


@pytest.mark.parametrize(
    ("form", "page"),
    [
        ({"grant_type": "authorization_code", "code": "x", "code_verifier": "y" * 43}, "/docs/sign-in/tokens#code"),
        ({"grant_type": "refresh_token", "refresh_token": "x"}, "/docs/sign-in/tokens#refresh"),
        ({"grant_type": "authorization_code", "code": "x", "code_verifier": None}, "/docs/sign-in/tokens#code"),
        ({"grant_type": "authorization_code", "code": "x", "client_secret": "wrong"}, "/secrets"),
        ({"grant_type": "authorization_code", "code": "x", "client_secret": ""}, "/secrets"),
    ],
)
def test_real_refusals_of_the_token_endpoint(form: dict[str, Any], page: str, web_app: RelyingParty) -> None:
    sent = {"redirect_uri": "https://app.example.com/callback", **web_app.credentials()} | form
    assert web_app.post("/connect/token", sent).status_code in (400, 401)
    event = logged(web_app.client)
    assert find_rule(event.error, event.reason) is not None, (event.error, event.reason)
    mend = mend_for(web_app.client, event)
    assert mend is not None
    assert page in mend.url


def test_a_wrong_verifier_leads_to_the_lines_of_the_quick_start(party: RelyingParty) -> None:
    party.exchange(party.code(), code_verifier="x" * 43)
    mend = mend_for(party.client, logged(party.client))
    assert mend is not None
    assert mend.url.endswith("/quick-start")
