"""Compare the parameters with which the source creates a code with the placeholders of the code's text."""

import ast
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

from core.messages import Text, placeholders

ROOT = Path(__file__).resolve().parents[1]


def created(codes: type[Enum], *places: str) -> Iterator[tuple[Any, set[str], str]]:
    """Yield each call with a code of the enum: the code, the names of its parameters, and the file and line.

    Parameters are keywords, or the keys of a dictionary that follows the code. `places` are files or folders.
    """
    for path in sorted(path for place in places for path in _files(ROOT / place)):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                named = {word.arg for word in node.keywords if word.arg}
                for word in node.keywords:
                    for code in _codes(word.value, codes):
                        yield code, set(), f"{path}:{node.lineno}"
                for position, argument in enumerate(node.args):
                    for code in _codes(argument, codes):
                        yield code, named | _keys(node.args[position + 1 :]), f"{path}:{node.lineno}"


def _files(place: Path) -> list[Path]:
    return [place] if place.is_file() else list(place.rglob("*.py"))


def _codes(argument: ast.expr, codes: type[Enum]) -> Iterator[Any]:
    if isinstance(argument, ast.IfExp):
        yield from _codes(argument.body, codes)
        yield from _codes(argument.orelse, codes)
    elif isinstance(argument, ast.Attribute) and ast.unparse(argument.value) in (codes.__name__, codes.__qualname__):
        yield codes[argument.attr]


def _keys(arguments: list[ast.expr]) -> set[str]:
    found = [argument for argument in arguments if isinstance(argument, ast.Dict)]
    return {str(key.value) for each in found for key in each.keys if isinstance(key, ast.Constant)}


def assert_parameters_fit(
    texts: dict[str, Text], codes: type[Enum], *places: str, besides: tuple[str, ...] = ()
) -> None:
    """Fail unless each code is created somewhere, always with exactly the parameters that its text needs.

    `besides` are keywords of the calls that are not parameters of a text.
    """
    found = list(created(codes, *places))
    for code, names, place in found:
        assert names - set(besides) == placeholders(texts[code]), f"{code} at {place}"
    assert {code for code, _, _ in found} == set(codes), "each is created somewhere"
