"""The export of one's own data: asked for, made, downloaded, gone (docs/accounts.md#export)."""

import io
import json
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.test import Client as Browser
from PIL import Image

from accounts.data_export import archive, creating, tasks
from accounts.data_export import creating as file_encryption
from accounts.models import Account, DataExport, FileToDelete, Outbox, SecurityEvent
from accounts.tasks import delete_files
from core import clock
from core.database import encryption
from core.storage import stored_files
from core.storage.stored_files import StoreUnavailable
from devportal.console.models import AuditEvent
from oidc.authorization import consent
from oidc.events.queueing import queue_for_account, queue_test
from oidc.models import Connection, EventReceiver
from oidc.values.event_types import EventType
from tests.exports import exported, files_of, unzipped
from tests.factories import PASSWORD, make_account, make_key, make_project
from tests.relying_party import RelyingParty, age_sign_in, sign_in

pytestmark = pytest.mark.django_db
DAY = 24 * 3600


@pytest.fixture(autouse=True)
def commits(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path) -> None:
    """Do at once what waits for a commit; store files in a folder of the test's own."""
    monkeypatch.setattr(transaction, "on_commit", lambda do, robust=False: do())
    settings.MEDIA_ROOT = tmp_path


@pytest.fixture
def by_worker(monkeypatch: pytest.MonkeyPatch, settings: Any) -> list[int]:
    """Have Celery make exports, with a broker that keeps what it is given; return the list."""
    queued: list[int] = []
    settings.CELERY_TASK_ALWAYS_EAGER = False
    monkeypatch.setattr("accounts.data_export.exports.queue_task", lambda task, pk: queued.append(pk))
    monkeypatch.setattr("accounts.mail.outbox.queue_task", lambda task, pk: None)
    return queued


def confirm(browser: Browser, account: Account) -> Browser:
    browser.post("/account/reauthenticate/", {"login": account.email, "password": PASSWORD})
    return browser


@pytest.fixture
def confirmed(signed_in: Browser, person: Account) -> Browser:
    """The person's browser, in which they have just confirmed that it is them."""
    return confirm(signed_in, person)


def ask(browser: Browser) -> None:
    assert browser.post("/account/export")["Location"] == "/account/data"


def page(browser: Browser) -> str:
    return browser.get("/account/data").content.decode()


def download(browser: Browser) -> dict[str, bytes]:
    response = browser.get("/account/export/file")
    assert response.status_code == 200, response.headers
    content = b"".join(response.streaming_content)  # type: ignore[attr-defined]  # missing in the stubs
    assert response["Content-Length"] == str(len(content))
    return unzipped(content)


# --- From asking to downloading ---


def test_the_lowest_settings_leave_time_to_download_it(confirmed: Browser, settings: Any) -> None:
    for name in ("EXPORT_DAYS", "EXPORTS_PER_DAY"):
        setattr(settings, name, settings.NUMBER_BOUNDS.get(name, (0, 0))[0])
    ask(confirmed)
    assert download(confirmed)


def test_a_person_asks_for_their_data_and_gets_it(confirmed: Browser, person: Account, tmp_path: Path) -> None:
    out = io.BytesIO()
    Image.new("RGB", (128, 128), "teal").save(out, "PNG")
    photo = SimpleUploadedFile("me.png", out.getvalue(), "image/png")
    confirmed.post("/account/profile", {"given_name": "Ada", "family_name": "Lovelace", "picture": photo})
    make_account("bob@example.com")
    ask(confirmed)
    assert "is ready" in page(confirmed)
    response = confirmed.get("/account/export/file")
    assert response["Content-Disposition"].startswith('attachment; filename="your-data-')
    assert response["Content-Type"] == "application/zip"
    assert "no-store" in response["Cache-Control"]
    held = download(confirmed)
    assert set(held) == {archive.PAGE, archive.DOCUMENT, archive.PHOTO}
    assert Image.open(io.BytesIO(held[archive.PHOTO])).format == "WEBP"
    assert json.loads(held[archive.DOCUMENT])["profile"]["email"] == "ada@example.com"
    text = (held[archive.DOCUMENT] + held[archive.PAGE]).decode()
    for nobodys in ("bob@example.com", "pbkdf2", "md5$", "token_checksum"):
        assert nobodys not in text
    kinds = SecurityEvent.objects.filter(account=person).values_list("kind", flat=True)
    assert {"export_asked", "export_downloaded"} <= set(kinds)
    audited = AuditEvent.objects.filter(action__startswith="account.export").values_list("action", flat=True)
    assert {*audited} == {"account.export_asked", "account.export_downloaded"}


