"""Hostile input to every page and form of the console: a documented answer, never a 500, and nothing stored."""

from typing import Any
from urllib.parse import quote

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test.client import MULTIPART_CONTENT
from django.urls import reverse

from accounts.plans.members import get_or_create_family
from devportal.console import idempotency
from devportal.review.submission import developer_actions
from oidc.models import Client, ProjectMember
from tests import remembered
from tests.devportal.review.reviewing import fill
from tests.factories import make_account
from tests.security.consoles import READ, SENT, Place, ask, make_place, rows
from tests.security.forms_on_pages import Form, forms_on, send_all
from tests.security.test_bad_input import HOSTILE

pytestmark = pytest.mark.slow  # thousands of requests

# Bytes of fields in a body, ten times what a form may hold.
MOST_BYTES = 2_600_000
# Forms that the console has at least.
MOST_KNOWN = 20

FORM = "application/x-www-form-urlencoded"

# Everything that a page reads from its address, and everything that a form reads.
READ_BY_PAGES = """
    before after kind by q add language range endpoint client key status method person result request since until from
    to day event code state iss error error_description page channel sub jti outcome reason step show project table api
    path who request_id counted format refresh
"""
READ_BY_FORMS = """
    name type redirect_uris post_logout_redirect_uris more url enabled understood typed permissions expires_on email
    role to decision step logo remove_logo home_page_url privacy_policy_url terms_url support_address note
    ask_account_read why_account_read text wanted scope prompt client_secret address once
    least_acr optional_scopes seen_scopes
    channel logout-url logout-session_required logout-seen events-url events-types events-seen seen submission
"""
PARAMETERS, FIELDS = READ_BY_PAGES.split(), READ_BY_FORMS.split()

QUERIES = HOSTILE | {
    "nothing": "",
    "minus one": "-1",
    "beyond bigint": "9223372036854775808",
    "just bigint": "9223372036854775807",
    "eighteen digits": "9" * 18,
    "arabic digits": quote("٣٤"),
    "superscript": quote("²"),
    "exponent": "1e400",
    "not a number": "nan",
    "no such day": "2026-02-30",
    "year zero": "0000-00-00T00:00:00",
    "year 10000": "10000-01-01",
    "first day of all": "0001-01-01T00:00:00%2B14:00",
    "last day of all": "9999-12-31T23:59:59-14:00",
    "percent and underscore": "%25_%5C",
    "megabyte": "a" * 1_000_000,
}
BODIES = QUERIES | {
    "thousand lines": "x%0A" * 1000,
    "thousand addresses": quote("https://app.example.com/ ") * 1000,
    "javascript": quote("javascript:alert(1)//https://a.example"),
    "bad port": quote("https://app.example.com:99999999/cb"),
    "bad bracket": quote("https://[::1/cb"),
    "bad IDNA": quote("https://xn--a-.example/"),
    "mail to nobody": quote("a@" + "b" * 64 + ".example"),
    "two mails": quote("a@example.com\nBcc: b@example.com"),
    "odd mail": quote("a@exa\u200bmple.com"),
    "marks": quote("a" + "\u0301" * 5000),
    "tags": quote("<script>alert(1)</script>"),
}


@pytest.fixture
def place(db: None, request: pytest.FixtureRequest) -> Place:
    return remembered.again((__name__, *request.fixturenames), make_place)


def is_documented(response: Any, name: str) -> bool:
    """Tell whether a page may answer with this status. Only old URLs redirect for good."""
    return response.status_code in (200, 302, 400, 403, 404, 405, 413, 414, 415, 429) or (
        response.status_code == 301 and name.startswith("moved_")
    )


def is_led_within(response: Any) -> bool:
    """Tell whether an answer leads nowhere, or to a page of this service."""
    leads = response.get("Location", "/")
    return bool(leads.startswith("/") and not leads.startswith(("//", "/\\")))


@pytest.mark.parametrize("name", READ)
def test_no_url_breaks_a_page_or_changes_anything(name: str, place: Place) -> None:
    """Each value is sent once or twice for each parameter; the two ways take turns, from value to value and page."""
    wrong = []
    if name == "notice":
        place.browser.get(place.url(name))  # which marks it as read
    before = rows()
    for turn, (kind, value) in enumerate(QUERIES.items(), READ.index(name)):
        parameters = PARAMETERS if len(value) < 10_000 else PARAMETERS[:8]
        sent = "{0}={1}" if turn % 2 else "{0}=1&{0}={1}&{0}[]={1}"
        query = "&".join(sent.format(parameter, value) for parameter in parameters)
        response = place.browser.get(f"{place.url(name)}?{query}")
        if not is_documented(response, name) or not is_led_within(response):
            wrong.append((kind, sent, response.status_code, getattr(response, "exc_info", None)))
    assert not wrong
    assert rows() == before


