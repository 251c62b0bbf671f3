"""Code with its words marked for colour, by Pygments; the text stays what it is, character for character."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Literal, Name, Number, Operator, String, Token
from pygments.util import ClassNotFound

# Longer code is shown plain: reading it would hold up the page.
LONGEST = 50_000  # characters
# The class of each kind of token; the nearest ancestor counts, and what has none stays plain.
# static/css/pages/docs.css has their colours.
_CLASSES: dict[Any, str] = {
    Comment: "hl-comment",
    Comment.Preproc: "hl-keyword",
    Keyword: "hl-keyword",
    Keyword.Constant: "hl-number",
    Operator.Word: "hl-keyword",
    String: "hl-string",
    Literal: "hl-string",
    Number: "hl-number",
    Name.Attribute: "hl-name",
    Name.Builtin: "hl-name",
    Name.Class: "hl-name",
    Name.Decorator: "hl-name",
    Name.Function: "hl-name",
    Name.Tag: "hl-keyword",
    Name.Variable: "hl-variable",
    Name.Variable.Magic: "",
    Name.Builtin.Pseudo: "hl-variable",
}


_is_off: ContextVar[bool] = ContextVar("highlighting_is_off", default=False)


@contextmanager
def without_colours() -> Iterator[None]:
    """Show all code plain meanwhile: for search and Markdown, which are spared the lexers' time and memory."""
    token = _is_off.set(True)
    try:
        yield
    finally:
        _is_off.reset(token)


def highlight(code: str, language: str, *, keep: bool = False) -> SafeString:
    """Return escaped HTML of `code`, in a language as Pygments names it; plain for one that it does not know.

    With `keep` it stays in the process: not for what is shown once, such as tokens.
    """
    if _is_off.get():
        return escape(code)
    return kept(code, language) if keep else _highlight(code, language)


def _highlight(code: str, language: str) -> SafeString:
    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return escape(code)
    if len(code) > LONGEST:
        return escape(code)
    tokens = list(lexer.get_tokens(code))
    if "".join(text for _, text in tokens) != code:  # lexers turn \r\n into \n
        return escape(code)
    return mark_safe("".join(_marked(class_, text) for class_, text in _runs(tokens)))  # noqa: S308 (escaped in _marked)


# What is here stays in the process: tests look that nothing of a call is.
kept = lru_cache(maxsize=512)(_highlight)


def _runs(tokens: list[tuple[Any, str]]) -> list[tuple[str, str]]:
    """Return class and text of each stretch of one class: neighbours share an element."""
    runs: list[tuple[str, str]] = []
    for kind, text in tokens:
        class_ = _class_of(kind)
        if runs and (runs[-1][0] == class_ or not text.strip()):
            class_, before = runs.pop()
            text = before + text
        runs.append((class_, text))
    return runs


def _class_of(kind: Any) -> str:
    while kind is not Token:
        if kind in _CLASSES:
            return _CLASSES[kind]
        kind = kind.parent
    return ""


def _marked(class_: str, text: str) -> str:
    return f'<span class="{class_}">{escape(text)}</span>' if class_ else escape(text)
