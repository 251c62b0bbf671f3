"""/leaked-credentials: the same response and the same work for every text, which appears nowhere again."""

import logging
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext

from api.leak_reports import LONGEST_TEXT, MOST_CANDIDATES
from api.models import ApiKey, LeakReport
from api.tasks import handle_leak_reports
from core import clock
from oidc.models import AccessToken, ClientSecret, TokenFamily
from tests.api.scanning import PAGE, paste
from tests.factories import make_access_token, make_account, make_client, make_key, make_project, make_web_client

pytestmark = pytest.mark.django_db
ID_TOKEN = "eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ." + "e" * 300 + "." + "s" * 342


def texts() -> dict[str, str]:
    """Return what people may paste, by what it is."""
    project = make_project()
    client = make_client(project)
    _key, raw = make_key(project)
    return {
        "a key": raw,
        "an expired key": make_key(project, expires_at=clock.now())[1],
        "a mistyped key": raw[:-1] + ("a" if raw[-1] != "a" else "b"),
        "an unknown key": "op_key_" + "a" * 12 + "_" + "b" * 49,
        "half a key": raw[:30],
        "a secret": make_web_client(project)[1],
        "an unknown secret": "op_secret_" + "c" * 43,
        "an access token": make_access_token(client, make_account()),
        "an ID token": ID_TOKEN,
        "a password": "correct horse",
        "SQL": "' OR 1=1 --",
        "HTML": "<script>alert(1)</script>",
    }


def shape(response: Any) -> tuple[Any, ...]:
    """Return everything of a response that depends on the text, if anything does."""
    headers = {name: value for name, value in response.items() if name not in ("X-Request-ID", "Expires")}
    return response.status_code, headers, response.content


def test_every_text_gets_the_same_response() -> None:
    shapes = {what: shape(paste(text)) for what, text in texts().items()}
    assert {str(each) for each in shapes.values()} == {str(shapes["a key"])}
    assert shapes["a key"][:1] == (302,)
    assert shapes["a key"][1]["Location"] == "/leaked-credentials/sent"


def test_real_and_unknown_keys_take_the_same_work() -> None:
    work = {}
    for what, text in texts().items():
        with CaptureQueriesContext(connection) as statements:
            paste(text)
        work[what] = [re.sub(r"'[^']*'", "?", each["sql"]) for each in statements if "SAVEPOINT" not in each["sql"]]
    assert {len(each) for each in work.values()} == {1}
    assert all(each[0].startswith("INSERT") for each in work.values())
    with CaptureQueriesContext(connection) as statements:
        Browser().get("/leaked-credentials/sent")
    assert len(statements) == 0


def test_only_keys_and_secrets_end() -> None:
    pasted = texts()
    for text in pasted.values():
        paste(text)
    handle_leak_reports()
    assert ApiKey.objects.filter(revoked_at=None).count() == 1  # the expired one
    assert not ClientSecret.objects.filter(revoked_at=None).exists()
    assert TokenFamily.objects.get().revoked_at is None
    assert AccessToken.objects.exists()
    assert not LeakReport.objects.exists()


def test_nothing_of_a_guessed_key_changes() -> None:
    key, raw = make_key()
    for guess in (raw[:-1], raw + "a", raw.lower(), raw.upper(), key.public_id, raw[7:], f"x{raw}", raw[::-1]):
        paste(guess)
    handle_leak_reports()
    key.refresh_from_db()
    assert (key.revoked_at, key.leaked_at) == (None, None)


@pytest.mark.parametrize(
    "text", ["", " \n\t", "op_key_\0" + "x" * 60, "x" * (LONGEST_TEXT + 1), "op_key_" + "x" * LONGEST_TEXT, "\0"]
)
def test_an_unusable_text_is_an_error_in_the_form_and_not_shown_again(text: str) -> None:
    response = paste(text)
    assert response.status_code == 200
    page = response.content.decode()
    assert 'id="id_credential_error"' in page
    assert "xxxx" not in page
    assert re.search(r"<textarea[^>]*>\s*</textarea>", page)
    assert not LeakReport.objects.exists()


def test_a_huge_body_stores_nothing() -> None:
    assert 400 <= paste("x" * 10_000_000).status_code < 500
    assert not LeakReport.objects.exists()


def test_a_text_full_of_words_stores_few_rows() -> None:
    paste(" ".join(f"{n:043}" for n in range(45)))
    assert LeakReport.objects.count() == MOST_CANDIDATES


def test_the_text_is_in_no_url_log_or_row(caplog: Any) -> None:
    caplog.set_level(logging.DEBUG)
    _, raw = make_key()
    response = paste(raw)
    assert raw not in str(response.headers) + response.content.decode()
    handle_leak_reports()
    paste(raw + "\0")
    Browser(enforce_csrf_checks=True).post(PAGE, {"credential": raw})
    assert raw[10:] not in caplog.text
    paste(raw)
    assert raw[10:] not in str(list(LeakReport.objects.values()))


def test_the_text_is_hidden_from_error_reports(monkeypatch: Any) -> None:
    def fail(text: str) -> None:
        raise RuntimeError

    monkeypatch.setattr("api.leak_reports.take_pasted", fail)
    request = paste("op_key_planted").wsgi_request
    assert request.sensitive_post_parameters == "__ALL__"


def test_a_key_in_the_query_counts_for_nothing() -> None:
    _key, raw = make_key()
    assert Browser().get(f"{PAGE}?credential={raw}").status_code == 200
    page = Browser().post(f"{PAGE}?credential={raw}", {})
    assert raw not in page.content.decode()
    assert not LeakReport.objects.exists()


def test_repeated_fields_are_no_error() -> None:
    response = Browser().post(PAGE, {"credential": ["a" * 50, "b" * 50]})
    assert response.status_code == 302
    assert LeakReport.objects.count() == 1


def test_the_page_starts_no_session() -> None:
    browser = Browser()
    browser.get(PAGE)
    browser.post(PAGE, {"credential": "op_key_x"})
    assert not [name for name in browser.cookies if "session" in name]
