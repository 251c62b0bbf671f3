"""The page *Try it* for a declared API: a call as code. The service never sends the call to the API."""

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from api import request_targets
from devportal.docs import openapi
from devportal.docs.call_code import call_as_code
from devportal.docs.context import format_duration
from devportal.docs.pages import api_address, listed_apis
from oidc.apis.registry import ApiSnapshot, Scope

METHODS = tuple(method.upper() for method in openapi.METHODS)
LONGEST_PATH = 500
MOST_OFFERED = 40
# The characters of a path and a query (RFC 3986 §3.3, §3.4), and the braces of placeholders in OpenAPI documents.
_UNENCODED = "/~!$&'()+,;=:@{}"
_PATH = re.compile(r"/[A-Za-z0-9\-._~!$&'()*+,;=:@/?%{}]*")


@dataclass(frozen=True)
class ApiCall:
    """A call of an API. `scopes` are the names in the API's OpenAPI document."""

    api: ApiSnapshot
    method: str = "GET"
    path: str = "/"
    summary: str = ""
    scopes: tuple[str, ...] = ()

    @property
    def address(self) -> str:
        """The query string of the page for this call."""
        return "?" + urlencode({"api": self.api.slug, "method": self.method, "path": self.path})

    @property
    def url(self) -> str:
        """The URL, with the API's identifier as base. A path that begins with that of the identifier has it once."""
        base = urlsplit(self.api.identifier)
        prefix = base.path.rstrip("/")
        has_prefix = f"{self._without_query}/".startswith(f"{prefix}/")
        return f"{base.scheme}://{base.netloc}{'' if has_prefix else prefix}{self.path}"

    @property
    def _without_query(self) -> str:
        return self.path.partition("?")[0]

    @property
    def is_template(self) -> bool:
        """Whether the path has placeholders that the reader has to replace."""
        return "{" in self.path

    @property
    def sends_body(self) -> bool:
        return self.method in ("POST", "PUT", "PATCH")

    def required_scopes(self) -> list[Scope]:
        """Return the scopes that the rules require, [] if no rule matches.

        Paths of rules may begin with the identifier's path or leave it out.
        """
        paths = (urlsplit(self.url).path, self._without_query)
        names = next((found for path in paths if (found := self._scopes_for(path))), frozenset())
        return [scope for scope in self.api.scopes if scope.name in names]

    def _scopes_for(self, path: str) -> frozenset[str]:
        """Return the scopes that forward authentication requires for a path as it is sent, none if it refuses it."""
        try:
            readings = request_targets.readings(request_targets.decode_path(path))
        except request_targets.AmbiguousPath:
            return frozenset()
        found = [self.api.scopes_for(self.method, reading) for reading in readings]
        return frozenset().union(*found) if all(found) else frozenset()


def offered_calls(api: ApiSnapshot) -> list[ApiCall]:
    """Return the calls that the page offers: those of the API's OpenAPI document, and one for each of its rules."""
    operations = openapi.operations_at(api.openapi_url) if api.openapi_url else ()
    calls = [ApiCall(api, each.method, each.path, each.summary, each.scopes) for each in operations]
    # A rule for a prefix is offered with the prefix as path. The paths of rules are decoded.
    for rule in api.rules:
        method = "GET" if rule.method == "*" else rule.method
        calls.append(ApiCall(api, method, quote(rule.path.rstrip("*"), safe=_UNENCODED)))
    found: dict[tuple[str, str], ApiCall] = {}
    for call in calls:
        if _PATH.fullmatch(call.path) and len(call.path) <= LONGEST_PATH:
            found.setdefault((call.method, call.path), call)
    return list(found.values())[:MOST_OFFERED]


class CallForm(forms.Form):
    """The method and the path of a call."""

    method = forms.ChoiceField(
        label="Method",
        error_messages=dict.fromkeys(("required", "invalid_choice"), "Choose one of the methods."),
    )
    path = forms.CharField(
        label="Path",
        max_length=LONGEST_PATH,
        help_text="With a query if you need one, such as /events?limit=10.",
        error_messages={"required": "Enter a path, such as /events."},
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(self, data: Any, default: ApiCall) -> None:
        super().__init__(data, initial={"method": default.method, "path": default.path}, auto_id="try_%s")
        others = sorted({rule.method for rule in default.api.rules} - {"*", *METHODS})
        self.fields["method"].choices = [(method, method) for method in (*METHODS, *others)]  # type: ignore[attr-defined]

    def clean_path(self) -> str:
        path: str = self.cleaned_data["path"]
        if not path.startswith("/"):
            raise forms.ValidationError("A path begins with a slash, such as /events.")
        if {".", ".."} & set(path.partition("?")[0].split("/")):
            raise forms.ValidationError("Leave out segments that are . or .., because servers resolve them.")
        if not _PATH.fullmatch(path):
            raise forms.ValidationError("Percent-encode characters that a URL can’t contain, such as %20 for a space.")
        return path


@require_safe
def try_api(request: HttpRequest, api: ApiSnapshot, page: dict[str, str]) -> HttpResponse:
    """GET /docs/api/?api=…&method=…&path=…: a call of a declared API as code."""
    offered = offered_calls(api)
    call: ApiCall | None = offered[0] if offered else ApiCall(api)
    form = CallForm(request.GET if "path" in request.GET else None, call or ApiCall(api))
    if form.is_bound:
        call = _call_of(form, api, offered)
    context: dict[str, Any] = {
        "page": page,
        "apis": listed_apis(),
        "api": api,
        "address": api_address(api),
        "offered": offered,
        "form": form,
        "call": call,
        "required": call.required_scopes() if call else [],
        "code": call_as_code(call.url, {}, call.method) if call else [],
        "access_token_life": format_duration(settings.ACCESS_TOKEN_SECONDS),
    }
    return render(request, "docs/try_api.html", context)


def _call_of(form: CallForm, api: ApiSnapshot, offered: list[ApiCall]) -> ApiCall | None:
    if not form.is_valid():
        return None
    call = ApiCall(api, form.cleaned_data["method"], form.cleaned_data["path"])
    same = (each for each in offered if (each.method, each.path) == (call.method, call.path))
    return next(same, call)