def broken_bodies() -> dict[str, tuple[str, bytes]]:
    """Return bodies that are no form, by what is wrong with them: their type and what they hold."""
    boundary = b"--x\r\nContent-Disposition: form-data; name="
    return {
        "empty": (FORM, b""),
        "json": ("application/json", b'{"name": ["a"], "type": {"a": 1}}'),
        "xml": ("text/xml", b"<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>"),
        "no type": ("", b"name=a"),
        "no boundary": ("multipart/form-data", b"name=a"),
        "another boundary": ("multipart/form-data; boundary=y", boundary + b'"name"\r\n\r\na\r\n--x--'),
        "cut off": ("multipart/form-data; boundary=x", boundary + b'"name"\r\n\r\na'),
        "bad base64": (
            "multipart/form-data; boundary=x",
            boundary + b'"name"\r\nContent-Transfer-Encoding: base64\r\n\r\n!!!\r\n--x--\r\n',
        ),
        "long boundary": (f"multipart/form-data; boundary={'x' * 500}", b"name=a"),
        "NUL in a name": (FORM, b"na%00me=a"),
        "bytes": (FORM, bytes(range(256)) * 4),
        "thousand fields": (FORM, "&".join(f"field{number}=x" for number in range(999)).encode()),
        "too many fields": (FORM, "&".join(f"name=x{number}" for number in range(2000)).encode()),
        "three megabytes": (FORM, b"name=" + b"a" * 3_000_000),
    }


@pytest.mark.parametrize("name", SENT)
def test_no_body_breaks_a_form(name: str, place: Place) -> None:
    wrong = []
    for kind, (content_type, body) in broken_bodies().items():
        response, _ = ask(place.browser, "post", place.url(name), body, content_type=content_type)
        if not is_documented(response, name):
            wrong.append((kind, response.status_code, getattr(response, "exc_info", None)))
    assert not wrong


def body_with(value: str, way: int) -> str:
    """Return a body with the value in each field, as many as there is room for: once, twice, or as one of several."""
    sent = ("{0}={1}", "{0}={1}&{0}={1}", "{0}[]={1}")[way]
    fields = [field for field in FIELDS if field != "once"][: MOST_BYTES // (len(value) + 1) + 1]
    token = idempotency.new_token() if way else value
    return "&".join([*(sent.format(field, value) for field in fields), f"once={token}"])


@pytest.mark.parametrize("name", SENT)
def test_no_field_breaks_a_form(name: str, place: Place) -> None:
    """Every field of every form takes the value; a page that comes back with it has stored nothing.

    The ways of sending it take turns, from value to value.
    """
    wrong = []
    for number, (kind, value) in enumerate(BODIES.items()):
        body = body_with(value, number % 3)
        bodies = [body]
        if name == "review":
            bodies = [f"step={step}&" + body.replace("step=", "stop=") for step in STEPS[number % 2 :: 2]]
        for body in bodies:
            response, changed = ask(place.browser, "post", place.url(name), body, content_type=FORM)
            # What this one needs is its token alone; the answer shows the secret.
            refused = response.status_code != 302 and name != "client_secret_new"
            if not is_documented(response, name) or (refused and changed) or not is_led_within(response):
                wrong.append((kind, response.status_code, changed, getattr(response, "exc_info", None)))
    assert not wrong


STEPS = ("save", "send", "preview", "start_over", "withdraw", "answer")


@pytest.mark.parametrize("name", SENT)
def test_files_instead_of_texts_and_texts_instead_of_files(name: str, place: Place) -> None:
    evil = SimpleUploadedFile("../../\u202ea\x00.svg", b"<svg onload='alert(1)'/>", "image/png")
    form: dict[str, Any] = dict.fromkeys(FIELDS, evil) | {"step": "save"}
    for fields in (form, form | {"name": "Starling", "logo": "no file"}, {"logo": evil, "step": "save", "name": "N"}):
        evil.seek(0)
        response, changed = ask(place.browser, "post", place.url(name), fields, content_type=MULTIPART_CONTENT)
        assert is_documented(response, name), getattr(response, "exc_info", None)
        assert not (response.status_code == 200 and changed)


# What stands in a path: read before anything else.
PATHS = ["9" * 18, "9223372036854775808", "9" * 400, "9" * 5000, "0", "-1", "%00", "a%00", "%ff", "..", "a" * 5000]


@pytest.mark.parametrize("path", PATHS)
def test_no_path_breaks_a_route(path: str, place: Place) -> None:
    marks = {"project_id": "p-mark", "client_id": "c-mark", "key_id": "k-mark", "version": "v-mark"}
    numbers = dict.fromkeys(("member_id", "invitation_id", "secret_id", "number"), 7654321)
    for name in sorted({*READ, *SENT}):
        for mark in (marks | numbers).items():
            url = place.url(name, **dict([mark]))
            if str(mark[1]) in url:
                for method in ("get", "post"):
                    response = getattr(place.browser, method)(url.replace(str(mark[1]), path))
                    assert response.status_code in (301, 302, 400, 404, 405), (name, mark, method)


def test_no_field_of_any_form_breaks_the_console(place: Place) -> None:
    """The forms are read off the pages, in two states of things: a form that is new is found by itself."""
    found: dict[tuple[str, tuple[str, ...]], Form] = {}

    def read() -> None:
        for name in (*READ, "account_plan"):
            url = reverse(name) if name == "account_plan" else place.url(name)
            for form in forms_on(place.browser, url, "/console/" if name in READ else "/account/plan"):
                form.fields |= {"once": [idempotency.new_token()]} if "once" in form.fields else {}
                found.setdefault((form.action, tuple(form.fields)), form)

    get_or_create_family(place.owner)
    ProjectMember.objects.create(project=place.project, account=make_account(), role=ProjectMember.Role.OWNER)
    read()
    client = Client.objects.get(project=place.project)
    fill(client, place.owner)
    developer_actions.submit(client, place.owner)
    read()
    assert len(found) > MOST_KNOWN, "the forms are read off the pages: are there so few?"
    assert send_all(place.browser, list(found.values())) == []
