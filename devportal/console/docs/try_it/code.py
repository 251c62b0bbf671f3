"""The request of the page as code: in five languages, with the credential taken from the environment."""

import json
from collections.abc import Callable

from django.conf import settings
from django.template.loader import render_to_string

from devportal.console.docs.guides.literals import LITERALS
from devportal.console.docs.try_it.operations import Operation


def _double_quoted(text: str) -> str:
    """Return printable ASCII as a string literal of Go and Java, which both read these escapes as JSON does."""
    return json.dumps(text)


# Name, title, file to save it as, literals, and the command that runs it.
_LANGUAGES: tuple[tuple[str, str, str, Callable[[str], str], str], ...] = (
    ("curl", "curl", "", LITERALS["bash"], ""),
    ("python", "Python", "call.py", LITERALS["python"], "python3 call.py"),
    ("javascript", "JavaScript", "call.mjs", LITERALS["javascript"], "node call.mjs"),
    ("go", "Go", "call.go", _double_quoted, "go run call.go"),
    ("java", "Java", "Call.java", _double_quoted, "java Call.java"),
)


def code_blocks(operation: Operation, headers: dict[str, str]) -> list[dict[str, str]]:
    """Return the blocks of one request: name, title, file, command and code; `headers` are printable ASCII."""
    url = f"{settings.BASE_URL}{operation.path}"
    return [
        {
            "name": name,
            "title": title,
            "file": file,
            "command": command,
            "code": render_to_string(f"snippets/try_it/{name}.txt", _values(name, literal, url, headers)).strip(),
        }
        for name, title, file, literal, command in _LANGUAGES
    ]


def _values(name: str, literal: Callable[[str], str], url: str, headers: dict[str, str]) -> dict[str, object]:
    if name == "curl":
        return {"url": literal(url), "headers": [literal(f"{key}: {value}") for key, value in headers.items()]}
    return {"url": literal(url), "headers": [(literal(key), literal(value)) for key, value in headers.items()]}
