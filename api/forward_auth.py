"""Forward authentication: a proxy asks whether a call may reach an API (docs/sign-in.md#forward-authentication)."""

import re
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

from django.db import DatabaseError

from api import finished_calls, request_targets, throttling
from api.authentication import Caller, RejectedCredential, find_caller, owner_of_unproven
from api.errors import DEAD_CREDENTIAL, ApiError, limit_reached, no_credential, unforeseen
from api.finished_calls import FinishedCall
from api.request_targets import AmbiguousPath
from api.usage_counts import CallOwner
from oidc.apis.registry import ApiSnapshot
from oidc.tokens.signing_keys import NoSigningKey
from oidc.values.reasons import Facts

_UNKNOWN_SCOPE = "The proxy in front of this API requires a scope that the API does not have."
_METHOD = re.compile(r"[A-Z][A-Z0-9-]{0,19}")


@dataclass(frozen=True)
class ForwardedCall:
    """The call that a proxy asks about.

    `target` is its request target as it was sent, or None if the proxy sends none. `is_decoded`: the target is a path
    without a query, and already decoded. `scopes` are what the proxy itself requires. `address` is the IP address of
    the caller, "" if the proxy does not name it, and `limit_key` the key under which unknown credentials are limited.
    """

    method: str | None
    target: str | None
    scopes: tuple[str, ...] = ()
    is_decoded: bool = False
    is_unclear: bool = False  # a header or a parameter is unreadable, or names another target, method or protocol
    credential: str | None = None
    address: str = ""
    limit_key: str = ""


@dataclass(frozen=True)
class Permission:
    """An allowed call: who makes it, and the caller's scopes of the API."""

    caller: Caller
    scopes: tuple[str, ...]


def authorize_call(api: ApiSnapshot, call: ForwardedCall) -> Permission:
    """Return who makes a call that is allowed, and count and log the call.

    Raises the first ApiError that applies: `api_disabled`, those of the credential, `rate_limited`, `path_not_allowed`,
    `insufficient_scope`.
    """
    started = time.perf_counter()
    owner: CallOwner | None = None
    try:
        if not api.enabled:
            raise ApiError("api_disabled", "This API is turned off.")
        caller = _authenticate(api, call)
        owner = CallOwner(caller.project.pk, caller.key, caller.client, caller.subject.sub)
        permission = _check(api, call, caller)
    except ApiError as refusal:
        owner = owner or _owner_of(refusal)
        if owner is not None:
            _record(api, call, owner, started, refusal)
        if refusal.status_code == 401:
            with suppress(ApiError):  # of a call that no credential allows
                refusal.scopes = _in_order(api, _needed_scopes(api, call))
        raise
    _record(api, call, owner, started)
    return permission


def _authenticate(api: ApiSnapshot, call: ForwardedCall) -> Caller:
    if call.credential is None:
        raise no_credential()
    try:
        return find_caller(call.credential, api)
    except RejectedCredential:
        raise
    except ApiError:
        throttling.count_guess(call.limit_key)
        raise
    except (DatabaseError, NoSigningKey) as failure:
        raise unforeseen(failure) from failure


def _check(api: ApiSnapshot, call: ForwardedCall, caller: Caller) -> Permission:
    """Check the limits, the rules and the scopes, in this order. Raises ApiError."""
    result = throttling.count_call(caller, api)
    if not result.allowed:
        raise limit_reached(result.reset)
    needed = _needed_scopes(api, call)
    scopes = throttling.scopes_in(api, caller)
    if not needed.issubset(scopes):
        names = _in_order(api, needed)
        facts: Facts = {"needs": throttling.named_for_log(names), "has": throttling.named_for_log(scopes)}
        text = f"This needs the scope: {', '.join(names)}." if names else _UNKNOWN_SCOPE
        raise ApiError("insufficient_scope", text, names, facts=facts)
    return Permission(caller, scopes)


def _in_order(api: ApiSnapshot, needed: frozenset[str]) -> tuple[str, ...]:
    """Return the needed scopes of the API. A challenge has no other text from outside."""
    return tuple(scope.name for scope in api.scopes if scope.name in needed)


def _needed_scopes(api: ApiSnapshot, call: ForwardedCall) -> frozenset[str]:
    """Return the scopes that the rules of the API and the proxy require. Raises ApiError if they don't cover the call.

    If the API has rules, one of them has to match: a scope that the proxy requires only adds to them.
    """
    if call.is_unclear or (call.method or "").upper() == "CONNECT":
        _refuse_path("A header or the query is unreadable, or names another path, method, scope or protocol.")
    required = frozenset(call.scopes)
    if not api.rules:
        return required or _refuse_path("This API has no rules, and the proxy names no scope.")
    if call.target is None or call.method is None or _METHOD.fullmatch(call.method) is None:
        _refuse_path("The proxy does not send a valid method and path of the call.")
    try:
        path = call.target if call.is_decoded else request_targets.decode_path(call.target)
        for reading in request_targets.readings(path):
            found = api.scopes_for(call.method, reading)
            required |= found or _refuse_path("No rule of this API allows this method and path.")
    except AmbiguousPath:
        _refuse_path("The path is ambiguous. Send it without encoded slashes, dots and other special characters.")
    return required


def _refuse_path(message: str) -> NoReturn:
    raise ApiError("path_not_allowed", message)


def _owner_of(refusal: ApiError) -> CallOwner | None:
    """Return for whom a refused call is logged, None if it is not logged."""
    if isinstance(refusal, RejectedCredential):
        return CallOwner(refusal.project, refusal.key, refusal.client)
    return owner_of_unproven(refusal) if refusal.code in DEAD_CREDENTIAL else None


def _record(
    api: ApiSnapshot, call: ForwardedCall, owner: CallOwner, started: float, refusal: ApiError | None = None
) -> None:
    path = (call.target or "").partition("?")[0]
    finished = FinishedCall(
        owner,
        endpoint=api.slug,
        method=call.method or "",
        path=path,
        status=refusal.status_code if refusal else 200,
        code=str(refusal.code) if refusal else "",
        api=api.slug,
        address=call.address if owner.key and owner.project is not None else "",
        facts=refusal.facts if refusal else None,
    )
    finished_calls.record(finished, time.perf_counter() - started)
