"""The registry of all APIs and scopes, which each process keeps. Requests read it without a query.

A change counts immediately in the process that made it, and after REGISTRY_SECONDS in the others.
"""

import functools
import re
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

from django.conf import settings
from django.db import transaction
from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver

from core.database.snapshots import Snapshot
from core.serving.worker_start import at_worker_start
from oidc.models import Api, ApiRule, ApiScope

OPENID = "openid"
EMAIL = "email"
PROFILE = "profile"
OFFLINE_ACCESS = "offline_access"
ACCOUNT_READ = "account.read"
ACCOUNT_API = "account"  # the slug of the API at `/v1`
REGISTRY_SECONDS = 10


@dataclass(frozen=True)
class Scope:
    """One scope. `title` is its sentence on the consent page, `description` a longer text for developers.

    `api` is the slug of its API, "" for an identity scope. An app needs an approval for a scope that is `sensitive` or
    `needs_approval`; a sensitive one takes a second approval in projects with many people (docs/review.md). API keys
    can have it as a permission if `api_keys`. `enabled` is False while its API is turned off.
    """

    name: str
    title: str
    description: str = ""
    api: str = ""
    needs_approval: bool = False
    sensitive: bool = False
    api_keys: bool = False
    enabled: bool = True


# I with a dot and i without one. Some servers that ignore letter case take them for an i, as Python's re.IGNORECASE.
_OTHER_I = str.maketrans("\u0130\u0131", "ii")


def _without_case(path: str) -> str:
    return path.translate(_OTHER_I).casefold()


@dataclass(frozen=True)
class Rule:
    """A rule of forward authentication: a call with this method and path needs this scope. `path` is decoded."""

    method: str
    path: str
    scope: str

    def matches(self, method: str, path: str, *, any_case: bool = False, any_slash: bool = False) -> bool:
        """Return whether the rule is about a call.

        The method of the rule may be "*", and its path a prefix that ends in "*". A rule for GET is also about HEAD.
        With `any_case` the letter case of the path does not count, with `any_slash` a slash at its end.
        """
        if self.method not in ("*", method) and (self.method, method) != ("GET", "HEAD"):
            return False
        ours, theirs = (_without_case(self.path), _without_case(path)) if any_case else (self.path, path)
        if ours.endswith("*"):
            return (f"{theirs}/" if any_slash else theirs).startswith(ours[:-1])
        return ours.rstrip("/") == theirs.rstrip("/") if any_slash else ours == theirs


@dataclass(frozen=True)
class ApiSnapshot:
    """An API. `identifier` is the `aud` of its access tokens, and its `resource` (RFC 8707 §2).

    `pk` is the primary key of its row, None for the API at `/v1`. The limits are requests per minute.
    """

    slug: str
    name: str
    identifier: str
    scopes: tuple[Scope, ...]
    description: str = ""
    documentation_url: str = ""
    openapi_url: str = ""
    enabled: bool = True
    calls_per_minute: int = 0
    calls_per_person_per_minute: int = 0
    rules: tuple[Rule, ...] = ()
    pk: int | None = None

    @property
    def is_own(self) -> bool:
        """Whether this is the API at `/v1`, which also accepts the identity scopes."""
        return self.slug == ACCOUNT_API

    def scopes_for(self, method: str, path: str) -> frozenset[str]:
        """Return the scopes that a call needs: those of the first matching rules, for every kind of server.

        A server may ignore letter case, a slash at the end, a format at the end (`/events.json`), a PHP script
        (`/index.php/events`), or several of these. There are none if no rule matches exactly.
        """
        found = self._first_rules(method, path)
        if None in found:
            return frozenset()
        for named, other in _without_format_or_script(path):
            # A rule that names the format or the script says what a call with it needs.
            if found[0] and not found[0].path.startswith(named):
                found += self._first_rules(method, other)
        return frozenset(rule.scope for rule in found if rule is not None)

    def _first_rules(self, method: str, path: str) -> list[Rule | None]:
        """Return the first matching rule, or None, of each kind of server; that of an exact server comes first."""
        return [
            next((rule for rule in self.rules if rule.matches(method, path, any_case=case, any_slash=slash)), None)
            for case, slash in product((False, True), repeat=2)
        ]


