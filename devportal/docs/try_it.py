"""The page of the docs that lets readers try the developer API, and the calls that it makes."""

import functools
import json
import re
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import resolve, reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from accounts.models import Account
from api.authentication import call_as_key
from api.keys import parse_public_id
from api.models import ApiKey
from api.schema_views import openapi_document
from core import clock
from core.limits.middleware import limited_by_address
from devportal.console.playground.internal_client import Exchange, call_endpoint
from devportal.docs.call_code import call_as_code
from devportal.docs.pages import listed_apis
from devportal.docs.try_api import try_api
from oidc.apis.registry import current_registry


@dataclass(frozen=True)
class Answer:
    """A possible response of an endpoint: headers, example bodies by name, and error codes for one status."""

    status: str
    description: str
    headers: tuple[str, ...]
    examples: dict[str, str]
    codes: tuple[str, ...]


@dataclass(frozen=True)
class Operation:
    """One endpoint and method."""

    name: str  # its operationId
    path: str
    summary: str
    description: str
    parameters: tuple[tuple[str, str], ...]  # request headers: name and description
    scopes: tuple[str, ...]  # of which an access token needs one
    permissions: tuple[str, ...]  # of which an API key needs one
    answers: tuple[Answer, ...]

    @property
    def description_parts(self) -> list[tuple[bool, str]]:
        """The description in parts, each with its text and whether it is code in backticks."""
        return [(place % 2 == 1, text) for place, text in enumerate(self.description.split("`")) if text]


@functools.cache
def operations() -> dict[str, Operation]:
    """Return the endpoints that can be called with GET, by operationId, in the order of the document."""
    found = (
        _operation(path, methods["get"]) for path, methods in openapi_document()["paths"].items() if "get" in methods
    )
    return {operation.name: operation for operation in found}


def _operation(path: str, said: dict[str, Any]) -> Operation:
    view = resolve(path, urlconf="api.urls").func.view_class  # type: ignore[attr-defined]
    headers = [one for one in said.get("parameters", ()) if one["in"] == "header"]
    return Operation(
        name=said["operationId"],
        path=path,
        summary=said["summary"],
        description=said["description"],
        parameters=tuple((one["name"], one.get("description", "")) for one in headers),
        scopes=view.required_scopes,
        permissions=view.required_permissions,
        answers=tuple(_answer(status, answer) for status, answer in sorted(said["responses"].items())),
    )


def _answer(status: str, said: dict[str, Any]) -> Answer:
    body = said.get("content", {}).get("application/json", {})
    values = {example.get("summary", name): example["value"] for name, example in body.get("examples", {}).items()}
    is_error = int(status) >= 400
    return Answer(
        status=status,
        description=said.get("description", ""),
        headers=tuple(said.get("headers", ())),
        examples={
            name: json.dumps(value, indent=2, ensure_ascii=False) for name, value in values.items() if not is_error
        },
        codes=tuple(value["error"]["code"] for value in values.values()) if is_error else (),
    )


def code_blocks(operation: Operation, headers: dict[str, str]) -> list[dict[str, str]]:
    """Return the blocks of one request (call_code.py); `headers` are printable ASCII."""
    return call_as_code(f"{settings.BASE_URL}{operation.path}", headers)


@dataclass(frozen=True)
class Outcome:
    """A response, its duration in milliseconds, and the URL of the call in the reader's request log."""

    exchange: Exchange
    milliseconds: int
    log_url: str


def own_keys(account: Account | None) -> list[ApiKey]:
    """Return the live keys that the reader owns. They may use these, because the keys act on their behalf."""
    if account is None:
        return []
    rows = ApiKey.objects.filter(owner=account, revoked_at=None, project__deleted_at=None)
    return list(rows.exclude(expires_at__lte=clock.now()).select_related("project").order_by("project__name", "name"))


def call(path: str, headers: dict[str, str], own: dict[str, ApiKey], *, key: ApiKey | None, pasted: str) -> Outcome:
    """Call an endpoint as `key`, without its secret, which is not stored, or with the pasted credential."""
    started = time.perf_counter()
    if key is not None:
        with call_as_key(key.public_id):
            exchange = call_endpoint(path, headers | {"Authorization": "Bearer in-process"})
    else:
        exchange = call_endpoint(path, headers | {"Authorization": f"Bearer {pasted}"})
        key = own.get(parse_public_id(pasted) or "")
    milliseconds = round((time.perf_counter() - started) * 1000)
    # A pasted key with a known id but a wrong secret was rejected as unknown, and is in no request log.
    return Outcome(exchange, milliseconds, _log_url(key, exchange) if key else "")


