"""The forms of a client's receivers."""

from typing import Any

from django import forms
from django.http import QueryDict

from devportal.console.forms import SeenForm
from oidc.events.registration import receiver_digest
from oidc.models import EventReceiver
from oidc.values.event_types import EventType

CHANNEL = "channel"
_OFF = "Leave it empty to turn it off."


def _url_field(label: str, help_text: str) -> forms.CharField:
    """Return the field for a receiver's URL. Whether it is allowed is checked when it is saved."""
    return forms.CharField(
        label=label,
        required=False,
        help_text=help_text,
        widget=forms.TextInput(
            attrs={
                "inputmode": "url",
                "autocomplete": "off",
                "spellcheck": "false",
            }
        ),
    )


class LogoutForm(SeenForm):
    """The URL at which the client receives logout tokens."""

    url = _url_field("Logout URL", f"Your library calls it the back-channel logout URI. {_OFF}")
    session_required = forms.BooleanField(
        label="Only with a session id",
        required=False,
        help_text="Your app finds its sessions by their sid, and can’t use a logout token without one.",
    )

    def __init__(self, data: QueryDict | None = None, *, receiver: EventReceiver) -> None:
        initial = {
            "url": receiver.url,
            "session_required": receiver.session_required,
            "seen": receiver_digest(receiver),
        }
        super().__init__(data, initial=initial, prefix=EventReceiver.Channel.LOGOUT)


class EventsForm(SeenForm):
    """The URL at which the client receives security events, and the events that it receives."""

    url = _url_field("Events URL", _OFF)
    types = forms.MultipleChoiceField(
        choices=[(each.value, each.label) for each in EventType.choosable()],
        required=False,
        error_messages={"invalid_choice": "%(value)s is not an event type. Choose from the list."},
    )

    def __init__(self, data: QueryDict | None = None, *, receiver: EventReceiver) -> None:
        types = [each.value for each in receiver.wanted_types]
        initial = {"url": receiver.url, "types": types, "seen": receiver_digest(receiver)}
        super().__init__(data, initial=initial, prefix=EventReceiver.Channel.EVENTS)

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = self.cleaned_data
        if given.get("url") and "types" in given and not given["types"]:
            self.add_error("types", "Choose at least one event type, or leave the URL empty.")
        return given
