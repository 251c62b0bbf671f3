"""One HTTP request with an API key or access token, as code in five languages."""

import json
from collections.abc import Callable
from typing import Any

from django.template.loader import render_to_string

from devportal.docs.guides.readers import LITERALS


def _double_quoted(text: str) -> str:
    """Return printable ASCII as a string literal of Go and Java, which both read these escapes as JSON does."""
    return json.dumps(text)


# For each language: name, title, file name, literals, and the command that runs the file.
_LANGUAGES: tuple[tuple[str, str, str, Callable[[str], str], str], ...] = (
    ("curl", "curl", "", LITERALS["bash"], ""),
    ("python", "Python", "call.py", LITERALS["python"], "python3 call.py"),
    ("javascript", "JavaScript", "call.mjs", LITERALS["javascript"], "node call.mjs"),
    ("go", "Go", "call.go", _double_quoted, "go run call.go"),
    ("java", "Java", "Call.java", _double_quoted, "java Call.java"),
)


def call_as_code(url: str, headers: dict[str, str], method: str = "GET") -> list[dict[str, str]]:
    """Return the blocks of one request: name, title, file, command and code.

    `headers` are printable ASCII, and `method` consists of capitals.
    """
    return [
        {
            "name": name,
            "title": title,
            "file": file,
            "command": command,
            "code": render_to_string(
                f"snippets/try_it/{name}.txt", _values(name, literal, url, headers) | {"method": method}
            ).strip(),
        }
        for name, title, file, literal, command in _LANGUAGES
    ]


def _values(name: str, literal: Callable[[str], str], url: str, headers: dict[str, str]) -> dict[str, Any]:
    if name == "curl":
        return {"url": literal(url), "headers": [literal(f"{key}: {value}") for key, value in headers.items()]}
    return {"url": literal(url), "headers": [(literal(key), literal(value)) for key, value in headers.items()]}