# Symfony and Laravel, for example, take `/index.php/events` for `/events`.
_SCRIPT = re.compile(r"/[^/]+\.php(?=/|\Z)", re.IGNORECASE)


def _without_format_or_script(path: str) -> Iterator[tuple[str, str]]:
    """Yield a path without its format, without its PHP script, and without both.

    With each comes the beginning of a rule that names what was removed.
    """
    if stem := _without_format(path):
        yield f"{stem}.", stem
    if script := _SCRIPT.search(path):
        named, rest = path[: script.end()], path[: script.start()] + path[script.end() :] or "/"
        yield named, rest
        if stem := _without_format(rest):
            yield named, stem


def _without_format(path: str) -> str:
    """Return a path without the format at its end (Rails, Django REST framework, Spring), "" if it has none."""
    stem, dot, ending = path.rstrip("/").rpartition(".")
    return "" if not dot or not ending or "/" in ending or stem.endswith("/") else stem


IDENTITY_SCOPES = (
    Scope(OPENID, "Recognize you when you come back"),
    Scope(EMAIL, "See your email address"),
    Scope(PROFILE, "See your name and photo"),
    Scope(OFFLINE_ACCESS, "Keep this access while you are away, until you remove the app"),
)


def account_api() -> ApiSnapshot:
    """Return the declaration of the API at `/v1`."""
    return ApiSnapshot(
        slug=ACCOUNT_API,
        name=f"{settings.SERVICE_NAME} account API",
        identifier=settings.BASE_URL,
        scopes=(
            Scope(
                ACCOUNT_READ,
                "See your email address, your name and photo, and your plan",
                description="Reads the profile and the plan of an account.",
                api=ACCOUNT_API,
                needs_approval=True,
                sensitive=True,
                api_keys=True,
            ),
        ),
        description="Reads the profile and the plan of an account.",
        calls_per_minute=settings.API_CALLS_PER_MINUTE,
        calls_per_person_per_minute=settings.API_CALLS_PER_PERSON_PER_MINUTE,
    )


_ORIGIN = re.compile(r"\A[^:/?#]+://[^/?#]*")


def comparable(identifier: str) -> str:
    """Return an identifier as it is compared: scheme and host in lower case, and without one slash at its end.

    Libraries that parse the URL of an API write it this way (RFC 3986 §6.2.2.1, §6.2.3). Only ASCII is changed, because
    other alphabets have letters whose lower case is ASCII.
    """
    if not identifier.isascii():
        return identifier
    return _ORIGIN.sub(lambda origin: origin[0].lower(), identifier).removesuffix("/")


