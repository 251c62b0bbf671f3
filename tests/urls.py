"""Every mounted URL: its name, the way in which the docs write it, and an example."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import RoutePattern

# Examples for patterns that are regular expressions.
BY_HAND = {
    "v1_not_found": "/v1/x",
    "discovery": "/.well-known/openid-configuration",
    "forward_auth_appended": "/connect/forward-auth/x/events",
}


@dataclass(frozen=True)
class Url:
    name: str
    written: str  # "/console/p/…/keys/new"
    example: str


def every_url() -> Iterator[Url]:
    """Yield all mounted URLs, including those of the admin."""
    yield from _walk(get_resolver(), "", "/", "/")


def _walk(resolver: URLResolver, space: str, written: str, example: str) -> Iterator[Url]:
    for entry in resolver.url_patterns:
        part = _part(entry)
        if isinstance(entry, URLResolver):
            inner = f"{space}{entry.namespace}:" if entry.namespace else space
            yield from _walk(entry, inner, written + part[0], example + part[1])
        else:
            name = f"{space}{entry.name}"
            by_hand = BY_HAND.get(name)
            yield Url(name, by_hand or written + part[0], by_hand or example + part[1])


def _part(entry: URLPattern | URLResolver) -> tuple[str, str]:
    if not isinstance(entry.pattern, RoutePattern):
        return ("", "")
    route = str(entry.pattern)
    return re.sub(r"<[^>]+>", "…", route), re.sub(r"<(\w+:)?\w+>", lambda found: _sample(found[1]), route)


def _sample(converter: str | None) -> str:
    return "1" if converter == "int:" else "x"
