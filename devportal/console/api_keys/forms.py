"""Forms of API keys."""

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django import forms

from api import keys
from api.keys import READS_PROFILE
from core import clock
from core.invisible import validate_visible
from oidc.apis.scopes import group_by_api


def _choices() -> list[tuple[str, str]]:
    return [(scope.name, scope.title) for scope in keys.permissions()]


class NewKeyForm(forms.Form):
    """Form of a new API key."""

    name = forms.CharField(
        label="Name",
        max_length=100,
        validators=[validate_visible],
        error_messages={"required": "Enter a name."},
        help_text="What it is for, for example “nightly report”. Only members of your project read it.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    permissions = forms.MultipleChoiceField(
        label="Scopes",
        required=False,
        choices=_choices,
        initial=[READS_PROFILE],
        error_messages={
            "invalid_choice": "A key can't have this scope.",
            "invalid_list": "Choose at least one scope.",
        },
    )
    expires_on = forms.DateField(
        label="Expires",
        required=False,
        input_formats=["%Y-%m-%d"],
        error_messages={"invalid": "Enter the day as 2031-12-24, or leave this empty."},
        help_text="The key works until the end of this day in UTC. If empty, it works until it is revoked.",
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )

    def clean_expires_on(self) -> date | None:
        day: date | None = self.cleaned_data["expires_on"]
        if day is None:
            return None
        today = clock.now().astimezone(UTC).date()
        if day < today:
            raise forms.ValidationError("This day is in the past. Choose today or a later day.")
        if day > today + keys.API_KEYS.max_life:
            raise forms.ValidationError("Choose a day within the next ten years, or leave this empty.")
        return day

    @property
    def expires_at(self) -> datetime | None:
        """The time at which the key expires, the end of the chosen day in UTC; None for no expiry."""
        day: date | None = self.cleaned_data["expires_on"]
        return datetime.combine(day + timedelta(days=1), time.min, UTC) if day else None

    @property
    def permission_groups(self) -> list[tuple[str, list[dict[str, Any]]]]:
        """The permissions to render, by the name of their API: name, title, and whether it is checked."""
        ticked = self["permissions"].value() or []
        return [
            (
                api.name if api else "",
                [{"name": one.name, "title": one.title, "on": one.name in ticked} for one in scopes],
            )
            for api, scopes in group_by_api(keys.permissions())
        ]
