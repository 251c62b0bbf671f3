"""POST /hooks/leaked-credentials: only signed reports of the right form count, and nothing else changes anything."""

import base64
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.db import connection
from django.test.utils import CaptureQueriesContext

from api.checks import check_leaked_credentials
from api.leak_report_keys import read_public_keys
from api.leak_report_views import MAX_BODY_BYTES
from api.leak_reports import MOST_ENTRIES
from api.models import ApiKey, LeakReport, ScannerKeys
from api.tasks import fetch_scanner_keys, handle_leak_reports
from core import outbound
from core.credentials import digest
from tests.api.scanning import FOUND_AT, ScannerKey, document_of, entry, send
from tests.factories import make_key, make_web_client

pytestmark = pytest.mark.django_db


@pytest.fixture
def raw(db: None) -> str:
    return make_key()[1]


def refusal(response: Any) -> tuple[int, str]:
    assert response["Content-Type"] == "application/json"
    assert response["Cache-Control"] == "no-store"
    assert set(response.json()["error"]) == {"code", "message"}
    return response.status_code, response.json()["error"]["code"]


def test_the_response_says_which_ones_are_real(scanner: ScannerKey, raw: str) -> None:
    _, secret = make_web_client()
    more = {"validity": "unknown", "nested": {"a": [1]}}  # members that GitHub may add are ignored
    of_secret = entry(secret, type="openport_client_secret", url=None, source=None)
    report = [entry(raw, **more), entry("op_key_wrong"), of_secret]
    response = send(scanner, report)
    assert response.json() == [
        {"token_hash": digest(raw), "token_type": "openport_api_key", "label": "true_positive"},
        {"token_hash": digest("op_key_wrong"), "token_type": "openport_api_key", "label": "false_positive"},
        {"token_hash": digest(secret), "token_type": "openport_client_secret", "label": "true_positive"},
    ]
    assert raw not in response.content.decode()
    assert response["Cache-Control"] == "no-store"
    empty = send(scanner, [])
    assert (empty.status_code, empty.json()) == (200, [])


# --- Signatures ---


def test_without_keys_there_is_no_endpoint(raw: str) -> None:
    assert refusal(send(ScannerKey(), [entry(raw)])) == (404, "not_found")
    assert not LeakReport.objects.exists()


def test_a_forged_signature_changes_nothing(scanner: ScannerKey, raw: str) -> None:
    body = json.dumps([entry(raw)]).encode()
    good = scanner.sign(body)
    der = base64.b64decode(good)
    forged = [
        "",
        "x",
        "é" * 20,
        "A" * 10_000,
        ScannerKey().sign(body),
        scanner.sign(b"[]"),
        scanner.sign(body + b" "),
        base64.b64encode(der[:-1]).decode(),
        base64.b64encode(der + b"\0").decode(),
        base64.b64encode(b"\x30\x06\x02\x01\x00\x02\x01\x00").decode(),
        base64.b64encode(b"\x30\x06\x02\x01\x01\x02\x01\x01").decode(),
        f"{good},{good}",
        f"{good} {good}",
        f"{good}\0",
        der.hex(),
    ]
    for signature in forged:
        response = send(scanner, body, signature=signature)
        assert refusal(response) == (401, "invalid_signature"), signature
    assert not LeakReport.objects.exists()
    assert send(scanner, body, signature=good).status_code == 200


def test_another_key_identifier_is_rejected(scanner: ScannerKey, raw: str) -> None:
    for identifier in ("", "other", "SCANNER-KEY-1", "scanner-key-1, scanner-key-1", "\0"):
        assert refusal(send(scanner, [entry(raw)], identifier=identifier)) == (401, "unknown_key"), identifier
    assert not LeakReport.objects.exists()


def test_a_key_counts_only_under_its_own_identifier(settings: Any, raw: str) -> None:
    one, other = ScannerKey("one"), ScannerKey("other")
    settings.LEAK_REPORT_KEYS = document_of(one=one.private.public_key(), other=other.private.public_key())
    assert send(one, [entry(raw)]).status_code == 200
    assert refusal(send(one, [entry(raw)], identifier="other")) == (401, "invalid_signature")


def test_nothing_is_read_of_an_unsigned_report(scanner: ScannerKey, raw: str) -> None:
    with CaptureQueriesContext(connection) as statements:
        send(scanner, [entry(raw)], signature=ScannerKey().sign(b""))
    assert not [each["sql"] for each in statements if "digest" in each["sql"]]


