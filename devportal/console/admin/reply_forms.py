"""Base of the forms with a note: a canned reply can be put in front of it, without a script and losing nothing."""

from typing import Any

from django import forms
from django.http import HttpRequest
from unfold.widgets import UnfoldAdminSelectWidget

from devportal.console.models import CannedReply
from devportal.console.reviews import canned_replies
from devportal.lib.admin.actions import ActionForm
from devportal.lib.storable import is_key

# Value of the button "edit" that puts the chosen reply in front (templates/admin/row_action.html).
REPLY = "reply"


class ReplyForm(ActionForm):
    """A form with a field `text`. A chosen reply becomes part of it, whichever button sends the form."""

    begin_with = forms.ModelChoiceField(
        queryset=CannedReply.objects.all(),
        label="Begin with a canned reply (optional)",
        required=False,
        empty_label="None",
        widget=UnfoldAdminSelectWidget,
    )

    def __init__(self, data: Any = None, *, request: HttpRequest, row: Any) -> None:
        data = _with_reply(data, row)
        # Asked for the reply alone, the form comes back as it was typed: nothing in it is judged yet.
        self._typed = data if data is not None and data.get("edit") == REPLY else None
        super().__init__(None if self._typed is not None else data, request=request, row=row)
        if not CannedReply.objects.exists():
            del self.fields["begin_with"]

    def get_initial_for_field(self, field: forms.Field, field_name: str) -> Any:
        if self._typed is not None:
            return field.widget.value_from_datadict(self._typed, {}, field_name)
        return super().get_initial_for_field(field, field_name)

    def clean(self) -> dict[str, Any]:
        """Return the answers without the choice: by now the reply is in the note."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        cleaned.pop("begin_with", None)
        return cleaned


def _with_reply(data: Any, row: Any) -> Any:
    """Return what was sent, with the chosen reply in front of the note and chosen no more."""
    key = data.get("begin_with") if data is not None else None
    reply = CannedReply.objects.filter(pk=key).first() if key and is_key(key) else None
    if reply is None:
        return data
    changed = data.copy()
    text = canned_replies.filled_in(reply.text, canned_replies.values_for(row))
    changed["text"] = canned_replies.put_in_front(text, data.get("text", ""))
    changed["begin_with"] = ""
    return changed
