"""The OpenAPI documents of declared APIs, for their pages in the docs (docs/apis.md#the-openapi-document).

The service reads a document itself, in a thread, and only from public hosts (core/outbound/). The page shows plain text
from it. So nothing of the API runs in the reader's browser, and the page needs no other origin.
"""

import json
import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from core.outbound import fetch
from core.outbound.targets import OutboundRefused

log = logging.getLogger(__name__)

MAX_AGE = 600  # seconds, until a document is read again
MOST_KEPT = 100
MOST_OPERATIONS = 200
LONGEST_TEXT = 2000  # characters
# Characters of all operations. References can repeat a text of a small document thousands of times.
MOST_TEXT = 500_000
_MARKUP = 100  # characters of a row of a table, besides its texts
METHODS = ("get", "post", "put", "patch", "delete", "head", "options")


@dataclass(frozen=True)
class Parameter:
    """A parameter of an operation. `place` is query, path, header or cookie."""

    name: str
    place: str
    required: bool
    description: str


@dataclass(frozen=True)
class Operation:
    """A method of a path, with its scopes, its parameters, and the description of each response by status."""

    method: str
    path: str
    summary: str
    description: str
    scopes: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    responses: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class _Kept:
    operations: tuple[Operation, ...]
    read_at: float  # of time.monotonic()


_kept: dict[str, _Kept] = {}
_being_read: set[str] = set()
_lock = threading.Lock()


def operations_at(url: str) -> tuple[Operation, ...]:
    """Return the operations of the document at `url`, none if it was not read yet or can't be shown.

    It never waits: a document that is missing or too old is read in a thread.
    """
    kept = _kept.get(url)
    if kept is None or time.monotonic() - kept.read_at > MAX_AGE:
        with _lock:
            is_first = url not in _being_read
            _being_read.add(url)
        if is_first:
            threading.Thread(target=read, args=[url], name="openapi-document", daemon=True).start()
    return kept.operations if kept else ()


def read(url: str) -> None:
    """Read the document at `url` and keep it. If that fails, keep the operations from before."""
    try:
        operations = _fetch_operations(url)
        if operations is None and url in _kept:
            operations = _kept[url].operations
        if len(_kept) >= MOST_KEPT:
            _kept.clear()
        _kept[url] = _Kept(operations or (), time.monotonic())
    finally:
        with _lock:
            _being_read.discard(url)


def forget() -> None:
    """Forget all documents (for tests)."""
    _kept.clear()


def _fetch_operations(url: str) -> tuple[Operation, ...] | None:
    """Return the operations, None if the document can't be read."""
    try:
        answer = fetch(url)
        if answer.status == 200:
            return parse(answer.text)
        log.warning("An OpenAPI document can't be read: status %s.", answer.status)
    except OutboundRefused as refused:
        log.warning("An OpenAPI document can't be read: %s.", refused.code)
    except (ValueError, RecursionError):  # ValueError: not JSON
        log.warning("An OpenAPI document can't be read: it is not JSON, or too deeply nested.")
    return None


def parse(text: str) -> tuple[Operation, ...]:
    """Return the operations of an OpenAPI 3 document in JSON. Parts that it can't understand are left out.

    Raises ValueError for text that is not JSON, RecursionError if it is too deeply nested.
    """
    document = _table(json.loads(text))
    found: list[Operation] = []
    left = MOST_TEXT
    for path, item in _table(document.get("paths")).items():
        for method in METHODS:
            if not isinstance(said := _table(item).get(method), dict):
                continue
            operation = _operation(document, path, method, _table(item), said)
            left -= _length(operation)
            if left < 0 or len(found) == MOST_OPERATIONS:
                return tuple(found)
            found.append(operation)
    return tuple(found)


def _length(operation: Operation) -> int:
    """Return the characters of an operation. Each row of its tables counts for more, because of its markup."""
    rows: list[tuple[str, ...]] = [(one.name, one.place, one.description) for one in operation.parameters]
    rows += [*operation.responses, *((scope,) for scope in operation.scopes)]
    own = len(operation.path) + len(operation.summary) + len(operation.description)
    return own + sum(_MARKUP + sum(map(len, row)) for row in rows)


def _operation(
    document: dict[str, Any], path: str, method: str, item: dict[str, Any], said: dict[str, Any]
) -> Operation:
    parameters = [*_list(item.get("parameters")), *_list(said.get("parameters"))]
    responses = _table(said.get("responses")).items()
    return Operation(
        method=method.upper(),
        path=_text(path),
        summary=_text(said.get("summary")),
        description=_text(said.get("description")),
        scopes=tuple(dict.fromkeys(_scopes(said.get("security", document.get("security"))))),
        parameters=tuple(_parameter(_resolved(document, parameter)) for parameter in parameters),
        responses=tuple(
            (_text(status), _text(_resolved(document, response).get("description"))) for status, response in responses
        ),
    )


def _parameter(said: dict[str, Any]) -> Parameter:
    return Parameter(
        _text(said.get("name")), _text(said.get("in")), said.get("required") is True, _text(said.get("description"))
    )


def _scopes(security: Any) -> Iterator[str]:
    for requirement in _list(security):
        for names in _table(requirement).values():
            yield from (_text(name) for name in _list(names))


def _resolved(document: dict[str, Any], value: Any) -> dict[str, Any]:
    """Return a table, or the component of the document that it refers to. References are followed once."""
    table = _table(value)
    if not isinstance(reference := table.get("$ref"), str):
        return table
    found: Any = document
    for part in reference.removeprefix("#/").split("/"):
        found = _table(found).get(part)
    return _table(found)


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    """Return at most LONGEST_TEXT characters of a text, without surrogates, "" for anything else."""
    return value[:LONGEST_TEXT].encode("utf-8", "replace").decode() if isinstance(value, str) else ""
