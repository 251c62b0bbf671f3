"""What can be done with one row beside editing it: a button, a page that names the consequence, and a form.

Nothing is done by opening an address, and nothing without its consequence having been on the page.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from unfold.enums import ActionVariant
from unfold.widgets import UnfoldAdminTextareaWidget

MAX_TEXT_LENGTH = 2000


class ActionRefused(Exception):
    """What was asked for can't be done; the text says why, to the person who asked."""


class ActionForm(forms.Form):
    """The form of an act; as it is, one that needs no more than a yes."""

    def __init__(self, data: Any = None, *, request: HttpRequest, row: Any) -> None:
        self.request, self.row = request, row
        super().__init__(data)


class ReasonForm(ActionForm):
    """An act that says why; the reason stands in the audit."""

    reason = forms.CharField(max_length=MAX_TEXT_LENGTH, widget=UnfoldAdminTextareaWidget({"rows": 3}))


def _always(request: HttpRequest, row: Any) -> bool:
    return True


@dataclass(frozen=True)
class RowAction:
    """One thing that can be done with a row.

    `do` gets the request, the row and the valid form. It returns what to say when it is done, or an answer of its
    own such as a download; it raises Refused when it can't be done. With a `preview` it takes two steps: what the
    form would bring about is shown, and done once that is confirmed.
    """

    name: str
    label: str
    consequence: str | Callable[[Any], str]
    do: Callable[[HttpRequest, Any, Any], str | HttpResponse]
    form: type[ActionForm] = ActionForm
    # Whose has_…_permission is asked: who may not do this to the row doesn't see the button either.
    permission: str = "act"
    is_open: Callable[[HttpRequest, Any], bool] = _always
    # What is sent by it, as (heading, text) pairs: shown before it is done, with the form's answers fixed.
    preview: Callable[[HttpRequest, Any, Any], list[tuple[str, str]]] | None = None
    icon: str = ""
    template: str = "admin/act.html"
    is_dangerous: bool = False

    def consequence_for(self, row: Any) -> str:
        return self.consequence(row) if callable(self.consequence) else self.consequence

    @property
    def variant(self) -> ActionVariant:
        return ActionVariant.DANGER if self.is_dangerous else ActionVariant.DEFAULT
