"""The rules of an API as text (oidc/apis/rule_tables.py)."""

import pytest
from django.core.exceptions import ValidationError

from oidc.apis.rule_tables import Rule, read_rules, write_rules
from oidc.apis.validation import validate_path, validate_scope_name

# Each character of Unicode's first 12,288, one outside the Basic Multilingual Plane, and encoded ones.
PIECES = (*map(chr, range(0x3000)), "\U0001f600", "%20", "%22", "%C3%A9", "%F0%9F%98%80")


def is_allowed(rule: Rule) -> bool:
    _, path, scope = rule
    try:
        validate_path(path)
        validate_scope_name(scope)
    except ValidationError:
        return False
    return True


def test_every_allowed_rule_is_read_as_it_was_written() -> None:
    paths = [("GET", f"/a{piece}", "calendar.read") for piece in PIECES]
    scopes = [("*", "/", f"calendar{piece}read") for piece in PIECES]
    rules = [rule for rule in paths + scopes if is_allowed(rule)]
    assert len(rules) > 180, "most printable characters of ASCII in paths and in scopes"
    for rule in rules:
        assert read_rules(write_rules([rule])) == [rule]


@pytest.mark.parametrize("piece", ["\U0001f600", '"', "\\", "\x00", "\n", "\x7f", "\u2028"])
def test_characters_that_toml_may_not_read_are_not_allowed(piece: str) -> None:
    assert not is_allowed(("GET", f"/a{piece}", "calendar.read"))
    assert not is_allowed(("GET", "/", f"calendar{piece}read"))
