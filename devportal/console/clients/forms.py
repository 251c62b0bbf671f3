"""Forms of clients, with a field for a list of URLs."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, Self

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import QueryDict

from core.http import hosts
from devportal.console.forms import accept_saved_name, name_field
from oidc.apis import scopes
from oidc.clients.domain_names import domains_of, hosts_of, is_loopback, on_unknown_hosts
from oidc.clients.registration import optional_scopes_digest, settings_digest
from oidc.clients.reviewed_hosts import HostStanding, host_standing
from oidc.models import Client
from oidc.values import redirect_uris
from oidc.values.redirect_uris import MAX_POST_LOGOUT_REDIRECT_URIS, MAX_REDIRECT_URIS, RedirectURIEntry

EMPTY_ROWS = 1  # shown below the filled rows
MORE_ROWS = 1
_MOST_CHARACTERS = 10_000  # characters shown again in a row; longer input can't be a URL


@dataclass(frozen=True)
class URIRow:
    """One row to render. `is_unsaved` marks a URL that the client does not have yet.

    `is_proposed` marks the URL that a link asks to add. `unknown_host` is its host if nothing shows that it is the
    developer's (`on_unknown_hosts`), and `is_loopback` tells that the host is the machine of the person who signs in.
    `standing` tells whether a redirect URL of a reviewed app counts as reviewed.
    """

    number: int
    entry: RedirectURIEntry
    is_unsaved: bool = False
    is_proposed: bool = False
    unknown_host: str = ""
    is_loopback: bool = False
    standing: HostStanding | None = None


class _Rows(forms.Widget):
    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[str]:
        texts: list[str] = data.getlist(name)
        return texts


class BoundURIList(forms.BoundField):
    """The bound field."""

    field: "URIListField"

    @property
    def rows(self) -> list[URIRow]:
        """The rows to render: the submitted or saved URLs, and some empty rows."""
        texts = [text.strip()[:_MOST_CHARACTERS] for text in self.value() or [] if text.strip()]
        entries = [*redirect_uris.check_each(texts), *[RedirectURIEntry("")] * self.field.empty_rows]
        valid = [entry.address for entry in entries if entry.address and not entry.error]
        unknown = self.field.unknown_among([address for address in valid if address not in (self.field.saved or ())])
        return [self._row(number, entry, unknown) for number, entry in enumerate(entries, 1)]

    def _row(self, number: int, entry: RedirectURIEntry, unknown: Collection[str]) -> URIRow:
        address, field = entry.address, self.field
        is_unsaved = bool(address) and field.saved is not None and address not in field.saved
        if not address or entry.error:
            return URIRow(number, entry, is_unsaved)
        return URIRow(
            number,
            entry,
            is_unsaved,
            is_proposed=address == field.proposed,
            unknown_host=hosts.authority_of(address) if address in unknown else "",
            is_loopback=any(map(is_loopback, hosts_of([address]))),
            standing=field.standing_of(address),
        )

    @property
    def filled_rows(self) -> list[URIRow]:
        """The rows with a saved URL, for people who may only read them."""
        return [row for row in self.rows if row.entry.address and not row.is_unsaved]


class URIListField(forms.Field):
    """A list of URLs from repeated inputs with the same name. Empty rows and duplicates are dropped."""

    widget = _Rows

    def __init__(self, most: int, saved: Collection[str] | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.most = most
        self.saved = saved
        # Returns the ones of new, valid URLs whose hosts nothing shows to be the developer's.
        self.unknown_among: Callable[[Sequence[str]], Collection[str]] = lambda addresses: ()
        self.proposed = ""  # the URL that a link asks to add
        # Returns whether a valid URL counts as reviewed, if the page shows that (docs/review.md#hosts).
        self.standing_of: Callable[[str], HostStanding | None] = lambda address: None
        self.empty_rows = EMPTY_ROWS

    def clean(self, value: Sequence[str]) -> list[str]:
        if any(entry.error for entry in redirect_uris.check_each(value)):
            raise ValidationError("Nothing is saved yet. Fix the marked URLs, or clear their rows.")
        return redirect_uris.clean_redirect_uris(value, self.most, required=self.required)

    def get_bound_field(self, form: forms.BaseForm, field_name: str) -> BoundURIList:
        return BoundURIList(form, self, field_name)


MORE = "more"  # name of the button that adds empty rows to the field named in its value, without saving


class ClientTypeChoice(NamedTuple):
    """A client type with its description."""

    value: str
    title: str
    text: str


CLIENT_TYPES = (
    ClientTypeChoice(Client.Type.WEB, "Runs on a server", "A website or service whose server can keep a secret."),
    ClientTypeChoice(
        Client.Type.SPA,
        "Runs in the browser",
        "An app without a server. It has no secret.",
    ),
    ClientTypeChoice(
        Client.Type.NATIVE,
        "Installed app",
        "An app on a phone or a computer. It signs people in through the system's browser and has no secret.",
    ),
)


class _WithAddresses(forms.Form):
    redirect_uris = URIListField(MAX_REDIRECT_URIS, label="Redirect URLs")
    post_logout_redirect_uris = URIListField(MAX_POST_LOGOUT_REDIRECT_URIS, required=False, label="Sign-out URLs")

    @classmethod
    def with_more_rows(cls, data: QueryDict, **kwargs: Any) -> Self:
        """Return the form with the submitted values and more empty rows. Only the URLs are validated."""
        initial: dict[str, Any] = {name: data.get(name, "") for name in cls.base_fields}
        for name, field in cls.base_fields.items():
            if isinstance(field, (URIListField, forms.MultipleChoiceField)):
                initial[name] = data.getlist(name)
        form = cls(initial=initial, **kwargs)
        wanted = form.fields.get(data.get(MORE, ""))
        if isinstance(wanted, URIListField):
            wanted.empty_rows += MORE_ROWS
        return form


class NewClientForm(_WithAddresses):
    """Form of a new client."""

    name = name_field("People see it when they sign in.")
    type = forms.ChoiceField(
        label="Where does it run?",
        choices=[(kind.value, kind.title) for kind in CLIENT_TYPES],
        error_messages={"required": "Choose where it runs.", "invalid_choice": "Choose one of these three."},
    )
    field_order = ("name", "type")


class ClientSettingsForm(_WithAddresses):
    """All settings of a client that are saved together. The name can be changed only until the app is reviewed.

    The hidden fields tell which settings and which optional scopes the page showed.
    """

    seen = forms.CharField(required=False, widget=forms.HiddenInput)
    seen_scopes = forms.CharField(required=False, widget=forms.HiddenInput)
    name = name_field("People see it when they sign in.")
    optional_scopes = forms.MultipleChoiceField(
        label="Optional scopes",
        required=False,
        error_messages={"invalid_choice": "This app can't request %(value)s, or can't make it optional."},
    )
    least_acr = forms.ChoiceField(
        label="Required sign-in",
        required=False,
        choices=Client.LeastAcr.choices,
        error_messages={"invalid_choice": "Choose one of these three."},
        help_text="People without it set it up when they sign in.",
    )
    forgive_lost_responses = forms.BooleanField(
        label=f"Forgive a lost response for {settings.LOST_RESPONSE_SECONDS} seconds",
        required=False,
        help_text="Recommended for mobile and desktop apps. Without the response to a refresh, your app may send the "
        "same refresh token again, until someone uses the new tokens.",
    )
    field_order = ("name",)

    def __init__(self, *args: Any, client: Client, added: str = "", added_sign_out: str = "", **kwargs: Any) -> None:
        saved = {
            "redirect_uris": client.registered_redirect_uris,
            "post_logout_redirect_uris": client.registered_post_logout_redirect_uris,
        }
        initial = _digests(client) | {
            "name": client.name,
            "optional_scopes": client.optional_scopes.split(),
            "least_acr": client.least_acr,
            "forgive_lost_responses": client.forgive_lost_responses,
        }
        proposed = {"redirect_uris": added, "post_logout_redirect_uris": added_sign_out}
        proposed = {name: new for name, new in proposed.items() if new and new not in saved[name]}
        initial |= saved | {name: (*saved[name], new) for name, new in proposed.items()}
        super().__init__(*args, **({"initial": initial} | kwargs))
        optional = self.fields["optional_scopes"]
        assert isinstance(optional, forms.MultipleChoiceField)
        optional.choices = [(scope.name, scope.title) for scope in scopes.optional_candidates(client) if scope.enabled]
        if client.is_verified:
            del self.fields["name"]
        else:
            accept_saved_name(self.fields["name"], client.name)
        domains = cache(lambda: domains_of(client.project))  # read once, when the rows are drawn
        for name, addresses in saved.items():
            field = self.fields[name]
            assert isinstance(field, URIListField)
            field.saved, field.proposed = addresses, proposed.get(name, "")
            field.unknown_among = lambda new: on_unknown_hosts(client, new, domains()) if new else ()
        if client.is_verified and not client.first_party:
            redirects = self.fields["redirect_uris"]
            assert isinstance(redirects, URIListField)
            redirects.standing_of = lambda address: host_standing(client, address, domains())

    @classmethod
    def over_changes(cls, data: QueryDict, error: ValidationError, *, client: Client) -> Self:
        """Return the form with what was sent, an error, and the digests of the present settings, to be sent again."""
        sent = data.copy()
        for name, digest in _digests(client).items():
            sent[name] = digest
        form = cls(sent, client=client)
        form.add_error(None, error)
        return form

    def clean_least_acr(self) -> str | None:
        """Return the level, or None (unchanged) if the form did not have the field."""
        level: str = self.cleaned_data["least_acr"]
        return level if self.add_prefix("least_acr") in self.data else None

    def clean_optional_scopes(self) -> list[str] | None:
        """Return the scopes, or None (unchanged) if the form did not have them. Empty checkboxes are not sent."""
        chosen: list[str] = self.cleaned_data["optional_scopes"]
        return chosen if chosen or "seen_scopes" in self.data else None


def _digests(client: Client) -> dict[str, Any]:
    return {"seen": settings_digest(client), "seen_scopes": optional_scopes_digest(client)}


class ChangeTypeForm(forms.Form):
    """Change of a client's type, with a checkbox to confirm the consequences."""

    type = forms.ChoiceField(label="New type", error_messages={"required": "Choose the new type."})
    understood = forms.BooleanField(
        label="I understand what will end", error_messages={"required": "Tick this to go on."}
    )

    def __init__(self, *args: Any, client: Client, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kinds: Sequence[ClientTypeChoice] = [kind for kind in CLIENT_TYPES if kind.value != client.type]
        field = self.fields["type"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(kind.value, kind.title) for kind in self.kinds]
