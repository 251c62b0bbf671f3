"""A template filter that groups scopes by API."""

from django import template

from oidc.apis.registry import ApiSnapshot, Scope
from oidc.apis.scopes import group_by_api, known_scopes

register = template.Library()


@register.filter
def scopes_by_api(text: str) -> list[tuple[ApiSnapshot | None, list[Scope]]]:
    """Return space-separated scopes with their APIs. Names that no API has any more come with the identity scopes."""
    return group_by_api(known_scopes().get(name, Scope(name, "")) for name in text.split())
