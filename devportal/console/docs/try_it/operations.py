"""The endpoints of the developer API as the page shows them, read from the OpenAPI document: none is missing."""

import functools
import json
from dataclasses import dataclass
from typing import Any

from django.urls import resolve

from api.schema_views import openapi_document


@dataclass(frozen=True)
class Answer:
    """What an endpoint may answer with one status: its headers, example bodies by name, and the codes of an error."""

    status: str
    description: str
    headers: tuple[str, ...]
    examples: dict[str, str]
    codes: tuple[str, ...]


@dataclass(frozen=True)
class Operation:
    """One endpoint and method."""

    name: str  # its operationId
    path: str
    summary: str
    description: str
    parameters: tuple[tuple[str, str], ...]  # request headers: name and description
    scopes: tuple[str, ...]  # of which an access token needs one
    permissions: tuple[str, ...]  # of which an API key needs one
    answers: tuple[Answer, ...]

    @property
    def description_parts(self) -> list[tuple[bool, str]]:
        """The description in parts: whether each stands between backticks, and its text."""
        return [(place % 2 == 1, text) for place, text in enumerate(self.description.split("`")) if text]


@functools.cache
def operations() -> dict[str, Operation]:
    """Return the endpoints that can be called with GET, by operationId, in the order of the document."""
    found = (
        _operation(path, methods["get"]) for path, methods in openapi_document()["paths"].items() if "get" in methods
    )
    return {operation.name: operation for operation in found}


def _operation(path: str, said: dict[str, Any]) -> Operation:
    view = resolve(path, urlconf="api.urls").func.view_class  # type: ignore[attr-defined]
    headers = [one for one in said.get("parameters", ()) if one["in"] == "header"]
    return Operation(
        name=said["operationId"],
        path=path,
        summary=said["summary"],
        description=said["description"],
        parameters=tuple((one["name"], one.get("description", "")) for one in headers),
        scopes=view.required_scopes,
        permissions=view.required_permissions,
        answers=tuple(_answer(status, answer) for status, answer in sorted(said["responses"].items())),
    )


def _answer(status: str, said: dict[str, Any]) -> Answer:
    body = said.get("content", {}).get("application/json", {})
    values = {example.get("summary", name): example["value"] for name, example in body.get("examples", {}).items()}
    is_error = int(status) >= 400
    return Answer(
        status=status,
        description=said.get("description", ""),
        headers=tuple(said.get("headers", ())),
        examples={
            name: json.dumps(value, indent=2, ensure_ascii=False) for name, value in values.items() if not is_error
        },
        codes=tuple(value["error"]["code"] for value in values.values()) if is_error else (),
    )
