"""Answers of endpoints that programs call: JSON, and headers that are the same each time."""

import json
from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase, ResponseHeaders

_encode = json.JSONEncoder().encode


class FixedHeaders:
    """Headers that every answer of an endpoint carries, checked and encoded once.

    Django does both again for each header of each answer.
    """

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._checked = ResponseHeaders(headers)._store

    def set_on(self, response: HttpResponseBase) -> None:
        """Set them, as `response.headers.update` would."""
        response.headers._store.update(self._checked)


def json_response(data: Any, status: int = 200) -> HttpResponse:
    """Return an answer as JsonResponse makes it, without its encoder, which looks for dates first."""
    return HttpResponse(_encode(data), content_type="application/json", status=status)
