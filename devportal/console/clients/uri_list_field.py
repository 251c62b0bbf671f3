"""A form field for a list of URLs, one per row, each row with its own error."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from oidc.clients import redirect_uris
from oidc.clients.host_standings import HostStanding
from oidc.clients.redirect_uris import RedirectURIEntry

EMPTY_ROWS = 1  # shown below the filled ones
MORE_ROWS = 1
_MOST_CHARACTERS = 10_000  # in a row that is drawn again; what is longer was no address


@dataclass(frozen=True)
class URIRow:
    """One row to render; `is_unsaved` marks a URL that the client does not have yet.

    `standing` tells whether a redirect URL of a reviewed app counts as reviewed.
    """

    number: int
    entry: RedirectURIEntry
    is_unsaved: bool = False
    standing: HostStanding | None = None


class _Rows(forms.Widget):
    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[str]:
        texts: list[str] = data.getlist(name)
        return texts


class BoundURIList(forms.BoundField):
    """The field in its form."""

    field: "URIListField"

    @property
    def rows(self) -> list[URIRow]:
        """The rows to render: the submitted or the saved URLs, and some empty rows."""
        texts = [text.strip()[:_MOST_CHARACTERS] for text in self.value() or [] if text.strip()]
        saved = self.field.saved
        entries = [*redirect_uris.check_each(texts), *[RedirectURIEntry("")] * self.field.empty_rows]
        return [
            URIRow(
                number,
                entry,
                bool(entry.address) and saved is not None and entry.address not in saved,
                self.field.judge(entry.address) if entry.address and not entry.error else None,
            )
            for number, entry in enumerate(entries, 1)
        ]

    @property
    def filled_rows(self) -> list[URIRow]:
        """The rows that hold a URL, for people who read them."""
        return [row for row in self.rows if row.entry.address]


class URIListField(forms.Field):
    """A list of URLs from repeated inputs of one name; empty rows and duplicates are dropped."""

    widget = _Rows

    def __init__(self, most: int, saved: Collection[str] | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.most = most
        self.saved = saved
        # Returns how a valid URL counts, where that is to be shown (docs/review.md#hosts).
        self.judge: Callable[[str], HostStanding | None] = lambda address: None
        self.empty_rows = EMPTY_ROWS

    def clean(self, value: Sequence[str]) -> list[str]:
        if any(entry.error for entry in redirect_uris.check_each(value)):
            raise ValidationError("Nothing is saved yet: fix what is marked here, or empty its row.")
        return redirect_uris.clean_redirect_uris(value, self.most, required=self.required)

    def get_bound_field(self, form: forms.BaseForm, field_name: str) -> BoundURIList:
        return BoundURIList(form, self, field_name)
