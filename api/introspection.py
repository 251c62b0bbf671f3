"""Token introspection for the company's own APIs (RFC 7662, docs/sign-in.md#introspection)."""

import time
from typing import Any, NamedTuple

from django.conf import settings

from api import authentication, finished_calls, keys, throttling
from api.authentication import Caller, RejectedCredential
from api.finished_calls import FinishedCall
from api.models import ApiKey
from api.usage_counts import CallOwner
from core.credentials import matches
from core.limits.counters import Throttled
from oidc.apis import credentials
from oidc.apis.registry import ApiSnapshot, current_registry
from oidc.errors import InvalidClient, InvalidToken
from oidc.models import AccessToken, ApiCredential
from oidc.projects.credentials import note_use
from oidc.tokens import access_tokens, jwt
from oidc.tokens.lookup import look_up_access_token_for_api
from oidc.values.reasons import Facts, Reason

PATH = "/connect/introspect"
INACTIVE = {"active": False}


class _Presented(NamedTuple):
    """The credential of the API, and the key or access token that the request is about, as they are stored."""

    credential: ApiCredential | None
    key: ApiKey | None = None
    token: AccessToken | None = None
    claims: jwt.SignedClaims | None = None


def introspect(token: str, public_id: str, secret: str, address: str) -> dict[str, Any]:
    """Return the response to an API's question about an access token or API key.

    `public_id` and `secret` are the API's credential, `address` is the IP address of its server. Raises InvalidClient
    for a wrong credential, and Throttled if the token's app, person or key has reached the limits of this API.
    """
    started = time.perf_counter()
    presented = _look_up(token, credentials.possible_public_id(public_id))
    api = _authenticate(presented.credential, secret, address)
    if api is None or not api.enabled:
        return INACTIVE
    try:
        caller = _find_caller(presented, token, api)
    except RejectedCredential as refused:
        owner = CallOwner(refused.project, refused.key, refused.client)
        _record(owner, api, refused.status_code, refused.code, started, refused.facts)
        return INACTIVE
    if caller is None:
        return INACTIVE
    owner = CallOwner(caller.project.pk, caller.key, caller.client, caller.subject.sub)
    scopes = throttling.scopes_in(api, caller)
    if not scopes:
        _record(owner, api, 403, "insufficient_scope", started, {"has": []})
        return INACTIVE
    result = throttling.count_call(caller, api)
    if not result.allowed:
        _record(owner, api, 429, "rate_limited", started)
        raise Throttled(result.reset)
    _record(owner, api, 200, "", started)
    return _describe(caller, api, scopes, presented)


def _look_up(token: str, public_id: str) -> _Presented:
    """Read what the request is about together with the API's credential: for a live token, in one statement."""
    if keys.looks_like_key(token):
        key_id = keys.parse_public_id(token)
        with_key = authentication.look_up_key_for_api(key_id, public_id) if key_id else None
        if with_key is not None:
            return _Presented(with_key[1], key=with_key[0])
    else:
        try:
            checksum, claims = jwt.verify_access_token(token)
        except InvalidToken:
            return _Presented(credentials.look_up_credential(public_id))
        with_token = look_up_access_token_for_api(checksum, public_id)
        if with_token is not None:
            return _Presented(with_token[1], token=with_token[0], claims=claims)
    return _Presented(credentials.look_up_credential(public_id))


def _authenticate(found: ApiCredential | None, secret: str, address: str) -> ApiSnapshot | None:
    """Return the API whose credential this is, None if this process does not know the API yet. Raises InvalidClient."""
    if not credentials.is_valid(found, secret) or found is None:
        raise InvalidClient(Reason.CLIENT_FAILED)
    note_use(found, address)
    return next((api for api in current_registry().apis.values() if api.pk == found.api_id), None)


def _find_caller(presented: _Presented, token: str, api: ApiSnapshot) -> Caller | None:
    """Return the caller of a key or of a token for this API, or None. Raises RejectedCredential for an ended one."""
    if presented.key is not None:
        return authentication.caller_of_key(presented.key) if matches(token, presented.key.digest) else None
    if presented.claims is None:
        return None
    try:
        row = access_tokens.check_access_token(presented.token)
        access_tokens.check_audience(row, presented.claims, api.identifier)
        return authentication.caller_of_token(row)
    except InvalidToken as bad:
        if bad.row is None:
            return None
        raise authentication.rejected_token(bad.row, bad.reason, bad.audience, api) from bad


def _describe(caller: Caller, api: ApiSnapshot, scopes: tuple[str, ...], presented: _Presented) -> dict[str, Any]:
    """Return the members of RFC 7662 §2.2, and `key_id` for an API key."""
    answer: dict[str, Any] = {
        "active": True,
        "iss": settings.ISSUER,
        "sub": caller.subject.sub,
        "aud": api.identifier,
        "scope": " ".join(scopes),
    }
    if presented.key is not None:
        answer |= {"key_id": presented.key.public_id, "iat": int(presented.key.created_at.timestamp())}
        if presented.key.expires_at is not None:
            answer["exp"] = int(presented.key.expires_at.timestamp())
        return answer
    claims = presented.claims
    assert claims is not None  # there is a caller, and it has no key
    answer |= {"client_id": caller.client, "token_type": "Bearer", "iat": claims.issued, "exp": claims.expires}
    authenticated = {"acr": claims.acr, "auth_time": claims.auth_time}
    return answer | {name: value for name, value in authenticated.items() if value is not None}


def _record(
    owner: CallOwner, api: ApiSnapshot, status: int, code: str, started: float, facts: Facts | None = None
) -> None:
    """Record the call with the status that `/v1` would have returned: the response itself is always 200 or 429."""
    call = FinishedCall(
        owner, endpoint=api.slug, method="POST", path=PATH, status=status, code=code, api=api.slug, facts=facts
    )
    finished_calls.record(call, time.perf_counter() - started)
