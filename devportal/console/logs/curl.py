"""Log entries as curl commands. Credentials are replaced by variables, because the logs don't store them."""

from urllib.parse import quote_plus

from django.conf import settings

from api.models import RequestLog
from devportal.console.logs.redaction import MARKS
from devportal.console.models import SignInEvent
from devportal.console.quick_start import shell_string
from oidc.models import Client
from oidc.reasons import Reason
from oidc.sign_in_steps import Endpoint, Outcome

_NEXT = " \\\n  "
_LEFT_OUT = "…"  # replaces parts of an unknown path in the log


def call_as_curl(row: RequestLog) -> str:
    """Return an API call, or "" if the log does not hold the whole path or the HTTP method is unknown."""
    if _LEFT_OUT in row.path or not row.path.startswith("/") or not row.method.isalpha():
        return ""
    variable = "$ACCESS_TOKEN" if row.client else "$API_KEY"
    method = {"GET": [], "HEAD": ["-I"]}.get(row.method, [f"-X {row.method}"])
    first = " ".join(["curl -sS -i", *method])
    return _NEXT.join([first, f'-H "Authorization: Bearer {variable}"', shell_string(settings.BASE_URL + row.path)])


def sign_in_as_curl(client: Client, event: SignInEvent) -> str:
    """Return a template of the request of a step. Values that the log does not hold are variables."""
    if event.endpoint == Endpoint.AUTHORIZE:
        return _authorization(client, event)
    if event.endpoint == Endpoint.REVOKE:
        return _form(client, "revoke", ['"token=$REFRESH_TOKEN"'])
    if _is_exchange(event):
        uri = _redirect_uri(event)
        return _form(
            client,
            "token",
            ["grant_type=authorization_code", '"code=$CODE"', uri, '"code_verifier=$CODE_VERIFIER"'],
        )
    return _form(client, "token", ["grant_type=refresh_token", '"refresh_token=$REFRESH_TOKEN"'])


# Reasons that occur only when a code is exchanged.
_OF_A_CODE = {
    Reason.CODE_MISSING,
    Reason.CODE_UNKNOWN,
    Reason.CODE_USED,
    Reason.CODE_EXPIRED,
    Reason.VERIFIER_MISSING,
    Reason.VERIFIER_MALFORMED,
    Reason.VERIFIER_WRONG,
    Reason.REDIRECT_URI_MISSING,
    Reason.REDIRECT_URI_DIFFERS,
    Reason.ENDED_CODE_REPLAYED,
    Reason.ENDED_CONSENT_SENT_TWICE,
}


def _is_exchange(event: SignInEvent) -> bool:
    if event.outcome == Outcome.SIGNED_IN or event.redirect_uri:
        return True
    return event.outcome != Outcome.REFRESHED and event.reason in _OF_A_CODE


def _redirect_uri(event: SignInEvent) -> str:
    """Return the redirect_uri of a request as received, or a variable if it is missing or redacted."""
    if not event.redirect_uri or any(mark in event.redirect_uri for mark in MARKS):
        return '"redirect_uri=$REDIRECT_URI"'
    return shell_string(f"redirect_uri={event.redirect_uri}")


def _authorization(client: Client, event: SignInEvent) -> str:
    """Return the authorization request. curl gets only its first response, because pages need a browser."""
    parameters = [
        "response_type=code",
        shell_string(f"client_id={client.client_id}"),
        _redirect_uri(event),
        '"scope=$SCOPE"',
        '"state=$STATE"',
        '"code_challenge=$CODE_CHALLENGE"',
        "code_challenge_method=S256",
    ]
    return _NEXT.join([f"curl -sS -i -G {_endpoint('authorize')}", *map(_encoded, parameters)])


def _form(client: Client, endpoint: str, fields: list[str]) -> str:
    """Return a form for the token or revocation endpoint, with the client's authentication (RFC 6749 §2.3.1)."""
    if client.has_secret:
        user = [f'-u {shell_string(quote_plus(client.client_id))}":$CLIENT_SECRET"']
    else:
        user, fields = [], [*fields, shell_string(f"client_id={client.client_id}")]
    return _NEXT.join([f"curl -sS -i {_endpoint(endpoint)}", *user, *map(_encoded, fields)])


def _encoded(field: str) -> str:
    return f"--data-urlencode {field}"


def _endpoint(name: str) -> str:
    return shell_string(f"{settings.AUTH_URL}/connect/{name}")
