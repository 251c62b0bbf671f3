"""Read the forms of pages, and send every one of their fields with many hostile values.

No form is listed here: new forms and fields are found on their pages.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from typing import Any
from unittest.mock import patch
from urllib.parse import urlencode, urljoin, urlsplit

from django.db import transaction
from django.forms import BaseForm
from django.test import Client as Browser

URLENCODED = "application/x-www-form-urlencoded"

# The values for a field, by what is wrong with them. Values that are not text are percent-encoded.
HOSTILE: dict[str, bytes] = {
    "nothing": b"",
    "NUL": b"%00",
    "lone surrogate": b"%ED%A0%80",
    "ten to the thirtieth": b"1" + b"0" * 30,
    "5,000 digits": b"9" * 5000,
    "exponent": b"1e400",
    "not a number": b"nan",
    "words": b"some+words",
    "long": b"",  # replaced by a value so long that all values together reach the limit
    "right to left": "\u202e\u2066ytrebil\u200f".encode(),
    "first day with an offset": b"0001-01-01T00%3A00%3A00%2B14%3A00",
    "last day with an offset": b"9999-12-31T23%3A59%3A59-14%3A00",
    "no such day": b"2026-02-30",
    "markup": b"%3Cscript%3E%22%27%26",
}
# The values for fields that may contain JSON: those with several lines, and hidden ones.
HOSTILE_JSON: dict[str, bytes] = {
    "lone surrogate in JSON": b"%5B%22%5Cud800%22%5D",
    "lone surrogate as a key of JSON": b"%7B%22%5Cud800%22%3A+%7B%22quantity%22%3A+1%7D%7D",
    "NUL in JSON": b"%5B%22%5Cu0000%22%5D",
    "deep JSON": b"[" * 10_000 + b"]" * 10_000,
    "long number in JSON": b"%5B" + b"9" * 5000 + b"%5D",
    "infinite JSON": b"%5BNaN%2CInfinity%2C1e999%5D",
    "quantity beyond all": b"%7B%22a%22%3A+%7B%22quantity%22%3A+1" + b"0" * 30 + b"%7D%7D",
}
# The number of bytes of all values together, which is less than the limit for a form.
LONG = 200_000
_WAYS = ("missing", "a list", "twice")
_SKIPPED = ("csrfmiddlewaretoken",)


@dataclass
class Form:
    """A form with the method POST: its URL, and its fields with the values that a browser would send."""

    action: str
    fields: dict[str, list[str]] = field(default_factory=dict)
    may_hold_json: set[str] = field(default_factory=set)

    def tried(self) -> list[str]:
        """Return the fields to try. Of a table with several rows, only the first and the empty row are tried."""
        first: dict[str, str] = {}
        for name in self.fields:
            first.setdefault(re.sub(r"-\d+-", "-N-", name), name)
        return [name for name in first.values() if name not in _SKIPPED and not name.startswith("initial-")]

    def kinds(self) -> Iterator[tuple[str, list[str]]]:
        """Yield each kind of value, and the fields that are tried with it."""
        for kind in (*HOSTILE, *_WAYS):
            yield kind, self.tried()
        for kind in HOSTILE_JSON:
            yield kind, [name for name in self.tried() if name in self.may_hold_json]

    def as_it_stands(self) -> bytes:
        """Return the body that a browser would send."""
        return urlencode(self.fields, doseq=True).encode()

    def body(self, kind: str, names: Collection[str]) -> bytes:
        """Return a body in which these fields have one kind of value, and the others have their original values."""
        others = {name: values for name, values in self.fields.items() if name not in names}
        tried = [self._tried(kind, name, len(names)) for name in names]
        return b"&".join([urlencode(others, doseq=True).encode(), *tried])

    def _tried(self, kind: str, name: str, among: int) -> bytes:
        key = urlencode({name: ""}).encode()
        held = urlencode({name: self.fields[name]}, doseq=True).encode()
        if kind in _WAYS:
            return {"missing": b"", "a list": key + b"a&" + key + b"b", "twice": held + b"&" + held}[kind]
        return key + (b"a" * (LONG // among) if kind == "long" else (HOSTILE | HOSTILE_JSON)[kind])


class _Reader(HTMLParser):
    """Reads the forms of a page, without fields outside of a form that name it (`form=`)."""

    def __init__(self, url: str) -> None:
        super().__init__(convert_charrefs=True)
        self.url = url
        self.forms: list[Form] = []
        self._form: Form | None = None
        self._select: str | None = None
        self._area: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag not in ("form", "input", "button", "select", "option", "textarea"):
            return
        if tag == "form":
            is_post = given.get("method", "").lower() == "post"
            self._form = Form(urljoin(self.url, given.get("action") or self.url)) if is_post else None
            return
        if given.get("formaction") and self._form is not None:
            self.forms.append(replace(self._form, action=urljoin(self.url, given["formaction"])))
        name = given.get("name", "")
        if self._form is None or (not name and tag != "option"):
            return
        fields = self._form.fields
        if tag == "textarea" or given.get("type") == "hidden":
            self._form.may_hold_json.add(name)
        if tag in ("input", "button"):
            self._read_input(tag, fields.setdefault(name, []), given)
        elif tag == "option":
            if self._select and "selected" in given:
                fields[self._select].append(given.get("value", ""))
        else:
            self._select, self._area = (name, None) if tag == "select" else (None, name)
            fields.setdefault(name, [""] if self._area else [])

    def _read_input(self, tag: str, values: list[str], given: dict[str, str]) -> None:
        """Add the value that a browser would send. If no checkbox or button is chosen, the first one counts."""
        kind = given.get("type", "text" if tag == "input" else "submit")
        is_choice = kind in ("checkbox", "radio", "submit")
        if kind != "file" and (not is_choice or "checked" in given or not values):
            values.append(given.get("value", "on" if is_choice else ""))

    def handle_data(self, data: str) -> None:
        if self._area and self._form is not None:
            self._form.fields[self._area][0] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form" and self._form is not None:
            self.forms.append(self._form)
            self._form = None
        elif tag == "select":
            self._select = None
        elif tag == "textarea":
            self._area = None


def forms_on(browser: Browser, url: str, under: str) -> list[Form]:
    """Return the forms of a page that post to a path below `under`, which excludes the one that signs out.

    If the URL does not return a page, there are none.
    """
    response = browser.get(url)
    if response.status_code != 200 or response.streaming or "html" not in response.get("Content-Type", ""):
        return []
    reader = _Reader(url)
    reader.feed(response.content.decode())
    return [form for form in reader.forms if urlsplit(form.action).path.startswith(under)]


def send_all(browser: Browser, forms: list[Form]) -> list[tuple[str, str, int, Any]]:
    """Try every field of every form with every value, and roll back each request. Return the responses above 499.

    First, fields that Django rejects in the unchanged form are filled in. Then all fields get a value at once, and
    after that the fields whose value was not rejected, until the value is stored. If the unchanged form leads to
    another page but the value does not, each field is also tried alone.
    """
    browser.raise_request_exception = False
    wrong = []
    for form in forms:
        for kind, response in _answers(browser, form):
            assert "/account/login" not in response.get("Location", ""), "nobody is signed in any more"
            if response.status_code > 499:
                wrong.append((form.action, kind, response.status_code, _error(response)))
    return wrong


def _answers(browser: Browser, form: Form) -> Iterator[tuple[str, Any]]:
    """Yield the responses to the values, by what is wrong with the values."""
    yield "nothing at all", _send(browser, form, b"")[0]
    response, refused = _send(browser, form, form.as_it_stands())
    yield "as it stands", response
    if refused:
        form.fields |= {name: ["Some words"] for name in refused if name in form.fields}
        response, _ = _send(browser, form, form.as_it_stands())
        yield "filled in", response
    is_taken = response.status_code == 302
    for kind, names in form.kinds():
        while names:
            response, refused = _send(browser, form, form.body(kind, names))
            yield kind, response
            if refused.isdisjoint(names):
                break
            names = [name for name in names if name not in refused]
        if is_taken and response.status_code != 302 and len(names) > 1:
            for name in names:
                yield f"{name}: {kind}", _send(browser, form, form.body(kind, [name]))[0]


def _send(browser: Browser, form: Form, body: bytes) -> tuple[Any, set[str]]:
    """Return the response, and the names of the fields that Django's forms rejected."""
    refused: set[str] = set()
    clean = BaseForm.full_clean

    def look(self: BaseForm) -> None:
        clean(self)
        refused.update(self.add_prefix(name) for name in self.errors)

    with transaction.atomic(), patch.object(BaseForm, "full_clean", look):
        response = browser.post(urlsplit(form.action).path, body, content_type=URLENCODED)
        transaction.set_rollback(True)
    return response, refused


def _error(response: Any) -> str:
    info = getattr(response, "exc_info", None)
    return f"{info[0].__name__}: {str(info[1])[:120]}" if info else ""
