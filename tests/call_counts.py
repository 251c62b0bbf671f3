"""Counting the Python functions that a request calls: a slip on a hot path shows without a clock."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import resolve


def count_calls(send: Callable[[], object]) -> int:
    """Return how many Python functions run in this thread while `send` runs, C functions apart.

    Call it once what is done at first use only is done: two requests of the same kind before are enough. The test's
    own client is counted too. Generators count each time they go on.
    """
    calls = 0

    def note(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        send()
    finally:
        sys.setprofile(before)
    return calls


def calls_of_view(request: HttpRequest) -> int:
    """Return how many functions the view of a request calls until it has answered it with 200."""
    match = request.resolver_match = resolve(request.path)
    answers: list[HttpResponse] = []
    calls = count_calls(lambda: answers.append(match.func(request, *match.args, **match.kwargs)))
    assert answers[0].status_code == 200, answers[0].content
    return calls
