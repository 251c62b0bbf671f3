"""RP-initiated logout: validate the request, and decide whether it needs a confirmation page."""

from dataclasses import dataclass, replace

from accounts.browser_accounts import OtherAccount
from accounts.models import Account, PairwiseSubject
from oidc.clients.lookup import find_client
from oidc.errors import InvalidToken
from oidc.models import Client
from oidc.parameters import Parameters
from oidc.tokens import jwt


@dataclass(frozen=True)
class LogoutRequest:
    """A sign-out request. `return_to` is set only if it is registered for the client that the hint proves."""

    client: Client | None
    hinted_sub: str | None
    return_to: str | None
    state: str | None


def parse_logout_request(parameters: Parameters) -> LogoutRequest:
    """Parse and validate the parameters. An invalid parameter is treated as missing."""
    hint, client_id = parameters.get("id_token_hint"), parameters.get("client_id")
    if not all(map(parameters.is_clear, ("id_token_hint", "client_id", "post_logout_redirect_uri", "state"))):
        hint = None
    claims = _claims(hint)
    if claims is None:
        return LogoutRequest(find_client(client_id), None, None, None)
    client = find_client(claims.get("aud"))
    if client is None or (client_id and client_id != client.client_id):
        return LogoutRequest(client, None, None, None)
    uri = parameters.get("post_logout_redirect_uri")
    return_to = uri if uri and client.post_logout_redirect_uri_allowed(uri) else None
    return LogoutRequest(client, claims.get("sub"), return_to, parameters.get("state"))


def _claims(hint: str | None) -> dict[str, str] | None:
    if hint is None:
        return None
    try:
        claims = jwt.verify_id_token_hint(hint)
    except InvalidToken:
        return None
    return claims if all(isinstance(claims.get(name), str) for name in ("aud", "sub")) else None


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
