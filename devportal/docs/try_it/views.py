"""/docs/api/: the endpoints of the developer API, and a form that calls them."""

import re
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from accounts.models import Account
from api.models import ApiKey
from core.limits.forms import limited_by_address
from devportal.docs.try_it.calls import Operation, call, code_blocks, operations, own_keys

OWN, PASTED = "own", "pasted"
_CREDENTIAL = re.compile(r"[\x21-\x7e]+")  # wider than RFC 6750 §2.1; the API rejects the rest
_HEADER_VALUE = re.compile(r"[\x20-\x7e]*")
LONGEST_CREDENTIAL, LONGEST_HEADER = 4000, 200


class TryItForm(forms.Form):
    """The form for one request. A pasted credential is used only for this request and never rendered."""

    source = forms.ChoiceField(
        label="Credential",
        choices=[(OWN, "One of my API keys"), (PASTED, "A key or token that I paste")],
        error_messages={"required": "Choose one.", "invalid_choice": "This is not one of the choices."},
    )
    key = forms.ChoiceField(
        label="API key", required=False, error_messages={"invalid_choice": "This is not a live key of yours."}
    )
    credential = forms.CharField(
        label="API key or access token",
        required=False,
        max_length=LONGEST_CREDENTIAL,
        error_messages={"max_length": "This is too long to be a key or a token."},
        help_text="It is sent to the API once. It is not stored, and not shown again.",
        widget=forms.PasswordInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(self, data: Any, operation: Operation, own: list[ApiKey]) -> None:
        super().__init__(data, initial={"source": OWN if own else PASTED}, auto_id="try_%s")
        self.own = {key.public_id: key for key in own}
        self.headers = {f"header_{place}": name for place, (name, _) in enumerate(operation.parameters)}
        self.fields["key"] = forms.ChoiceField(
            label="API key",
            required=False,
            choices=[(key.public_id, f"{key.name} in {key.project.name} (…{key.last_four})") for key in own],
            error_messages={"invalid_choice": "This is not a live key of yours."},
        )
        for field, (name, said) in zip(self.headers, operation.parameters, strict=True):
            self.fields[field] = forms.CharField(
                label=name, required=False, max_length=LONGEST_HEADER, help_text=said,
                widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
            )  # fmt: skip

    def clean_credential(self) -> str:
        raw: str = self.cleaned_data["credential"].strip()
        if raw and not _CREDENTIAL.fullmatch(raw):
            raise forms.ValidationError("A key or token contains only ASCII characters and no spaces.")
        return raw

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        source = given.get("source")
        if source == OWN and not given.get("key") and "key" not in self.errors:
            self.add_error("key", "Choose a key of yours.")
        if source == PASTED and not given.get("credential") and "credential" not in self.errors:
            self.add_error("credential", "Paste a key or an access token.")
        for field in self.headers:
            if not _HEADER_VALUE.fullmatch(given.get(field) or ""):
                self.add_error(field, "A header holds printable ASCII characters alone.")
        return given

    @property
    def header_fields(self) -> list[Any]:
        """The form fields for the endpoint's headers."""
        return [self[field] for field in self.headers]

    @property
    def sent_headers(self) -> dict[str, str]:
        """The submitted headers by name."""
        return {name: self.cleaned_data[field] for field, name in self.headers.items() if self.cleaned_data.get(field)}

    @property
    def sources(self) -> list[dict[str, Any]]:
        """The options of the choice: value, label, and whether it is selected."""
        ticked = self["source"].value()
        rows = ((OWN, "One of my API keys"), (PASTED, "A key or token that I paste"))
        return [{"value": value, "label": label, "on": value == ticked} for value, label in rows]


# Not in the list of pages: it has no Markdown version and no previous or next page.
_PAGE = {"title": "Try the API", "summary": "Calls the developer API from a form, and shows its real answer."}


@limited_by_address
@never_cache
@sensitive_post_parameters("credential")
@require_http_methods(["GET", "HEAD", "POST"])
def try_it(request: HttpRequest) -> HttpResponse:
    """GET or POST /docs/api/?endpoint=…: show the page. A POST calls the endpoint and shows its response."""
    known = operations()
    operation = known.get(request.GET.get("endpoint", "")) or next(iter(known.values()))
    account = request.user if isinstance(request.user, Account) else None
    form = TryItForm(request.POST if request.method == "POST" else None, operation, own_keys(account))
    outcome, headers = None, {}
    if form.is_valid():
        headers = form.sent_headers
        key = form.own[form.cleaned_data["key"]] if form.cleaned_data["source"] == OWN else None
        outcome = call(operation.path, headers, form.own, key=key, pasted=form.cleaned_data["credential"])
    context: dict[str, Any] = {
        "page": _PAGE,
        "operations": known.values(),
        "operation": operation,
        "form": form,
        "outcome": outcome,
        "code": code_blocks(operation, headers),
    }
    return render(request, "docs/try_it.html", context)
