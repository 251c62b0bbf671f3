"""Scopes: their descriptions, their claims, and which clients may request them."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from django.core.exceptions import ValidationError
from oauth2_provider.scopes import BaseScopes

from accounts.models import Account, PairwiseSubject
from accounts.plans.resolution import plan_source
from accounts.profile.claims import profile_of
from accounts.profile.sources import SourceFailed
from oidc.apis.registry import (
    ACCOUNT_API,
    ACCOUNT_READ,
    IDENTITY_SCOPES,
    OPENID,
    ApiSnapshot,
    Scope,
    account_api,
    current_registry,
)
from oidc.models import Client
from oidc.values.parameters import printable_name

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


def known_scopes() -> Mapping[str, Scope]:
    """Return all scopes by name, in their order (oidc/apis/registry.py)."""
    return current_registry().scopes


def scopes_of_account_api() -> tuple[Scope, ...]:
    """Return the scopes that the API at `/v1` accepts, identity scopes included."""
    return (*IDENTITY_SCOPES, *account_api().scopes)


def scope_titles(names: Collection[str]) -> list[str]:
    """Return the titles of scopes, in the order of known_scopes(), after the name of an API other than `/v1`."""
    return [
        f"{api}: {scope.title}" if (api := other_api_name(scope)) else scope.title
        for scope in known_scopes().values()
        if scope.name in names
    ]


def other_api_name(scope: Scope) -> str:
    """Return the name of a scope's API, "" for identity scopes and for the API at `/v1`."""
    return "" if scope.api in ("", ACCOUNT_API) else current_registry().apis[scope.api].name


def other_api_names(names: Iterable[str]) -> list[str]:
    """Return the names of the APIs other than `/v1` that scopes belong to, in the order of the registry."""
    found = {known_scopes()[name].api for name in names if name in known_scopes()} - {"", ACCOUNT_API}
    return [api.name for slug, api in current_registry().apis.items() if slug in found]


def group_by_api(scopes: Iterable[Scope]) -> list[tuple[ApiSnapshot | None, list[Scope]]]:
    """Return scopes with their APIs, in the order of the registry. Identity scopes come first, with None."""
    chosen = list(scopes)
    apis: list[ApiSnapshot | None] = [None, *current_registry().apis.values()]
    groups = [(api, [scope for scope in chosen if scope.api == (api.slug if api else "")]) for api in apis]
    return [(api, members) for api, members in groups if members]


def parse_scope(text: str | None) -> list[str]:
    """Return the scopes of a text in its order, without repetitions and with any number of spaces between them.

    RFC 6749 §3.3 allows exactly one space, but many clients join lists that have empty parts.
    """
    return list(dict.fromkeys(name for name in (text or "").split(" ") if name))


def format_scope(scopes: Any) -> str:
    """Return scopes as one space-separated text, in the order of known_scopes().

    Scopes that only other processes know yet come last, so that storing the text again loses none of them.
    """
    wanted = set(scopes)
    known = [name for name in known_scopes() if name in wanted]
    return " ".join([*known, *sorted(wanted.difference(known))])


def allowed_scopes(client: Client, *, reviewed: bool = True) -> frozenset[str]:
    """Return the scopes that `client` may request: the basic ones, and those approved in review.

    With a redirect URI that its review does not cover (`reviewed` is False), it may only request the basic ones
    (docs/review.md#hosts).
    """
    return current_registry().scopes_with(client.approved_scopes if reviewed else "")


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
    return [scope for name, scope in known_scopes().items() if name in allowed_scopes(client) - {OPENID}]


def clean_optional_scopes(client: Client, names: Iterable[str]) -> str:
    """Return optional scopes in the form in which they are stored.

    Raises ValidationError for a scope that `client` may not request.
    """
    chosen = set(names)
    if refused := sorted(chosen - {scope.name for scope in optional_candidates(client)}):
        raise ValidationError(f"This app can't make {', '.join(map(printable_name, refused))} optional.")
    return format_scope(chosen)


class ScopesBackend(BaseScopes):  # type: ignore[misc]
    """django-oauth-toolkit's scopes backend (SCOPES_BACKEND_CLASS)."""

    def get_all_scopes(self) -> dict[str, str]:
        return {name: scope.title for name, scope in known_scopes().items()}

    def get_available_scopes(
        self, application: Client | None = None, request: Any = None, *args: Any, **kwargs: Any
    ) -> list[str]:
        return sorted(allowed_scopes(application)) if application else list(known_scopes())

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


ONLY_SIGN_IN = "Sign you in"
ONLY_ID = "The app gets an id for you that other apps don't know, and nothing else."
# The titles of `account.read`, by the scopes in ACCOUNT_READ_HOLDS that no other scope on the page describes.
_ACCOUNT_READ_TITLES = {
    ("email", "profile"): "See your email address, your name and photo, and your plan",
    ("email",): "See your email address, and your plan",
    ("profile",): "See your name and photo, and your plan",
    (): "See your plan",
}


def describe_scopes(
    account: Account, asked: Iterable[str], *, optional: Collection[str] = (), plan: str | None = None
) -> list[dict[str, Any]]:
    """Return the description of each scope, identity scopes first and then by API.

    Each has `scope`, `title`, `values`, whether to show the person's `photo`, and whether it `is_sensitive`. `api` is
    the heading above it, "" without one: scopes have headings only next to those of an API other than `/v1`.
    `account.read` does not repeat an email address, name or photo that another required scope already describes.
    `plan` is the name of the person's plan; with None it is looked up if needed.
    """
    names = [name for name in asked if name in known_scopes()]
    if names == [OPENID]:
        return [_description(OPENID, ONLY_SIGN_IN, [ONLY_ID]) | {"api": "", "is_sensitive": False}]
    shown = {name for name in names if name in ACCOUNT_READ_HOLDS and name not in optional}
    grouped = group_by_api(known_scopes()[name] for name in names)
    has_headings = any(api and not api.is_own for api, _ in grouped)
    return [
        _describe(account, scope.name, shown, plan)
        | {
            "api": api.name if api and has_headings else "",
            "is_sensitive": scope.sensitive and bool(other_api_name(scope)),
        }
        for api, members in grouped
        for scope in members
    ]


def plan_name(account: Account) -> str:
    """Return the display name of the person's plan, "" if the plan source does not respond."""
    try:
        return str(plan_source().plan(account)["plan_display_name"])
    except SourceFailed:
        return ""


def _describe(account: Account, name: str, shown: Collection[str], plan: str | None) -> dict[str, Any]:
    if name == "email":
        return _description(name, known_scopes()[name].title, [account.email])
    if name == "profile":
        nothing = "" if account.full_name or account.picture else "You have given neither yet."
        return _description(name, known_scopes()[name].title, [account.full_name, nothing], photo=bool(account.picture))
    if name == ACCOUNT_READ:
        parts = tuple(part for part in ("email", "profile") if part not in shown)
        known = {"email": account.email, "profile": account.full_name}
        found = plan_name(account) if plan is None else plan
        values = [*(known[part] for part in parts), f"Plan: {found}" if found else ""]
        return _description(
            name, _ACCOUNT_READ_TITLES[parts], values, photo="profile" in parts and bool(account.picture)
        )
    return _description(name, known_scopes()[name].title)


def _description(name: str, title: str, values: Iterable[str] = (), *, photo: bool = False) -> dict[str, Any]:
    return {"scope": name, "title": title, "values": [value for value in values if value], "photo": photo}