# --- Bodies ---


MALFORMED = [
    b"", b"{", b"\xff\xfe", b"\x00", b"null", b"7", b'"op_key_x"', b"{}", b'{"token": "x", "type": "y"}', b"[null]",
    b"[[]]", b'["op_key_x"]', b"[{}]", b'[{"token": "x"}]', b'[{"type": "x"}]', b'[{"token": null, "type": "x"}]',
    b'[{"token": 7, "type": "x"}]', b'[{"token": ["x"], "type": "x"}]', b'[{"token": "x", "type": []}]',
    b'[{"token": "x", "type": "x", "url": 7}]', b'[{"token": "x", "type": "x", "source": []}]',
    b'[{"token": "' + b"x" * 1001 + b'", "type": "x"}]', b'[{"token": "x", "type": "' + b"x" * 201 + b'"}]',
    b'[{"token": "x", "type": "x", "url": "' + b"x" * 4001 + b'"}]',
    b"[" * 100_000, b"[" * 500 + b"]" * 500, b"1" * 100_000,
]  # fmt: skip


def test_a_malformed_report_is_rejected(scanner: ScannerKey) -> None:
    for body in MALFORMED:
        assert refusal(send(scanner, body)) == (400, "malformed"), body[:60]


def test_one_wrong_entry_rejects_the_report(scanner: ScannerKey, raw: str) -> None:
    response = send(scanner, [entry(raw), entry(raw), entry(7)])
    assert refusal(response) == (400, "malformed")
    assert response.json()["error"]["message"] == "Entry 2: token must be a text."
    assert not LeakReport.objects.exists()


def test_any_text_is_looked_up(scanner: ScannerKey) -> None:
    for token in ("", "\0", "op_key_\0", "\ud800", "é", "' OR 1=1 --", "%s", "x" * 1000):
        response = send(scanner, [entry(token, type=token[:200])])
        assert (response.status_code, response.json()[0]["label"]) == (200, "false_positive"), token
    assert not LeakReport.objects.exists()


def test_ten_thousand_entries_are_rejected(scanner: ScannerKey, raw: str) -> None:
    report = [{"token": "", "type": ""}] * 10_000
    assert refusal(send(scanner, json.dumps(report, separators=(",", ":")).encode())) == (413, "too_many_entries")
    assert refusal(send(scanner, [{"token": raw, "type": ""}] * (MOST_ENTRIES + 1))) == (413, "too_many_entries")
    assert not LeakReport.objects.exists()


def test_a_huge_body_is_rejected(scanner: ScannerKey) -> None:
    for size in (MAX_BODY_BYTES + 1, 10 * MAX_BODY_BYTES):
        assert refusal(send(scanner, b" " * size)) == (413, "too_large")


