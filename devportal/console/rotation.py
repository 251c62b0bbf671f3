"""The form that says when a secret or key ends: of its rotation, and of changing its expiry later."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django import forms

from devportal.lib import clock

NOW, NEVER, CHOSEN = "now", "never", "at"
_SPANS = {
    "1h": ("In 1 hour", timedelta(hours=1)),
    "24h": ("In 24 hours", timedelta(hours=24)),
    "7d": ("In 7 days", timedelta(days=7)),
}
_FORMATS = ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M"]


class _EndForm(forms.Form):
    """A choice of moments, and a field for any other one."""

    edge: tuple[str, str] = ("", "")  # the choice that is no moment ahead: its value and label
    edge_is_first = False

    when = forms.ChoiceField(
        label="Expires", error_messages={"required": "Choose one.", "invalid_choice": "This is not one of the choices."}
    )
    at = forms.DateTimeField(
        label="Day and time in UTC",
        required=False,
        input_formats=_FORMATS,
        error_messages={"invalid": "Write day and time as 2031-12-24 18:30."},
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format=_FORMATS[0]),
    )

    def __init__(self, data: Any = None, *, most: timedelta, chosen: str = "24h", at: datetime | None = None) -> None:
        """`most` is how far ahead the end may be, `chosen` what is ticked at first, `at` the moment in the field."""
        super().__init__(data, initial={"when": chosen, "at": at})
        self._most = most
        rows = [*((value, label) for value, (label, _) in _SPANS.items()), (CHOSEN, "At a time of your choice")]
        self._rows = [self.edge, *rows] if self.edge_is_first else [*rows, self.edge]
        when = self.fields["when"]
        assert isinstance(when, forms.ChoiceField)
        when.choices = self._rows

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        if given.get("when") != CHOSEN or "at" in self.errors:
            return given
        at: datetime | None = given.get("at")
        if at is None:
            self.add_error("at", "Enter day and time, or choose another row.")
        elif at <= clock.now():
            self.add_error("at", "This is in the past: choose a later time.")
        elif at > clock.now() + self._most:
            self.add_error("at", f"This is too far ahead: choose a time within {self._most.days} days.")
        return given

    @property
    def expires_at(self) -> datetime | None:
        """The chosen end, in UTC; None for never."""
        when = self.cleaned_data["when"]
        if when == NEVER:
            return None
        if when == CHOSEN:
            at: datetime = self.cleaned_data["at"]
            return at.astimezone(UTC)
        return clock.now() + (timedelta() if when == NOW else _SPANS[when][1])

    @property
    def choices(self) -> list[dict[str, Any]]:
        """The rows to render: value, label, whether it is ticked."""
        ticked = self["when"].value()
        return [{"value": value, "label": label, "on": value == ticked} for value, label in self._rows]


class RotationForm(_EndForm):
    """When the old one ends after a new one was created."""

    edge = (NOW, "Now")
    edge_is_first = True

    @property
    def ends_at(self) -> datetime:
        """The chosen end, in UTC."""
        end = self.expires_at
        assert end is not None
        return end


class ExpiryForm(_EndForm):
    """When a live one expires, or never."""

    edge = (NEVER, "Never")
