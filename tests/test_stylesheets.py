"""The rules of the stylesheets: no variable is undefined, and both schemes have the same colours."""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CSS = ROOT / "static/css"
STYLESHEETS = sorted(str(path.relative_to(CSS)) for path in CSS.rglob("*.css"))
COLOUR = re.compile(r"#[0-9a-fA-F]{3,8}\b|\b(?:rgba?|hsla?|hwb|lab|lch|oklab|oklch|color)\(")
CLASS = re.compile(r"\.(-?[A-Za-z_][\w-]*)")


@cache
def text(stylesheet: str) -> str:
    """Return a stylesheet without its comments."""
    return re.sub(r"/\*.*?\*/", "", (CSS / stylesheet).read_text(), flags=re.DOTALL)


def classes(stylesheet: str) -> set[str]:
    heads = (head for head in re.findall(r"([^{};]+)\{", text(stylesheet)) if not head.strip().startswith("@"))
    return {name for head in heads for name in CLASS.findall(head)}


def values(block: str) -> dict[str, str]:
    return dict(re.findall(r"--([\w-]+):\s*([^;]+);", block))


def schemes() -> tuple[dict[str, str], dict[str, str]]:
    light, dark = text("tokens.css").split("@media (prefers-color-scheme: dark)")
    return values(light), values(dark)


@pytest.mark.parametrize("stylesheet", STYLESHEETS)
def test_every_variable_is_defined(stylesheet: str) -> None:
    defined = {name for other in STYLESHEETS for name in re.findall(r"(--[\w-]+)\s*:", text(other))}
    used = set(re.findall(r"var\(\s*(--[\w-]+)", text(stylesheet)))
    of_theme = {name for name in used if re.match(r"--(color-(base|primary|font)-|border-radius$)", name)}
    assert used - defined - (of_theme if stylesheet.startswith("admin/") else set()) == set()


def test_both_schemes_have_the_same_colours() -> None:
    light, dark = schemes()
    assert set(dark) <= set(light)
    coloured = {name for name, value in light.items() if COLOUR.search(value)}
    assert coloured - set(dark) == {"paper", "scrim"}


def test_the_admin_s_colours_are_those_of_the_pages() -> None:
    light, dark = schemes()
    admin_light, admin_dark = map(values, text("admin/tokens.css").split(".dark"))
    assert admin_light.items() <= light.items()
    assert admin_dark.items() <= dark.items()
