"""Scopes: their consent texts, their claims, and which clients may request them."""

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from oauth2_provider.scopes import BaseScopes

from accounts.models import Account, PairwiseSubject
from accounts.profile import profile_of
from oidc.models import Client
from oidc.parameters import printable_name

OPENID = "openid"
OFFLINE_ACCESS = "offline_access"
ACCOUNT_READ = "account.read"


@dataclass(frozen=True)
class Scope:
    """One scope. `title` is its sentence on the consent page."""

    name: str
    title: str
    needs_approval: bool = False


SCOPES = {
    scope.name: scope
    for scope in (
        Scope(OPENID, "Recognise you when you come back"),
        Scope("email", "See your email address"),
        Scope("profile", "See your name and photo"),
        Scope(OFFLINE_ACCESS, "Keep this access while you are away, until you remove the app"),
        Scope(ACCOUNT_READ, "See your email address, your name and photo, and your plan", needs_approval=True),
    )
}

# The scope that returns each claim (OpenID Connect Core 5.4). `sub` comes with `openid`, which is always requested.
CLAIM_SCOPES = {
    "email": "email",
    "email_verified": "email",
    "name": "profile",
    "given_name": "profile",
    "family_name": "profile",
    "picture": "profile",
}

# The claims that `account.read` returns at `/v1`, in addition to the plan: only claims that its title on the consent
# page names. Before a new claim is added here, the title has to name it and people have to be asked again.
ACCOUNT_READ_CLAIMS = frozenset({"email", "email_verified", "name", "given_name", "family_name", "picture"})
# The scopes whose claims `account.read` returns completely.
ACCOUNT_READ_HOLDS = frozenset(CLAIM_SCOPES.values()) - {
    scope for claim, scope in CLAIM_SCOPES.items() if claim not in ACCOUNT_READ_CLAIMS
}
# Scopes that return the picture, in claims or at `/v1/me`.
PICTURE_SCOPES = frozenset({"profile", ACCOUNT_READ})
# Scopes that return the email address.
EMAIL_SCOPES = frozenset({"email", ACCOUNT_READ})


def parse_scope(text: str | None) -> list[str]:
    """Return the scopes of a space-separated text in its order, without repetitions (RFC 6749 §3.3).

    Two spaces in a row yield an empty scope, which is not valid.
    """
    return list(dict.fromkeys((text or "").split(" "))) if text else []


def format_scope(scopes: Any) -> str:
    """Return scopes as one space-separated text, in the order of SCOPES."""
    wanted = set(scopes)
    return " ".join(name for name in SCOPES if name in wanted)


def allowed_scopes(client: Client, *, reviewed: bool = True) -> frozenset[str]:
    """Return the scopes that `client` may request: the basic ones, and those approved in review.

    With a redirect URI that its review does not cover (`reviewed` is False), it may only request the basic ones
    (docs/review.md#hosts).
    """
    return scopes_with(client.approved_scopes if reviewed else "")


def optional_scopes(client: Client) -> frozenset[str]:
    """Return the scopes that people may leave out of what `client` requests, never `openid`."""
    return frozenset(client.optional_scopes.split()) - {OPENID}


def optional_among(client: Client, asked: Iterable[str]) -> frozenset[str]:
    """Return the scopes that people may leave out of a request for `asked`.

    A scope is not optional if a required scope returns the same data: leaving it out would make no difference.
    """
    requested = frozenset(asked)
    optional = optional_scopes(client) & requested
    if ACCOUNT_READ in requested - optional:
        optional -= ACCOUNT_READ_HOLDS
    return optional


def optional_candidates(client: Client) -> list[Scope]:
    """Return the scopes that `client` may make optional: all that it may request, except `openid`."""
    return [scope for name, scope in SCOPES.items() if name in allowed_scopes(client) - {OPENID}]


def clean_optional_scopes(client: Client, names: Iterable[str]) -> str:
    """Return optional scopes in the form in which they are stored.

    Raises ValidationError for a scope that `client` may not request.
    """
    chosen = set(names)
    if refused := sorted(chosen - {scope.name for scope in optional_candidates(client)}):
        raise ValidationError(f"This client can't make {', '.join(map(printable_name, refused))} optional.")
    return format_scope(chosen)


@functools.lru_cache(maxsize=64)
def scopes_with(approved: str) -> frozenset[str]:
    """Return the basic scopes and the scopes in `approved`, a space-separated text."""
    names = set(approved.split())
    return frozenset(name for name, scope in SCOPES.items() if not scope.needs_approval or name in names)


class ScopesBackend(BaseScopes):  # type: ignore[misc]
    """django-oauth-toolkit's scopes backend (SCOPES_BACKEND_CLASS)."""

    def get_all_scopes(self) -> dict[str, str]:
        return {name: scope.title for name, scope in SCOPES.items()}

    def get_available_scopes(
        self, application: Client | None = None, request: Any = None, *args: Any, **kwargs: Any
    ) -> list[str]:
        return sorted(allowed_scopes(application)) if application else list(SCOPES)

    def get_default_scopes(self, *args: Any, **kwargs: Any) -> list[str]:
        return []


def claims_for(account: Account, subject: PairwiseSubject, scopes: list[str]) -> dict[str, Any]:
    """Return `sub` and the claims of `scopes`. Claims without a value are omitted."""
    profile = profile_of(account, subject.picture_key)
    claims = {
        name: getattr(profile, name)
        for name, scope in CLAIM_SCOPES.items()
        if scope in scopes and getattr(profile, name) not in (None, "")
    }
    return {"sub": subject.sub} | claims
