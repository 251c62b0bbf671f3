"""The rules of an API as text: the tables of a provisioned file, which the guides show too (docs/provisioning.md)."""

import json
import tomllib
from collections.abc import Iterable
from typing import Any

from django.core.exceptions import ValidationError

Rule = tuple[str, str, str]  # method, path and scope
KEYS = ("method", "path", "scope")
# In characters. A path has at most 300. The parser needs seconds for one key with thousands of dots. Only a line feed
# ends a line in TOML.
MAX_LINE_LENGTH = 500


def write_rules(rules: Iterable[Rule]) -> str:
    """Return rules as `[[apis.rules]]` tables."""
    return "\n\n".join("\n".join(["[[apis.rules]]", *_assignments(rule)]) for rule in rules)


def _assignments(rule: Rule) -> list[str]:
    # TOML reads the strings of JSON, except for surrogates and DEL, which valid rules never contain.
    return [f"{key} = {json.dumps(value)}" for key, value in zip(KEYS, rule, strict=True)]


def read_rules(text: str) -> list[Rule]:
    """Return the rules of `[[apis.rules]]` tables. Raises ValidationError; the values are not checked."""
    if any(len(line) > MAX_LINE_LENGTH for line in text.split("\n")):
        raise ValidationError(f"A line may have at most {MAX_LINE_LENGTH} characters.")
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValidationError(f"This is not valid TOML: {error}.") from error
    apis = document.get("apis", {})
    tables = apis.get("rules", []) if isinstance(apis, dict) else None
    if set(document) - {"apis"} or not isinstance(tables, list) or set(apis) - {"rules"}:
        raise ValidationError("Enter only rules. Each one begins with the line [[apis.rules]].")
    errors = [
        f"Rule {number}: Enter method, path and scope, each in quotes, and nothing else."
        for number, table in enumerate(tables, 1)
        if not _is_rule(table)
    ]
    if errors:
        raise ValidationError(errors)
    return [(table["method"], table["path"], table["scope"]) for table in tables]


def _is_rule(table: Any) -> bool:
    return (
        isinstance(table, dict)
        and set(table) == set(KEYS)
        and all(isinstance(value, str) and value for value in table.values())
    )
