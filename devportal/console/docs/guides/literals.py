"""A text as a literal of each language of the guides: whatever it holds, it stays inside its quotes."""

import html
from collections.abc import Callable
from functools import partial

from devportal.console.quick_start.snippets import CONTROLS, javascript_string, python_string, shell_string

Escape = Callable[[str], str]


def quoted(escape: Escape, unsafe: str, text: str) -> str:
    """Return `text` in double quotes; `escape` gets quotes, backslashes, `unsafe`, and all but printable ASCII."""
    return '"' + "".join(escape(each) if _is_special(each, unsafe) else each for each in text) + '"'


def _is_special(character: str, unsafe: str) -> bool:
    return character in f'"\\{unsafe}' or not (character.isascii() and character.isprintable())


def braced(character: str) -> str:
    """Return a character as Ruby escapes it."""
    return f"\\u{{{ord(character):x}}}"


def eight_digits(character: str) -> str:
    """Return a character as Go and YAML escape it."""
    return f"\\{character}" if character in '"\\' else f"\\U{ord(character):08x}"


def utf16(character: str) -> str:
    """Return a character as Java escapes it: each half of a surrogate pair by itself."""
    if character in '"\\':
        return f"\\{character}"
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def java(character: str) -> str:
    r"""Return a character as Java escapes it. Its \\uXXXX are read before its quotes (JLS 3.3), so not for ASCII."""
    return f"\\{ord(character):03o}" if character.isascii() and character not in '"\\' else utf16(character)


def directive_string(text: str) -> str:
    """Return `text` as an argument of a directive of Apache.

    Control characters are left out, and a dollar sign, which would begin a variable, is percent-encoded.
    """
    return '"' + CONTROLS.sub("", text).replace("\\", "\\\\").replace('"', '\\"').replace("$", "%24") + '"'


def no_literals(text: str) -> str:
    """Return nothing: files of this language take no values."""
    return ""


# Languages as Pygments names them.
LITERALS: dict[str, Callable[[str], str]] = {
    "bash": shell_string,
    "html": no_literals,
    "javascript": javascript_string,
    "python": python_string,
    "apacheconf": directive_string,
    "go": partial(quoted, eight_digits, ""),
    "java": partial(quoted, java, ""),
    "ruby": partial(quoted, braced, "#"),
    "xml": html.escape,  # as the text of an element or an attribute
    "yaml": partial(quoted, eight_digits, ""),
}