class Registry:
    """All APIs, that at `/v1` first, and all scopes in their order: identity scopes first, then by API."""

    def __init__(self, declared: Iterable[ApiSnapshot] = ()) -> None:
        apis = (account_api(), *declared)
        scopes = (*IDENTITY_SCOPES, *(scope for api in apis for scope in api.scopes))
        self.apis = MappingProxyType({api.slug: api for api in apis})
        self.scopes = MappingProxyType({scope.name: scope for scope in scopes})
        self._by_identifier = {comparable(api.identifier): api for api in apis}
        # Caches of this registry: they are dropped together with it.
        self.scopes_with = functools.lru_cache(maxsize=64)(self._scopes_with)
        self.still_granted = functools.lru_cache(maxsize=1024)(self._still_granted)
        self.api_implied_by = functools.lru_cache(maxsize=64)(self._api_implied_by)

    def enabled_scopes(self) -> list[str]:
        """Return the names of the scopes that people can be asked for now."""
        return [name for name, scope in self.scopes.items() if scope.enabled]

    @property
    def account(self) -> ApiSnapshot:
        """The API at `/v1`."""
        return self.apis[ACCOUNT_API]

    def api_with_identifier(self, identifier: str) -> ApiSnapshot | None:
        """Return the API whose identifier this is, as `comparable` reads it."""
        return self._by_identifier.get(comparable(identifier))

    def scopes_of(self, api: ApiSnapshot, granted: Iterable[str]) -> list[str]:
        """Return those of `granted` that belong to `api`. Identity scopes belong to the API at `/v1`."""
        slugs = ("", ACCOUNT_API) if api.is_own else (api.slug,)
        return [name for name in granted if name in self.scopes and self.scopes[name].api in slugs]

    def _scopes_with(self, approved: str) -> frozenset[str]:
        """Return the scopes that an app may request: all that need no approval, and the approved ones."""
        names = set(approved.split())
        return frozenset(name for name, scope in self.scopes.items() if not scope.needs_approval or name in names)

    def _still_granted(self, granted: str, consented: str, approved: str) -> tuple[str, ...]:
        still = set(consented.split()) & self.scopes_with(approved)
        return tuple(scope for scope in dict.fromkeys(granted.split()) if scope in still)

    def _api_implied_by(self, granted: str) -> ApiSnapshot:
        """Return the API of a token that is requested without `resource` (docs/sign-in.md#resource-indicators).

        If all API scopes in `granted` belong to one API, it is that one. Otherwise it is the API at `/v1`.
        """
        slugs = {self.scopes[name].api for name in granted.split() if name in self.scopes} - {""}
        return self.apis[slugs.pop()] if len(slugs) == 1 else self.account


def _load(previous: Registry | None) -> Registry:
    declared = {row.pk: row for row in Api.objects.order_by("slug")}
    scopes: dict[int, list[Scope]] = {}
    # An API that was declared since the statement above counts at the next load.
    for row in ApiScope.objects.filter(api__in=declared).order_by("pk"):
        scope = Scope(
            name=row.name,
            title=row.title,
            description=row.description,
            api=declared[row.api_id].slug,
            needs_approval=row.needs_approval or row.sensitive,
            sensitive=row.sensitive,
            api_keys=row.api_keys,
            enabled=declared[row.api_id].enabled,
        )
        scopes.setdefault(row.api_id, []).append(scope)
    rules: dict[int, list[Rule]] = {}
    for api_id, method, path, scope_name in ApiRule.objects.order_by("api_id", "position").values_list(
        "api_id", "method", "path", "scope__name"
    ):
        rules.setdefault(api_id, []).append(Rule(method, unquote(path), scope_name))
    return Registry(
        ApiSnapshot(
            slug=row.slug,
            name=row.name,
            identifier=row.identifier,
            scopes=tuple(scopes.get(row.pk, ())),
            description=row.description,
            documentation_url=row.documentation_url,
            openapi_url=row.openapi_url,
            enabled=row.enabled,
            calls_per_minute=row.calls_per_minute,
            calls_per_person_per_minute=row.calls_per_person_per_minute,
            rules=tuple(rules.get(row.pk, ())),
            pk=row.pk,
        )
        for row in declared.values()
    )


_registry = Snapshot("registry of APIs", _load, lambda: REGISTRY_SECONDS)


def current_registry() -> Registry:
    """Return the registry. Raises DatabaseError if none can be loaded."""
    return _registry.current()


def reload_registry() -> Registry:
    """Load the registry from the database now and return it."""
    return _registry.reload()


def forget_registry() -> None:
    """Drop the registry of this process, so that the next use loads it."""
    _registry.clear()


def registry_in_transaction() -> AbstractContextManager[None]:
    """Let the registry of this process contain what a transaction declares, until it ends."""
    return _registry.in_transaction()


def use_registry(registry: Registry) -> None:
    """Use `registry` until the next reload (for tests)."""
    _registry.replace(registry)


@at_worker_start
def preload_registry() -> None:
    """Load the registry before the first request."""
    _registry.preload()


@receiver([post_save, post_delete], sender=Api)
@receiver([post_save, post_delete], sender=ApiScope)
@receiver([post_save, post_delete], sender=ApiRule)
def forget_after_change(**kwargs: Any) -> None:
    """Drop the registry of this process once the change is committed, so that the next use loads it."""
    transaction.on_commit(forget_registry)
