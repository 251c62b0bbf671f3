"""Marks of views and models (core/marks.py)."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.http import HttpRequest, HttpResponse
from django.urls import resolve
from django.views.decorators.cache import never_cache
from django.views.generic import View

from core.marks import Mark
from tests.urls import every_url


def mounted() -> Iterator[Any]:
    """Yield the views that answer some URL, their classes, and the functions that they wrap."""
    for url in every_url():
        view: Any = resolve(url.example).func
        yield getattr(view, "view_class", None)
        while view is not None:
            yield view
            view = getattr(view, "__wrapped__", None) or getattr(view, "__func__", None)


def test_each_thing_that_is_marked_is_mounted_or_installed() -> None:
    there = {id(thing) for thing in (*mounted(), *apps.get_models())}
    assert Mark.every
    for mark in Mark.every:
        assert mark.marked
        assert [thing for thing in mark.marked if id(thing) not in there] == [], mark.name


def test_a_mark_is_seen_through_decorators_and_as_view(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mark, "every", [])
    mark, other = Mark("first_mark"), Mark("other_mark")

    @never_cache
    @mark
    def function(request: HttpRequest) -> HttpResponse:
        return HttpResponse()

    @mark
    class Page(View):
        pass

    for view in (function, Page, Page.as_view(), never_cache(Page.as_view())):
        assert (mark.is_on(view), other.is_on(view)) == (True, False)
    assert not mark.is_on(View.as_view())
