"""Strict parsing of OAuth parameters. Repeated and undecodable parameters are reported by name."""

import json
import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.http import HttpRequest, UnreadablePostError

from oidc.values.reasons import Facts, Reason

FORM_CONTENT_TYPE = "application/x-www-form-urlencoded"
MAX_FIELDS = 100
MAX_JSON = 16_384  # bytes
# Longest query of an authorization or sign-out request, in percent-encoded characters: it is stored in the session.
MAX_QUERY = 4096


class UnreadableParameters(Exception):
    """The parameters can't be parsed."""

    def __init__(self, reason: Reason, parameters: Facts | None = None) -> None:
        super().__init__(reason)
        self.reason, self.parameters = reason, parameters or {}


@dataclass(frozen=True)
class Parameters:
    """Decoded parameters. A parameter without a value counts as missing (RFC 6749 §3.1).

    `resources` are the values of `resource`, which is the only parameter that may be repeated (RFC 8707 §2).
    """

    values: dict[str, str] = field(default_factory=dict)
    resources: tuple[str, ...] = ()
    repeated: frozenset[str] = frozenset()
    malformed: frozenset[str] = frozenset()

    def get(self, name: str) -> str | None:
        return self.values.get(name)

    @property
    def login_hint(self) -> str:
        """The `login_hint`, "" without one. A space in it was a `+` that the app did not encode."""
        return (self.get("login_hint") or "").strip().replace(" ", "+")

    def is_clear(self, name: str) -> bool:
        """Return whether the parameter was sent at most once, and decodes to valid text."""
        return name not in self.repeated and name not in self.malformed


def read_query(request: HttpRequest) -> Parameters:
    """Return the parameters of the query. Raises UnreadableParameters if it is too long or has too many parameters."""
    return parse(within_bounds(request.META.get("QUERY_STRING", "")))


def within_bounds(query: str) -> str:
    """Return `query`. Raises UnreadableParameters if it is longer than MAX_QUERY characters."""
    if len(query) > MAX_QUERY:
        raise UnreadableParameters(Reason.REQUEST_TOO_LONG, {"longest": MAX_QUERY})
    return query


def read_posted_query(request: HttpRequest) -> str:
    """Return a form body as a query string, for the redirect to GET. Raises UnreadableParameters."""
    return within_bounds(read_encoded_form(request))


def read_form(request: HttpRequest) -> Parameters:
    """Return the parameters of a form body. Raises UnreadableParameters for another content type or a broken body."""
    form: Parameters | None = getattr(request, "parameters_of_form", None)
    if form is None:
        form = parse(read_encoded_form(request))
        request.parameters_of_form = form  # type: ignore[attr-defined]  # a request may need it several times
    return form


def read_encoded_form(request: HttpRequest) -> str:
    """Return a form body, still encoded. Raises UnreadableParameters for another content type or a broken body."""
    if request.content_type != FORM_CONTENT_TYPE:
        raise UnreadableParameters(Reason.BODY_TYPE)
    try:
        return _read_body(request).decode("ascii")
    except UnicodeDecodeError as error:
        raise UnreadableParameters(Reason.BODY_NOT_ENCODED) from error


def read_json_text(request: HttpRequest, name: str) -> str | None:
    """Return a text of a JSON body, or None. Only for the log: no endpoint accepts JSON."""
    if request.content_type != "application/json":
        return None
    try:
        body = _read_body(request)
        values = json.loads(body) if len(body) <= MAX_JSON else None
    except (UnreadableParameters, ValueError, RecursionError):
        return None
    text = values.get(name) if isinstance(values, dict) else None
    return text if isinstance(text, str) and _is_text(text) else None


def _read_body(request: HttpRequest) -> bytes:
    try:
        return request.body
    except (RequestDataTooBig, TooManyFieldsSent) as error:
        raise UnreadableParameters(Reason.BODY_TOO_LARGE) from error
    except UnreadablePostError as error:
        raise UnreadableParameters(Reason.BODY_BROKEN) from error


def parse(encoded: str) -> Parameters:
    """Parse form-encoded text. Raises UnreadableParameters for too many fields."""
    try:
        pairs = parse_qsl(encoded, errors="surrogateescape", max_num_fields=MAX_FIELDS, keep_blank_values=True)
    except ValueError as error:
        raise UnreadableParameters(Reason.TOO_MANY_PARAMETERS) from error
    values: dict[str, str] = {}
    repeated, malformed = set(), set()
    for name, value in pairs:
        if name in values and name != "resource":
            repeated.add(name)
        elif not _is_text(value):
            malformed.add(name)
        if not values.get(name):  # one without a value counts as missing
            values[name] = value
    resources = dict.fromkeys(value for name, value in pairs if name == "resource" and value)
    return Parameters(
        values={name: value for name, value in values.items() if value and name not in malformed},
        resources=() if "resource" in malformed else tuple(resources),
        repeated=frozenset(repeated),
        malformed=frozenset(malformed),
    )


def _is_text(value: str) -> bool:
    # surrogateescape marks bytes that are not UTF-8. PostgreSQL can store neither those nor a NUL.
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return "\x00" not in value


def printable_name(name: str) -> str:
    """Return a parameter's name, limited to 40 characters that an error description may contain."""
    return printable_url(name[:40])


def printable_url(url: str) -> str:
    """Return a URL with only the characters that an error description may contain (RFC 6749 §4.1.2.1)."""
    return re.sub(r"[^\x20\x21\x23-\x5b\x5d-\x7e]", "?", url)
