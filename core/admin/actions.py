"""Admin actions on one row: a button, a confirmation page that states the consequence, and a form.

A GET never changes anything. The POST of the confirmation page does the action.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from unfold.enums import ActionVariant
from unfold.widgets import UnfoldAdminTextareaWidget

MAX_TEXT_LENGTH = 2000


class ActionRefused(Exception):
    """The action can't be done; the text is the message that the page shows."""


class ActionForm(forms.Form):
    """Base form of an action. It has no fields, for actions that only need a confirmation."""

    def __init__(self, data: Any = None, *, request: HttpRequest, row: Any) -> None:
        self.request, self.row = request, row
        super().__init__(data)


class ReasonForm(ActionForm):
    """Form of an action that requires a reason, which is stored in the audit event."""

    reason = forms.CharField(max_length=MAX_TEXT_LENGTH, widget=UnfoldAdminTextareaWidget({"rows": 3}))


def _always(request: HttpRequest, row: Any) -> bool:
    return True


@dataclass(frozen=True)
class Preview:
    """An email that an action sends: its text, and its HTML."""

    heading: str
    text: str
    html: str


@dataclass(frozen=True)
class RowAction:
    """An action on a row.

    `do` gets the request, the row and the valid form. It returns the message that is shown afterwards, or a response
    such as a download; it raises ActionRefused when it can't be done. An action with a `preview` first shows what the
    form would send, and is done after a second confirmation.
    """

    name: str
    label: str
    consequence: str | Callable[[Any], str]
    do: Callable[[HttpRequest, Any, Any], str | HttpResponseBase]
    form: type[ActionForm] = ActionForm
    # Checked by has_<permission>_permission: without it, the button is not shown either.
    permission: str = "row_action"
    is_open: Callable[[HttpRequest, Any], bool] = _always
    # Work that must not happen inside the transaction of `do`, such as network requests; it may raise ActionRefused.
    prepare: Callable[[HttpRequest, Any, Any], None] | None = None
    # Returns the mails that the action sends. They are shown first, and the values of the form can't change after that.
    preview: Callable[[HttpRequest, Any, Any], list[Preview]] | None = None
    icon: str = ""
    template: str = "admin/row_action.html"
    is_dangerous: bool = False

    def consequence_for(self, row: Any) -> str:
        return self.consequence(row) if callable(self.consequence) else self.consequence

    @property
    def variant(self) -> ActionVariant:
        return ActionVariant.DANGER if self.is_dangerous else ActionVariant.DEFAULT
