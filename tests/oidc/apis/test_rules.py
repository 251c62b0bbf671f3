"""The rules of forward authentication (docs/apis.md#declaring-an-api)."""

import pytest

from oidc.apis.registry import ApiSnapshot, Rule

API = ApiSnapshot(
    "calendar",
    "Calendar",
    "https://calendar.example.com",
    (),
    rules=(
        Rule("GET", "/events", "read"),
        Rule("*", "/EVENTS/", "upper"),
        Rule("*", "/feed.ics", "feed"),
        Rule("*", "/report.php*", "report"),
        Rule("*", "/feed", "any"),
        Rule("*", "/admin/*", "admin"),
        Rule("*", "/*", "any"),
    ),
)


@pytest.mark.parametrize(
    ("method", "path", "scopes"),
    [
        ("GET", "/events", {"read"}),
        ("HEAD", "/events", {"read"}),
        ("POST", "/events", {"any", "upper"}),  # a server that ignores letter case and slashes takes the second rule
        ("GET", "/events/", {"any", "read", "upper"}),
        ("GET", "/Admin/x", {"any", "admin"}),
        ("GET", "/admin", {"any", "admin"}),
        ("GET", "/administration", {"any"}),
        ("GET", "events", set()),
        ("GET", "/events.json", {"any", "read"}),  # Rails, for example, takes .json for a format
        ("GET", "/events.v1/x", {"any"}),
        ("GET", "/.json", {"any"}),
        ("GET", "/admin/.json", {"admin"}),
        ("GET", "/admin.json/", {"any", "admin"}),
        ("GET", "/index.php/events", {"any", "read"}),  # Symfony and Laravel, for example
        ("GET", "/v2/index.php", {"any"}),
        ("GET", "/Index.PHP/admin/x.json", {"any", "admin"}),
        ("GET", "/index.php/feed.ics", {"any", "feed"}),
        ("GET", "/index.phpx/admin/x", {"any"}),
        ("GET", "/report.php/admin/x", {"report"}),
        ("GET", "/feed.ics", {"feed"}),
        ("GET", "/feed.txt", {"any"}),
    ],
)
def test_a_call_needs_the_scope_of_every_rule_that_a_server_may_take(method: str, path: str, scopes: set[str]) -> None:
    assert API.scopes_for(method, path) == scopes
