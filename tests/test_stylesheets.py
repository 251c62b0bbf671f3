"""The rules of the stylesheets: each colour in one place, nothing undefined and nothing unused."""

import re
from functools import cache
from pathlib import Path

import pytest

from core.admin import theme

ROOT = Path(__file__).resolve().parents[1]
CSS = ROOT / "static/css"
STYLESHEETS = sorted(str(path.relative_to(CSS)) for path in CSS.rglob("*.css"))
# The admin's says those of the pages again, for a theme that has a class for its dark scheme.
OF_COLOURS = {"tokens.css", "admin/tokens.css"}
COLOUR = re.compile(r"#[0-9a-fA-F]{3,8}\b|\b(?:rgba?|hsla?|hwb|lab|lch|oklab|oklch|color)\(")
CLASS = re.compile(r"\.(-?[A-Za-z_][\w-]*)")
NAMED_BY = (
    "templates/**/*.html",
    "static/js/*.js",
    *(f"{app}/**/*.py" for app in ("accounts", "api", "core", "devportal", "oidc")),
)
# Classes of the markup of Django and django-unfold that we style. Those of cells name their columns.
OF_LIBRARIES = {
    "dark", "empty-form", "field-app", "field-at_a_glance", "field-tabular", "field-target", "form-group", "form-row",
    "result-list", "tabular", "truncate",
}  # fmt: skip
# Classes whose ends are in variables: what stands before, and each end.
COMPOSED = {
    "card--": {"attention", "bad", "good", "unknown"},
    "evidence__fact--": {"warn", "fail"},
    "chart__drawing--": {"narrow", "middle", "wide"},
    "chart__ground--": {"good", "plain", "client-error", "limited", "server-error"},
    "chart__marks--": {"server-error"},
}


@cache
def text(stylesheet: str) -> str:
    """Return a stylesheet without its comments."""
    return re.sub(r"/\*.*?\*/", "", (CSS / stylesheet).read_text(), flags=re.DOTALL)


@cache
def named() -> str:
    return "\n".join(path.read_text() for pattern in NAMED_BY for path in sorted(ROOT.glob(pattern)))


def classes(stylesheet: str) -> set[str]:
    heads = (head for head in re.findall(r"([^{};]+)\{", text(stylesheet)) if not head.strip().startswith("@"))
    return {name for head in heads for name in CLASS.findall(head)}


def values(block: str) -> dict[str, str]:
    return dict(re.findall(r"--([\w-]+):\s*([^;]+);", block))


def schemes() -> tuple[dict[str, str], dict[str, str]]:
    light, dark = text("tokens.css").split("@media (prefers-color-scheme: dark)")
    return values(light), values(dark)


@pytest.mark.parametrize("stylesheet", STYLESHEETS)
def test_every_rule_is_closed(stylesheet: str) -> None:
    assert text(stylesheet).count("{") == text(stylesheet).count("}")


@pytest.mark.parametrize("stylesheet", sorted(set(STYLESHEETS) - OF_COLOURS))
def test_colours_are_tokens(stylesheet: str) -> None:
    values = "\n".join(re.findall(r":\s[^;{}]+;", text(stylesheet)))
    assert COLOUR.findall(values) == []


@pytest.mark.parametrize("stylesheet", STYLESHEETS)
def test_every_class_is_in_use(stylesheet: str) -> None:
    unused = {
        name
        for name in classes(stylesheet) - OF_LIBRARIES
        if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", named())
        and not any(name == start + end and start in named() for start, ends in COMPOSED.items() for end in ends)
    }
    assert unused == set()


def test_every_exception_is_in_use() -> None:
    there = set().union(*map(classes, STYLESHEETS))
    assert there >= OF_LIBRARIES
    assert there >= {start + end for start, ends in COMPOSED.items() for end in ends}


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


@pytest.mark.parametrize(
    ("shade", "light", "dark"),
    [
        (theme.NEUTRAL["50"], "ground", None),
        (theme.NEUTRAL["100"], "surface-2", None),
        (theme.NEUTRAL["200"], "line", None),
        (theme.NEUTRAL["400"], None, "ink-2"),
        (theme.NEUTRAL["600"], "ink-2", None),
        (theme.NEUTRAL["900"], None, "surface"),
        (theme.NEUTRAL["950"], None, "ground"),
        (theme.ACCENT["100"], "accent-tint", None),
        (theme.ACCENT["300"], None, "accent-strong"),
        (theme.ACCENT["400"], None, "accent"),
        (theme.ACCENT["600"], "accent", None),
        (theme.ACCENT["700"], "accent-strong", None),
        (theme.ACCENT["900"], None, "accent-tint"),
        (theme.ACCENT["950"], None, "on-accent"),
    ],
)
def test_the_admin_s_ramps_pass_through_the_tokens(shade: str, light: str | None, dark: str | None) -> None:
    by_scheme = schemes()
    assert shade == by_scheme[0 if light else 1][light or dark or ""]
