"""docs/settings.md has one row for each variable that the settings read, with its default."""

import ast
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = (ROOT / "devportal" / "settings" / "environment.py").read_text(encoding="utf-8")
# The variables of the last section are read by `make` and by the tests.
DOCUMENT = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8").partition("## Development")[0]
READERS = {"str", "int", "float", "bool", "choice", "list", "secrets"}
UNKNOWN = object()  # of a default that is computed from other settings
# What the table says of a default that is computed.
COMPUTED = {
    "DATA_DIR": "`.data` in the project folder",
    "AUTH_URL": "`http://localhost:$PORT`",
    "BASE_URL": "`http://localhost:$PORT`",
    "ALLOWED_HOSTS": "the hosts of the three URLs; embedded: `127.0.0.1` too",
    "DEFAULT_FROM_EMAIL": '`"SERVICE_NAME" <no-reply@HOST>`',
    "ADMIN_SECOND_FACTOR": "`true`; embedded: `false`",
    "SSL_REDIRECT": "true with an https `AUTH_URL`",
    "HSTS_INCLUDE_SUBDOMAINS": "true with an https `AUTH_URL`",
    "HSTS_PRELOAD": "true with an https `AUTH_URL`",
}
SECRETS = {"SECRET_KEY", "SECRET_KEY_FALLBACKS", "KEY_ENCRYPTION_KEY", "KEY_ENCRYPTION_KEY_FALLBACKS"}


@dataclass(frozen=True)
class Row:
    """A row of a table of variables: the name, and the text of its second column."""

    name: str
    default: str


def variables(source: str) -> dict[str, Any]:
    """Return the variables that a source reads with `env`, and their defaults."""
    found: dict[str, Any] = {}
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in READERS):
            continue
        if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "env" and node.args):
            continue
        name = ast.literal_eval(node.args[0])
        given = [*node.args[1:2], *(word.value for word in node.keywords if word.arg == "default")]
        default = _value(given[0]) if given else ""
        if found.get(name, UNKNOWN) is UNKNOWN:  # read once for each environment, perhaps
            found[name] = default
    return found


def _value(node: ast.expr) -> Any:
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    if names or isinstance(node, ast.JoinedStr):
        return UNKNOWN
    return eval(compile(ast.Expression(node), "settings", "eval"), {})


def rows(document: str) -> list[Row]:
    """Return the rows of the tables whose first column is `variable`, without the bounds of numbers."""
    found, is_table = [], False
    for line in document.splitlines():
        if line.startswith("| variable |"):
            is_table = "from, to" not in line
        elif not line.startswith("|"):
            is_table = False
        elif is_table and (match := re.match(r"\| ((?:`\w+`(?:, )?)+) \| (.*?) \|", line)):
            found += [Row(name, match[2]) for name in re.findall(r"`(\w+)`", match[1])]
    return found


def is_said(default: Any, text: str) -> bool:
    """Whether the text of the second column says this default."""
    if default in ("", []):
        return text.startswith(("none", "the value of", "SQLite"))
    said = str(default).lower() if isinstance(default, bool) else str(default)
    return re.match(rf"`{re.escape(said)}`(?:$|[ :;(])", text) is not None


def test_each_variable_has_one_row() -> None:
    times = Counter(row.name for row in rows(DOCUMENT))
    assert {name: count for name, count in times.items() if count > 1} == {}
    assert sorted(set(variables(SETTINGS)) - set(times)) == [], "read, and not in a table of docs/settings.md"
    assert sorted(set(times) - set(variables(SETTINGS))) == [], "in a table of docs/settings.md, and not read"


def test_each_row_says_the_default() -> None:
    read = variables(SETTINGS)
    wrong = {}
    for row in rows(DOCUMENT):
        default = read.get(row.name, UNKNOWN)
        if row.name in SECRETS:
            continue  # their table says what each environment does
        is_right = row.default == COMPUTED.get(row.name) if default is UNKNOWN else is_said(default, row.default)
        if not is_right:
            wrong[row.name] = (default, row.default)
    assert wrong == {}


def test_a_computed_default_has_its_words() -> None:
    computed = {name for name, default in variables(SETTINGS).items() if default is UNKNOWN}
    assert computed == set(COMPUTED)


def test_no_number_has_its_bounds_twice() -> None:
    table = DOCUMENT.partition("### Bounds of numbers")[2]
    names = [name for line in table.splitlines() if line.startswith("| `") for name in re.findall(r"`(\w+)`", line)]
    assert [name for name, count in Counter(names).items() if count > 1] == [], "twice in docs/settings.md"


@pytest.mark.parametrize(
    ("default", "text", "expected"),
    [
        (10, "`10`", True),
        (1.5, "`1.5`", True),
        (2592000, "`2592000` (30 days)", True),
        (0, "`0`: none", True),
        ("", "none: no link", True),
        (False, "`false`", True),
        (1.5, "`10`", False),
        (10, "`100`", False),
        (10, "none", False),
        ("", "`x`", False),
    ],
)
def test_a_default_is_compared_with_its_text(default: Any, text: str, expected: bool) -> None:
    assert is_said(default, text) is expected


def test_a_variable_that_is_read_twice_keeps_its_default() -> None:
    source = 'A = env.str("A", "") or made()\nB: int = env.int("B", 3 * 60)\nC = env.list("C", default=[f(A)])\n'
    assert variables(source) == {"A": "", "B": 180, "C": UNKNOWN}


def test_each_id_of_a_check_has_one_row() -> None:
    ids = re.findall(r"^\| `(devportal\.[EW]\d+)`", DOCUMENT, re.MULTILINE)
    assert [name for name, count in Counter(ids).items() if count > 1] == []
    assert ids == sorted(ids)
