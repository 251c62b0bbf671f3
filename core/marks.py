"""Marks of views and models: declared where the view or model is defined, and read by middleware and similar code."""

from typing import Any, TypeVar

T = TypeVar("T")


class Mark:
    """A decorator that marks a view or a model, and changes nothing else.

    A view is a function or a class. Write the mark above all other decorators, so that it marks the URL's callable.
    """

    # All marks. tests/core/test_marks.py checks that each marked object is still mounted or installed.
    every: list["Mark"] = []

    def __init__(self, name: str) -> None:
        self.name = name
        self.marked: list[Any] = []
        self.every.append(self)

    def __call__(self, thing: T) -> T:
        setattr(thing, self.name, True)
        self.marked.append(thing)
        return thing

    def is_on(self, thing: Any) -> bool:
        """Return whether a view or model is marked; a view from `as_view` is marked if its class is."""
        return hasattr(thing, self.name) or hasattr(getattr(thing, "view_class", None), self.name)