def test_the_page_reads_without_script_or_anything_from_elsewhere(confirmed: Browser, person: Account) -> None:
    Account.objects.filter(pk=person.pk).update(given_name="<script>alert(1)</script>")
    html = files_of(Account.objects.get(pk=person.pk))[archive.PAGE].decode()
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    for outside in ('src="http', "url(", "@import", "<link", "<iframe"):
        assert outside not in html


@pytest.mark.parametrize(("method", "path"), [("post", "/account/export"), ("get", "/account/export/file")])
def test_nobody_gets_an_export_without_confirming_their_identity(
    signed_in: Browser, person: Account, method: str, path: str
) -> None:
    DataExport.objects.create(account=person, asked_at=clock.now())
    age_sign_in(signed_in, 301)
    response = getattr(signed_in, method)(path)
    assert response["Location"].startswith("/account/reauthenticate/")
    assert DataExport.objects.count() == 1


def test_after_confirming_the_download_starts(signed_in: Browser, person: Account) -> None:
    ask(confirm(signed_in, person))
    again = sign_in(Browser(), person)
    age_sign_in(again, 301)
    way = again.get("/account/export/file")["Location"]
    back = again.post(way, {"login": person.email, "password": PASSWORD, "next": "/account/data?confirmed=1"})
    assert back["Location"] == "/account/data?confirmed=1"
    assert 'http-equiv="refresh" content="1; url=/account/export/file"' in again.get(back["Location"]).content.decode()


def test_exports_of_others_can_not_be_downloaded(confirmed: Browser, person: Account) -> None:
    ask(confirmed)
    other = make_account("eve@example.com")
    eve = confirm(sign_in(Browser(), other), other)
    assert eve.get("/account/export/file")["Location"] == "/account/data"
    assert "is ready" not in page(eve)
    assert Browser().get("/account/export/file")["Location"].startswith("/account/login/")
    row = DataExport.objects.get()
    for path in (f"/uploads/{row.file}", f"/media/{row.file}", f"/{row.file}"):
        assert confirmed.get(path).status_code == 404


def test_the_stored_file_is_unreadable(confirmed: Browser, person: Account, tmp_path: Path) -> None:
    ask(confirmed)
    (stored,) = tmp_path.rglob("*.encrypted")
    content = stored.read_bytes()
    assert b"PK\x03\x04" not in content
    assert b"ada@example.com" not in content
    assert len(stored.name.partition(".")[0]) == creating.NAME_LENGTH
    assert not FileToDelete.objects.exists()


def test_the_mail_links_to_the_page_and_holds_nothing(confirmed: Browser, person: Account) -> None:
    ask(confirmed)
    mail = Outbox.objects.get(subject__contains="Your data is ready")
    assert mail.to == person.email
    assert "/account/data" in mail.body
    assert "/account/export/file" not in mail.body
    assert DataExport.objects.get().file not in mail.body + mail.html


def test_without_a_mail_an_export_is_ready_too(confirmed: Browser, person: Account) -> None:
    person.email = "anna@straße.example"  # Django accepts it, no mail server does (core/mail.py)
    person.save(update_fields=["email"])
    ask(confirmed)
    assert DataExport.objects.get().state == "ready"


def test_two_clicks_make_one_export(confirmed: Browser, by_worker: list[int]) -> None:
    ask(confirmed)
    ask(confirmed)
    assert by_worker == [DataExport.objects.get().pk]
    assert "We are creating your export" in page(confirmed)
    assert tasks.make_export(by_worker[0])
    assert not tasks.make_export(by_worker[0])  # a task that comes twice
    assert "is ready" in page(confirmed)
    assert Outbox.objects.filter(subject__contains="ready").count() == 1


def test_exports_per_day_are_limited(confirmed: Browser, settings: Any, later: Callable[[float], None]) -> None:
    settings.EXPORTS_PER_DAY = 2
    for _ in range(3):
        ask(confirmed)
    assert DataExport.objects.count() == 2
    assert "within a day" in page(confirmed)
    later(DAY + 1)
    ask(confirmed)
    assert DataExport.objects.count() == 3


def test_a_new_export_replaces_the_previous_one(confirmed: Browser, tmp_path: Path) -> None:
    ask(confirmed)
    (first,) = tmp_path.rglob("*.encrypted")
    ask(confirmed)
    (second,) = tmp_path.rglob("*.encrypted")
    assert first != second


# --- What goes wrong ---


