"""Sign-out requests (OpenID Connect RP-Initiated Logout 1.0): their checks, and whether the person has to confirm."""

from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.db.models import TextField, Value
from django.db.models.functions import Concat

from accounts.models import Account, PairwiseSubject
from accounts.sessions.browser_accounts import OtherAccount
from oidc.clients.lookup import find_client
from oidc.errors import InvalidToken, Refusal
from oidc.models import Client
from oidc.tokens import jwt
from oidc.values.parameters import Parameters
from oidc.values.reasons import Reason
from oidc.values.redirect_uris import nearest_registered, shared_start

PARAMETERS = ("id_token_hint", "client_id", "post_logout_redirect_uri", "state")


@dataclass(frozen=True)
class LogoutRequest:
    """A sign-out request. `return_to` is set only if it is registered for the client that the hint proves, which is on.

    `problem` is the first check that failed. `client` is then the one that `client_id` names, if the hint proves none.
    `sent_uri` is the post_logout_redirect_uri as received.
    """

    client: Client | None
    hinted_sub: str | None = None
    return_to: str | None = None
    state: str | None = None
    problem: Refusal | None = None
    sent_uri: str = ""

    @property
    def other_problem(self) -> str:
        """The problem in words for the app's developers; "" if there is none, or only the sign-out URL is wrong."""
        of_the_uri = (Reason.NO_SIGN_OUT_URI_REGISTERED, Reason.SIGN_OUT_URI_NOT_REGISTERED)
        return "" if self.problem is None or self.problem.reason in of_the_uri else self.problem.developer_text


def parse_logout_request(parameters: Parameters) -> LogoutRequest:
    """Return the request after its checks. A request with a problem proves nothing."""
    sent_uri = parameters.get("post_logout_redirect_uri") or ""
    try:
        check_parameters(parameters)
        claims = read_hint(parameters)
    except Refusal as problem:
        return LogoutRequest(find_client(parameters.get("client_id")), problem=problem, sent_uri=sent_uri)
    if claims is None:
        return LogoutRequest(find_client(parameters.get("client_id")))
    client = find_client(claims["aud"])
    try:
        check_client(parameters, client.client_id if client else "")
        # As in a sign-in, nobody is sent to an app that is turned off or suspended.
        return_to = check_return(parameters, client) if client and client.is_on else None
    except Refusal as problem:
        return LogoutRequest(client, problem=problem, sent_uri=sent_uri)
    return LogoutRequest(client, claims["sub"], return_to, parameters.get("state"))


# --- The checks, in their order. Each raises Refusal. ---


def check_parameters(parameters: Parameters) -> None:
    for name in PARAMETERS:
        if not parameters.is_clear(name):
            raise Refusal(Reason.PARAMETER_UNCLEAR, {"name": name})


def read_hint(parameters: Parameters) -> dict[str, Any] | None:
    """Return the claims of id_token_hint, None without a hint if the app does not ask to get the person back."""
    hint = parameters.get("id_token_hint")
    if hint is None:
        if parameters.get("post_logout_redirect_uri"):
            raise Refusal(Reason.SIGN_OUT_HINT_MISSING)
        return None
    try:
        claims = jwt.verify_id_token_hint(hint)
    except InvalidToken:
        raise Refusal(Reason.SIGN_OUT_HINT_INVALID) from None
    if not all(isinstance(claims.get(name), str) for name in ("aud", "sub")):
        raise Refusal(Reason.SIGN_OUT_HINT_INVALID)
    return claims


def check_client(parameters: Parameters, client_id: str) -> None:
    """Check that client_id, if sent, is the id of the hint's client, which is "" if it was deleted."""
    if not client_id:
        raise Refusal(Reason.CLIENT_ID_UNKNOWN)
    if parameters.get("client_id") not in (None, client_id):
        raise Refusal(Reason.SIGN_OUT_CLIENT_DIFFERS)


def check_return(parameters: Parameters, client: Client) -> str | None:
    """Return the registered URL to which the person returns, None if none was sent."""
    uri = parameters.get("post_logout_redirect_uri")
    if not uri or client.post_logout_redirect_uri_allowed(uri):
        return uri or None
    nearest = nearest_registered(uri, client.registered_post_logout_redirect_uris)
    if nearest is None:
        raise Refusal(Reason.NO_SIGN_OUT_URI_REGISTERED)
    place = shared_start(uri, nearest) + 1
    raise Refusal(Reason.SIGN_OUT_URI_NOT_REGISTERED, {"registered": nearest, "position": place})


# --- What follows from a request ---


def with_state(uri: str, state: str | None) -> str:
    """Return a sign-out URL with the request's `state`."""
    return f"{uri}{'&' if '?' in uri else '?'}{urlencode({'state': state})}" if state else uri


def find_way_back(parameters: Parameters, client: Client | None) -> str:
    """Return the URL of the client to which the page after a confirmed sign-out links, "" for none.

    The request proves nothing, so nobody gets there without a click, and only at a URL that is registered for the
    client, character for character.
    """
    uri = parameters.get("post_logout_redirect_uri")
    if not uri or client is None or not all(parameters.is_clear(name) for name in PARAMETERS):
        return ""
    can_return = client.is_on and client.post_logout_redirect_uri_allowed(uri)
    return with_state(uri, parameters.get("state")) if can_return else ""


def only_client_with(uri: str) -> Client | None:
    """Return the client that alone has registered this sign-out URL, None if there is none or several have."""
    listed = Concat(Value(" "), "post_logout_redirect_uris", Value(" "), output_field=TextField())
    found = Client.objects.annotate(listed=listed).filter(listed__contains=f" {uri} ").select_related("project")
    # SQLite also finds the URL in other cases.
    exact = [client for client in found[:10] if client.post_logout_redirect_uri_allowed(uri)]
    return exact[0] if len(exact) == 1 else None


@dataclass(frozen=True)
class ProvenSignOut:
    """A sign-out that needs no confirmation page.

    `ends_present` ends the session of the present account, `ending` that of another account in this browser. The
    browser goes to `return_to`.
    """

    client: Client
    return_to: str
    ends_present: bool = False
    ending: OtherAccount | None = None


def prove_sign_out(request: LogoutRequest, account: Account | None, others: list[OtherAccount]) -> ProvenSignOut | None:
    """Return the sign-out that may happen without confirmation, None if it has to be confirmed.

    It needs a valid id_token_hint and a URL registered for its client. The hint speaks only for its own person: their
    session ends, whether they are the present account or one of the others. If they are not signed in but someone else
    is, the present account has to confirm.
    """
    if request.return_to is None or request.client is None:
        return None
    subjects = PairwiseSubject.objects.filter(sub=request.hinted_sub, sector=request.client.project.public_id)
    found = subjects.values_list("account_id", flat=True).first() if account or others else None
    proven = ProvenSignOut(request.client, request.return_to)
    if account is not None and account.pk == found:
        return replace(proven, ends_present=True)
    ending = next((each for each in others if each.account.pk == found), None)
    return replace(proven, ending=ending) if ending or account is None else None