def _log_url(key: ApiKey, exchange: Exchange) -> str:
    named = exchange.headers.get("x-request-id", "")
    query = urlencode({"request_id": named})
    return f"{reverse('console:requests', args=[key.project.public_id])}?{query}" if named else ""


OWN, PASTED = "own", "pasted"
SOURCES = {OWN: "One of my API keys", PASTED: "An API key or token that I paste"}
_CREDENTIAL = re.compile(r"[\x21-\x7e]+")  # wider than RFC 6750 §2.1; the API rejects the rest
_HEADER_VALUE = re.compile(r"[\x20-\x7e]*")
LONGEST_CREDENTIAL, LONGEST_HEADER = 4000, 200


class TryItForm(forms.Form):
    """The form for one request. A pasted credential is used only for this request and never rendered."""

    source = forms.ChoiceField(
        label="Credential",
        choices=SOURCES.items(),
        error_messages={"required": "Choose one.", "invalid_choice": "Choose one of the options."},
    )
    key = forms.ChoiceField(
        label="API key", required=False, error_messages={"invalid_choice": "This is not one of your live API keys."}
    )
    credential = forms.CharField(
        label="API key or access token",
        required=False,
        max_length=LONGEST_CREDENTIAL,
        error_messages={"max_length": "This is too long for an API key or token."},
        help_text="It is sent to the API once. It is not stored, and not shown again.",
        widget=forms.PasswordInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(self, data: Any, operation: Operation, own: list[ApiKey]) -> None:
        super().__init__(data, initial={"source": OWN if own else PASTED}, auto_id="try_%s")
        self.own = {key.public_id: key for key in own}
        self.headers = {f"header_{place}": name for place, (name, _) in enumerate(operation.parameters)}
        keys: Any = self.fields["key"]
        keys.choices = [(key.public_id, f"{key.name} in {key.project.name} (…{key.last_four})") for key in own]
        for field, (name, said) in zip(self.headers, operation.parameters, strict=True):
            self.fields[field] = forms.CharField(
                label=name, required=False, max_length=LONGEST_HEADER, help_text=said,
                widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
            )  # fmt: skip

    def clean_credential(self) -> str:
        raw: str = self.cleaned_data["credential"].strip()
        if raw and not _CREDENTIAL.fullmatch(raw):
            raise forms.ValidationError("An API key or token contains only ASCII characters and no spaces.")
        return raw

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        source = given.get("source")
        # The field of the other choice is not sent, whatever it contains.
        unused = {OWN: "credential", PASTED: "key"}.get(source or "", "")
        if unused:
            self.errors.pop(unused, None)
            given[unused] = ""
        if source == OWN and not given.get("key") and "key" not in self.errors:
            self.add_error("key", "Choose one of your API keys.")
        if source == PASTED and not given.get("credential") and "credential" not in self.errors:
            self.add_error("credential", "Paste an API key or access token.")
        for field in self.headers:
            if not _HEADER_VALUE.fullmatch(given.get(field) or ""):
                self.add_error(field, "A header can contain only printable ASCII characters.")
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
        return [{"value": value, "label": label, "on": value == ticked} for value, label in SOURCES.items()]


# Not in the list of pages: it has no Markdown version and no previous or next page.
_PAGE = {"title": "Try the API", "summary": "Call the developer API from a form, and see the real response."}


@limited_by_address
@never_cache
@sensitive_post_parameters("credential")
@require_http_methods(["GET", "HEAD", "POST"])
def try_it(request: HttpRequest) -> HttpResponse:
    """GET or POST /docs/api/?endpoint=…: show the page. A POST calls the endpoint and shows its response.

    With ?api=… it is about another API, which is never called.
    """
    apis = {api.slug: api for api in listed_apis()}
    if slug := request.GET.get("api"):
        if slug not in apis:
            raise Http404
        if not apis[slug].is_own:
            return try_api(request, apis[slug], _PAGE)
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
        "apis": apis.values(),
        "api": current_registry().account,
        "operations": known.values(),
        "operation": operation,
        "form": form,
        "outcome": outcome,
        "code": code_blocks(operation, headers),
    }
    return render(request, "docs/try_it.html", context)