def test_a_large_export_is_left_to_the_periodic_task(
    confirmed: Browser, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("accounts.data_export.exports.INLINE_SECONDS", -1.0)
    ask(confirmed)
    row = DataExport.objects.get()
    assert (row.attempts, row.claimed_until, row.state) == (0, None, "making")
    assert not list(tmp_path.rglob("*.encrypted"))
    assert tasks.make_waiting_exports() == 1
    assert "is ready" in page(confirmed)


def test_a_failed_export_is_retried_and_then_marked_as_failed(
    confirmed: Browser, monkeypatch: pytest.MonkeyPatch, later: Callable[[float], None], tmp_path: Path
) -> None:
    def broken(*args: Any, **options: Any) -> None:
        raise StoreUnavailable("full")

    with monkeypatch.context() as patch:
        patch.setattr(stored_files, "save_file", broken)
        ask(confirmed)
        for _ in range(creating.MOST_ATTEMPTS - 1):
            assert "We are creating your export" in page(confirmed)
            later(5 * 60)
            tasks.make_waiting_exports()
    assert DataExport.objects.get().failed_at is not None
    assert "Your last export failed" in page(confirmed)
    confirm(confirmed, Account.objects.get())
    ask(confirmed)
    assert "is ready" in page(confirmed)


def test_an_export_of_a_lost_worker_does_not_stay_in_progress(
    confirmed: Browser, by_worker: list[int], later: Callable[[float], None]
) -> None:
    ask(confirmed)
    assert creating._claim(by_worker[0]) is not None  # and is killed
    assert tasks.make_waiting_exports() == 0
    later(creating.CLAIM.total_seconds() + 1)
    assert tasks.make_waiting_exports() == 1
    assert DataExport.objects.get().state == "ready"


def test_a_missing_worker_is_reported_after_an_hour(
    confirmed: Browser, person: Account, by_worker: list[int], later: Callable[[float], None]
) -> None:
    ask(confirmed)
    later(3601)
    assert "Your last export failed" in page(confirmed)
    ask(confirm(confirmed, person))
    assert [row.state for row in DataExport.objects.order_by("pk")] == ["failed", "making"]


def test_a_process_that_dies_after_storing_leaves_no_file(
    confirmed: Browser, monkeypatch: pytest.MonkeyPatch, later: Callable[[float], None], tmp_path: Path
) -> None:
    monkeypatch.setattr("accounts.profile.files._discard", lambda name: None)  # as it has no time to
    monkeypatch.setattr(creating, "_finish", lambda *args: 1 / 0)
    ask(confirmed)
    assert list(tmp_path.rglob("*.encrypted"))
    later(creating.CLAIM.total_seconds() + 1)
    assert delete_files() == 1
    assert not list(tmp_path.rglob("*.encrypted"))


def test_a_missing_or_damaged_file_shows_an_error(confirmed: Browser, tmp_path: Path) -> None:
    ask(confirmed)
    (stored,) = tmp_path.rglob("*.encrypted")
    stored.write_bytes(b"spoiled\n" + stored.read_bytes())
    assert confirmed.get("/account/export/file")["Location"] == "/account/data"
    assert "no longer be read" in page(confirmed)
    stored.unlink()
    assert confirmed.get("/account/export/file")["Location"] == "/account/data"


def test_export_chunks_can_not_be_removed_moved_or_swapped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_encryption, "PIECE", 10)
    encrypted = io.BytesIO()
    file_encryption.encrypt_file(io.BytesIO(b"0123456789" * 3), encrypted, 7)
    lines = encrypted.getvalue().splitlines(keepends=True)

    def opened(*order: int, owner: int = 7) -> bytes:
        return b"".join(file_encryption.decrypt_file(io.BytesIO(b"".join(lines[place] for place in order)), owner))

    assert opened(0, 1, 2) == b"0123456789" * 3
    for order in ((0, 1), (1, 2), (0, 2, 1), (0, 1, 1, 2), ()):
        with pytest.raises(encryption.Unreadable):
            opened(*order)
    with pytest.raises(encryption.Unreadable):
        opened(0, 1, 2, owner=8)


def test_inactive_accounts_get_no_export(confirmed: Browser, person: Account, by_worker: list[int]) -> None:
    ask(confirmed)
    Account.objects.filter(pk=person.pk).update(is_active=False)
    assert not tasks.make_export(by_worker[0])
    assert DataExport.objects.get().state == "failed"


# --- Its end ---


def test_an_export_is_deleted_after_some_days(
    confirmed: Browser, person: Account, later: Callable[[float], None], tmp_path: Path
) -> None:
    ask(confirmed)
    later(7 * DAY - 60)
    assert tasks.clear_exports() == 0
    assert "is ready" in page(sign_in(Browser(), person))
    later(61)
    other = confirm(sign_in(Browser(), person), person)
    assert other.get("/account/export/file")["Location"] == "/account/data"  # before the task comes too
    assert tasks.clear_exports() == 1
    assert not list(tmp_path.rglob("*.encrypted"))
    assert not DataExport.objects.exists()


# --- What is in it ---


