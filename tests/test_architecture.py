"""docs/architecture.md answers three questions by names alone: the requests pass the modules that it names."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from django.test import Client as Browser

from devportal.console.models import AppReview
from tests.api.calls import ME, call
from tests.console.reviews.reviewing import SCOPE, make_reviewer, review_in, ticks
from tests.factories import make_account, make_client, make_project
from tests.relying_party import RelyingParty, sign_in

pytestmark = pytest.mark.django_db
TEXT = (Path(__file__).resolve().parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")


def named(question: str) -> list[str]:
    """Return the modules that the answer to a question lists, in order."""
    answer = TEXT.partition(f"**{question}**")[2].partition("\n\n**")[0].partition("\n\n`tests/")[0]
    return [
        path.removesuffix(".py").replace("/", ".")
        for path in re.findall(r"^\d+\. `([\w/]+\.py)`", answer, re.MULTILINE)
    ]


def passed(act: Callable[[], Any]) -> list[str]:
    """Return the modules whose functions `act` calls, in the order of their first call."""
    seen: dict[str, None] = {}

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            seen.setdefault(frame.f_globals.get("__name__", ""))

    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(None)
    return list(seen)


def assert_in_this_order(modules: list[str], way: list[str]) -> None:
    assert [module for module in way if module in modules] == modules


def test_where_a_refresh_token_rotates(app: RelyingParty) -> None:
    token = app.exchange(app.code()).json()["refresh_token"]
    modules = named("Where does a refresh token rotate?")
    assert 5 < len(modules) <= 10
    assert_in_this_order(modules, passed(lambda: app.refresh(token)))


def test_where_a_scope_is_refused_at_v1(app: RelyingParty) -> None:
    token = app.exchange(app.code()).json()["access_token"]
    modules = named("Where is a scope refused at `/v1`?")
    assert 5 < len(modules) <= 8
    assert_in_this_order(modules, passed(lambda: call(ME, token)))


def test_where_an_approval_takes_effect() -> None:
    developer, reviewer = make_account(), make_reviewer()
    client = make_client(make_project(owner=developer))
    review = review_in(AppReview.Status.IN_REVIEW, client, developer, reviewer)
    browser = sign_in(Browser(), reviewer)
    form = {"revision": review.revision, "confirm": "1", f"scope_{SCOPE}": "approve"}
    form |= {f"check_{code}": "on" for code in ticks(review)}
    modules = named("Where does a reviewer's approval take effect?")
    assert 5 < len(modules) <= 10
    way = passed(lambda: browser.post(f"/admin/console/appreview/{review.pk}/do/approve/", form))
    review.refresh_from_db()
    assert review.status == AppReview.Status.APPROVED
    assert_in_this_order(modules, way)