def test_the_work_is_the_same_for_any_number_of_entries(scanner: ScannerKey) -> None:
    keys = [make_key()[1] for _ in range(3)]
    counts = []
    for report in ([entry(keys[0])], [entry(keys[n % 3], type=f"{n}") for n in range(MOST_ENTRIES // 2)]):
        with CaptureQueriesContext(connection) as statements:
            assert send(scanner, report).status_code == 200
        counts.append(len([each for each in statements if "SAVEPOINT" not in each["sql"]]))
    assert counts == [4, 4]  # three look-ups and one insert
    assert LeakReport.objects.count() == 1 + 3


def test_other_methods_are_rejected(scanner: ScannerKey, raw: str) -> None:
    for method in ("GET", "HEAD", "PUT", "PATCH", "DELETE"):
        response = send(scanner, [entry(raw)], method=method)
        assert (response.status_code, response["Allow"]) == (405, "POST")


# --- Replays ---


def test_a_replay_gets_the_same_response_and_changes_nothing(scanner: ScannerKey, raw: str) -> None:
    body = json.dumps([entry(raw)]).encode()
    signature = scanner.sign(body)
    first = send(scanner, body, signature=signature)
    handle_leak_reports()
    before = ApiKey.objects.values().get()
    again = [send(scanner, body, signature=signature) for _ in range(3)]
    handle_leak_reports()
    assert {each.content for each in again} == {first.content}
    assert ApiKey.objects.values().get() == before


# --- URLs that developers see ---


UNSAFE_URLS = (
    "",
    "javascript:alert(1)",
    "http://example.com/",
    "https://",
    "https://[",
    "https://github.com@evil.example/",
    "https://example.com/a b",
    "https://example.com/\0",
    "https://example.com/\u202e",
    "https://example.com/" + "x" * 500,
    "//example.com/",
)


def test_only_plain_urls_are_stored(scanner: ScannerKey, raw: str) -> None:
    for url in (FOUND_AT, *UNSAFE_URLS):
        assert send(scanner, [entry(raw, url=url)]).status_code == 200
        assert LeakReport.objects.latest("pk").url == (url if url == FOUND_AT else ""), url


# --- Keys in the settings ---


def test_unreadable_settings_stop_the_start(settings: Any) -> None:
    def problems() -> list[str | None]:
        return [found.id for found in check_leaked_credentials(None)]

    rsa_key = rsa.generate_private_key(65537, 2048).public_key()
    other_curve = ec.generate_private_key(ec.SECP384R1()).public_key()
    good = ScannerKey().private.public_key()
    assert problems() == []
    settings.LEAK_REPORT_KEYS = document_of(one=good, other=ScannerKey().private.public_key())
    assert problems() == []
    pem = good.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    for wrong in (
        "x",
        "[]",
        "7",
        "{}",
        pem,
        '{"public_keys": null}',
        '{"public_keys": []}',
        '{"public_keys": [{"key_identifier": "a"}]}',
        '{"public_keys": [{"key_identifier": "a", "key": 7}]}',
        '{"public_keys": [{"key_identifier": "a", "key": "x"}]}',
        "[" * 100_000,
        document_of(one=rsa_key),
        document_of(one=good, other=other_curve),
    ):
        settings.LEAK_REPORT_KEYS = wrong
        assert problems() == ["devportal.E042"], wrong[:80]
    settings.LEAK_REPORT_KEYS = KEYS_URL
    assert problems() == []
    settings.LEAK_REPORT_KEYS = ""
    settings.LEAKED_CREDENTIALS = "delete"
    assert problems() == ["devportal.E042"]
    assert read_public_keys("") == {}


# --- Keys that are fetched ---

KEYS_URL = "https://scanner.example/public_keys"


@pytest.fixture
def published(settings: Any, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the scanner's URL returns next: an answer, or an exception."""
    answers: list[Any] = []

    def fetch(url: str) -> outbound.Answer:
        assert url == KEYS_URL
        answer = answers.pop()
        if isinstance(answer, Exception):
            raise answer
        status, text = answer
        return outbound.Answer(url, status, "application/json", text.encode())

    settings.LEAK_REPORT_KEYS = KEYS_URL
    monkeypatch.setattr(outbound, "fetch", fetch)
    return answers


def test_fetched_keys_are_used_until_others_are_published(published: list[Any], raw: str) -> None:
    one, other = ScannerKey("one"), ScannerKey("other")
    assert refusal(send(one, [entry(raw)])) == (401, "unknown_key")
    published.append((200, one.document))
    assert fetch_scanner_keys()
    assert send(one, [entry(raw)]).status_code == 200
    assert refusal(send(other, [entry(raw)])) == (401, "unknown_key")
    published.append((200, other.document))
    assert fetch_scanner_keys()
    assert send(other, [entry(raw)]).status_code == 200
    assert refusal(send(one, [entry(raw)])) == (401, "unknown_key")
    assert ScannerKeys.objects.count() == 1


@pytest.mark.parametrize(
    "answer",
    [
        (200, ""),
        (200, "<html>"),
        (200, "{}"),
        (200, '{"public_keys": []}'),
        (404, "{}"),
        (500, ScannerKey().document),
        (200, document_of(one=ec.generate_private_key(ec.SECP384R1()).public_key())),
        outbound.OutboundRefused(outbound.Code.TIMEOUT),
    ],
    ids=["empty", "HTML", "an object", "no keys", "not found", "an error", "another curve", "a time-out"],
)
def test_the_kept_keys_stay_if_fetching_fails(
    published: list[Any], raw: str, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    key = ScannerKey()
    published.append((200, key.document))
    fetch_scanner_keys()
    published.append(answer)
    assert not fetch_scanner_keys()
    assert "could not be fetched" in caplog.text
    assert send(key, [entry(raw)]).status_code == 200


def test_keys_in_the_settings_are_not_fetched(published: list[Any], settings: Any, raw: str) -> None:
    key = ScannerKey()
    settings.LEAK_REPORT_KEYS = key.document
    assert not fetch_scanner_keys()
    assert send(key, [entry(raw)]).status_code == 200