def test_ids_keys_and_apps_are_in_it(app: RelyingParty, person: Account) -> None:
    app.tokens()
    sub = app.call("/connect/userinfo", app.tokens()["access_token"]).json()["sub"]
    project = make_project(person, name="Lighthouse")
    key, raw = make_key(project, person)
    held = exported(person)
    (known,) = [row for row in held["ids"] if row["sub"] == sub]
    assert (known["project"], held["connected_apps"][0]["app"]) == ("Orbit Notes", "Orbit Notes")
    assert held["connected_apps"][0]["scopes"]
    assert [row["name"] for row in held["keys"]] == [key.name]
    assert raw not in json.dumps(held)
    assert held["security_activity"] == [] or held["security_activity"][0]["what"]


def test_a_thousand_rows_are_read_a_few_at_a_time(
    person: Account, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    monkeypatch.setattr(archive, "ROWS_PER_QUERY", 3)
    monkeypatch.setattr(archive, "ROWS_AT_ONCE", 2)
    at = clock.now()
    SecurityEvent.objects.bulk_create(
        SecurityEvent(account=person, kind="password_changed", at=at - timedelta(days=number)) for number in range(10)
    )
    assert len(exported(person)["security_activity"]) == 10
    page = files_of(person)[archive.PAGE].decode()
    assert page.count(">Password changed\n") == 10
    with django_assert_num_queries(5):
        assert len(list(archive.rows_of(SecurityEvent.objects.filter(account=person)))) == 10


def text_of(html: str) -> str:
    return " ".join(re.sub("<[^>]*>", " ", html).split())


def section(html: str, name: str) -> str:
    return text_of(html.split(f'<section id="{name}"')[1].split("</section>")[0])


def test_the_page_has_no_empty_sections(person: Account) -> None:
    html = files_of(person)[archive.PAGE].decode()
    assert re.findall(r'<section id="(\w+)"', html) == re.findall(r'<li><a href="#(\w+)">', html)
    assert 'id="profile"' in html
    for empty in ("keys", "recoveries", "plan", "connected_apps"):
        assert f'id="{empty}"' not in html
    assert exported(person)["keys"] == []
    assert "Time zone" not in section(html, "profile")


def test_the_page_says_what_a_removed_app_could_see(app: RelyingParty, person: Account) -> None:
    app.tokens(scope="openid email")
    assert "It can" in section(files_of(person)[archive.PAGE].decode(), "connected_apps")
    consent.remove_consent(Connection.objects.get(account=person))
    shown = section(files_of(person)[archive.PAGE].decode(), "connected_apps")
    assert "See your email address" in shown
    assert "openid" not in shown
    (row,) = exported(person)["connected_apps"]
    assert (row["scopes"], row["removed_scopes"], row["can"]) == ([], ["openid", "email"], [])


def test_an_allowed_app_has_no_former_access(app: RelyingParty, person: Account) -> None:
    app.tokens(scope="openid email")
    consent.remove_consent(Connection.objects.get(account=person))
    app.tokens(scope="openid")
    (row,) = exported(person)["connected_apps"]
    assert (row["scopes"], row["could"]) == (["openid"], [])


def test_the_events_that_apps_were_told_are_in_it(app: RelyingParty, person: Account) -> None:
    app.tokens(scope="openid")
    receiver = EventReceiver.objects.create(client=app.client, channel="events", url="https://app.example.com/")
    queue_test(receiver)  # about nobody
    consent.remove_consent(Connection.objects.get(account=person))
    (row,) = exported(person)["events_to_apps"]
    assert (row["app"], row["event"], row["state"]) == ("Orbit Notes", "tokens-revoked", "waiting")
    shown = section(files_of(person)[archive.PAGE].decode(), "events_to_apps")
    assert "You removed the app" in shown
    assert "tokens-revoked" not in shown
    assert not list(exported(make_account("other@example.com"))["events_to_apps"])


def test_each_event_about_a_person_has_a_sentence_in_it(app: RelyingParty, person: Account) -> None:
    app.tokens(scope="openid")
    app.client.project.members.create(account=person, role="viewer")  # others only if it is reviewed
    EventReceiver.objects.create(client=app.client, channel="events", url="https://app.example.com/")
    for event in EventType.choosable():
        queue_for_account(event, person)
    rows = exported(person)["events_to_apps"]
    assert len({row["what"] for row in rows}) == len(rows) == len(EventType.choosable())


def test_times_on_the_page_are_in_the_zone_of_the_account(person: Account) -> None:
    person.time_zone = "Asia/Kathmandu"
    assert re.search(r"created \d+ \w+ \d{4}, \d\d:\d\d UTC\+05:45", files_of(person)[archive.PAGE].decode())
