"""Uploaded files on disk and in an object store: the same journeys on both, and a store that is lost."""

import io
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.core.exceptions import SuspiciousOperation
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import DatabaseError, transaction
from django.test import Client as Browser
from django.urls import reverse
from PIL import Image

from accounts.data_export import archive, exports
from accounts.deletion import deleting
from accounts.models import Account, FileToDelete
from accounts.profile import files
from accounts.tasks import delete_files
from core.environment import Env
from core.settings_checks import find_dangers
from core.storage import object_store, stored_files
from core.storage.stored_files import StoreUnavailable
from devportal.review.submission import developer_actions
from oidc.checks import check_media_storage
from oidc.domains.branding import clean_logo
from oidc.models import Client
from tests.devportal.review.reviewing import BRANDING
from tests.exports import unzipped
from tests.factories import make_client, make_project
from tests.relying_party import RelyingParty
from tests.services import keeper
from tests.services.object_store import KEY, SECRET, ObjectStore, start

pytestmark = pytest.mark.django_db
Listing = Callable[[], list[str]]


@pytest.fixture(autouse=True)
def commits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Do at once what waits for a commit, in tests whose transaction never ends."""
    mark = request.node.get_closest_marker("django_db")
    if not mark.kwargs.get("transaction"):
        monkeypatch.setattr(transaction, "on_commit", lambda do, robust=False: do())


@pytest.fixture(scope="module")
def server() -> Iterator[ObjectStore]:
    with start() as running:
        yield running


def use(settings: Any, host: str, path: str, query: str = "scheme=http") -> None:
    url = f"s3://{KEY}:{quote(SECRET, safe='')}@{host}/{path}?{query}"
    default = {"BACKEND": object_store.BACKEND, "OPTIONS": object_store.storage_options(url)}
    settings.STORAGES = settings.STORAGES | {"default": default}


@pytest.fixture
def bucket(server: ObjectStore, settings: Any, request: pytest.FixtureRequest) -> str:
    """The service's own bucket on the server."""
    name = f"b{abs(hash(request.node.nodeid))}"
    server.client.create_bucket(Bucket=name)
    use(settings, f"127.0.0.1:{server.port}", f"{name}/openport")
    return name


@pytest.fixture(params=["disk", "object store"])
def stored(request: pytest.FixtureRequest, settings: Any, tmp_path: Path) -> Listing:
    """Lists what is stored, on either store."""
    if request.param == "disk":
        settings.MEDIA_ROOT = tmp_path / "media"
        return lambda: [
            str(path.relative_to(tmp_path / "media")) for path in (tmp_path / "media").rglob("*") if path.is_file()
        ]
    server, bucket = request.getfixturevalue("server"), request.getfixturevalue("bucket")
    return lambda: [name.removeprefix("openport/") for name in server.names(bucket)]


def image(colour: str = "red") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (128, 128), colour).save(out, "PNG")
    return out.getvalue()


def upload(browser: Browser, data: bytes | None, **more: Any) -> Any:
    fields: dict[str, Any] = {"given_name": "Ada", "family_name": "Lovelace"} | more
    if data is not None:
        fields["picture"] = SimpleUploadedFile("me.png", data, "image/png")
    return browser.post("/account/profile", fields)


# --- The same on both ---


def test_a_photo_is_uploaded_shown_and_deleted(stored: Listing, app: RelyingParty, person: Account) -> None:
    browser = app.browser
    assert upload(browser, image()).status_code == 302
    (first,) = stored()
    assert first.startswith("pictures/")
    own = browser.get("/account/picture")
    assert (own.status_code, own["Content-Type"]) == (200, "image/webp")
    assert Image.open(io.BytesIO(own.content)).size == (128, 128)
    url = app.call("/connect/userinfo", app.tokens()["access_token"]).json()["picture"]
    shown = Browser().get(url.removeprefix("http://localhost:8000"))
    assert shown.status_code == 200
    assert first.partition("/")[2] not in str(shown.headers)
    assert browser.get("/account/").status_code == 200
    # Another one takes its place; the name alone changes; it is removed.
    assert upload(browser, image("blue")).status_code == 302
    (second,) = stored()
    assert second != first
    upload(browser, None, given_name="Augusta")
    assert stored() == [second]
    upload(browser, None, **{"picture-clear": "on"})
    assert stored() == []
    assert browser.get("/account/picture").status_code == 404
    assert not FileToDelete.objects.exists()


def test_a_photo_goes_with_its_account(stored: Listing, signed_in: Browser, person: Account) -> None:
    upload(signed_in, image())
    deleting.delete_account(Account.objects.get(pk=person.pk))
    assert stored() == []


def test_an_export_is_stored_read_back_and_goes_with_its_account(
    stored: Listing, signed_in: Browser, person: Account
) -> None:
    upload(signed_in, image())
    row = exports.ask(person, signed_in.get("/account/").wsgi_request)
    assert sorted(name.partition("/")[0] for name in stored()) == ["exports", "pictures"]
    row.refresh_from_db()
    assert set(unzipped(b"".join(exports.pieces_of(row)))) == {archive.PAGE, archive.DOCUMENT, archive.PHOTO}
    deleting.delete_account(Account.objects.get(pk=person.pk))
    assert stored() == []


def test_a_photo_whose_row_was_not_saved_is_not_kept(
    stored: Listing, signed_in: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise DatabaseError

    monkeypatch.setattr(Account, "save", fail)
    signed_in.raise_request_exception = False
    assert upload(signed_in, image()).status_code == 503
    assert stored() == []


def test_a_logo_is_uploaded_shown_and_deleted(stored: Listing, signed_in: Browser, person: Account) -> None:
    client = make_client(make_project(person))
    developer_actions.save_submission(client, person, {}, logo=clean_logo(io.BytesIO(image())))
    (first,) = stored()
    client.refresh_from_db()
    page = reverse("console:branding", args=[client.project.public_id, client.client_id])
    shown = signed_in.get(signed_in.get(page).context["logo"])
    assert (shown.status_code, shown["Content-Type"]) == (200, "image/webp")
    developer_actions.save_submission(client, person, {}, logo=clean_logo(io.BytesIO(image("blue"))))
    (second,) = stored()
    assert first != second
    Client.objects.get(pk=client.pk).delete()
    assert stored() == []


PERSON = """
[[people]]
email = "dana@example.com"
password = "correct horse 9"
picture = "dana.png"
"""


def provision(folder: Path, text: str) -> None:
    (folder / "dana.png").write_bytes(image())
    (folder / "file.toml").write_text(text, encoding="utf-8")
    call_command("provision", str(folder / "file.toml"))


def test_a_provisioned_picture_is_stored_once(stored: Listing, tmp_path: Path) -> None:
    provision(tmp_path, PERSON)
    (first,) = stored()
    provision(tmp_path, PERSON)
    assert stored() == [first]
    (tmp_path / "other.png").write_bytes(image("blue"))
    provision(tmp_path, PERSON.replace("dana.png", "other.png"))
    (second,) = stored()
    assert second != first


def test_a_provision_that_fails_leaves_no_picture(stored: Listing, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="owner"):
        provision(tmp_path, PERSON + '[[projects]]\nname = "P"\nowner = "nobody@example.com"\n')
    assert not Account.objects.exists()
    assert stored() == []


def test_a_missing_file_is_404_and_its_deletion_no_fault(stored: Listing, signed_in: Browser, person: Account) -> None:
    Account.objects.filter(pk=person.pk).update(picture="pictures/gone.webp")
    assert signed_in.get("/account/picture").status_code == 404
    assert upload(signed_in, None, **{"picture-clear": "on"}).status_code == 302
    assert not FileToDelete.objects.exists()


# --- In the object store ---


def test_objects_are_private_and_have_no_address(server: ObjectStore, bucket: str, signed_in: Browser) -> None:
    upload(signed_in, image())
    (name,) = server.names(bucket)
    grants = server.client.get_object_acl(Bucket=bucket, Key=name)["Grants"]
    assert [grant["Grantee"]["Type"] for grant in grants] == ["CanonicalUser"]
    assert server.client.head_object(Bucket=bucket, Key=name)["ContentType"] == "image/webp"
    account = Account.objects.get()
    assert account.picture.url == f"/uploads/{account.picture.name}"
    assert signed_in.get(account.picture.url).status_code == 404


@pytest.mark.parametrize("name", ["../x.webp", "/etc/passwd", "pictures/../../x"])
def test_a_name_leads_to_no_other_folder(bucket: str, name: str) -> None:
    with pytest.raises(SuspiciousOperation):
        default_storage.save(name, ContentFile(b"x"))


# --- A store that is lost ---


@pytest.fixture
def gone(settings: Any) -> None:
    """Nobody listens."""
    use(settings, f"127.0.0.1:{keeper.free_port()}", "bucket")


@pytest.fixture
def silent(settings: Any) -> Iterator[None]:
    """Connections are taken, and never answered."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        use(settings, f"127.0.0.1:{listening.getsockname()[1]}", "bucket")
        yield


@pytest.fixture
def no_bucket(server: ObjectStore, settings: Any) -> None:
    use(settings, f"127.0.0.1:{server.port}", "none-such")


@pytest.fixture
def full_disk(settings: Any, tmp_path: Path) -> None:
    (tmp_path / "media").write_text("a file, where a folder should be")
    settings.MEDIA_ROOT = tmp_path / "media"


@pytest.fixture(params=["gone", "no_bucket", "full_disk"])
def lost(request: pytest.FixtureRequest) -> None:
    request.getfixturevalue(request.param)


def test_a_failed_photo_upload_changes_nothing(lost: None, signed_in: Browser, person: Account) -> None:
    answer = upload(signed_in, image(), given_name="Augusta")
    assert answer.status_code == 503
    assert "The photo could not be stored." in answer.content.decode()
    person.refresh_from_db()
    assert (person.given_name, person.picture.name) == ("Ada", "")
    assert upload(signed_in, None, given_name="Augusta").status_code == 302


def test_a_failed_logo_upload_changes_nothing(lost: None, signed_in: Browser, person: Account) -> None:
    client = make_client(make_project(person))
    page = reverse("console:branding", args=[client.project.public_id, client.client_id])
    logo = SimpleUploadedFile("logo.png", image(), "image/png")
    answer = signed_in.post(page, BRANDING | {"step": "save", "logo": logo})
    assert "The logo could not be stored." in answer.content.decode()
    client.refresh_from_db()
    assert not client.logo


def test_provisioning_reports_a_failed_upload(lost: None, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="can't be stored"):
        provision(tmp_path, PERSON)
    assert not Account.objects.exists()


def test_a_photo_is_503_without_the_store_and_not_cached(gone: None, signed_in: Browser, person: Account) -> None:
    Account.objects.filter(pk=person.pk).update(picture="pictures/x.webp")
    answer = signed_in.get("/account/picture")
    assert (answer.status_code, answer["Retry-After"]) == (503, "30")
    assert "no-store" in answer["Cache-Control"]


def test_an_account_is_deleted_anyway_and_its_photo_later(
    server: ObjectStore, bucket: str, settings: Any, signed_in: Browser, person: Account, later: Callable[[float], None]
) -> None:
    upload(signed_in, image())
    working = settings.STORAGES
    use(settings, f"127.0.0.1:{keeper.free_port()}", f"{bucket}/openport")
    deleting.delete_account(Account.objects.get(pk=person.pk))
    assert not Account.objects.exists()
    assert len(server.names(bucket)) == 1
    assert FileToDelete.objects.get().attempts == 1
    assert delete_files() == 0  # not yet due
    later(31)
    assert delete_files() == 0
    assert FileToDelete.objects.get().attempts == 2
    settings.STORAGES = working
    later(61)
    assert delete_files() == 1
    assert server.names(bucket) == []
    assert not FileToDelete.objects.exists()


def test_files_left_by_a_failure_are_noted_while_the_store_is_down(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path

    def store_and_lose_it() -> None:
        with files.discarded_on_failure(), transaction.atomic():
            files.store("pictures/", ContentFile(b"x", name="x.webp"))
            use(settings, f"127.0.0.1:{keeper.free_port()}", "bucket")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        store_and_lose_it()
    assert FileToDelete.objects.get().name == "pictures/x.webp"


@pytest.mark.django_db(transaction=True)
def test_a_crash_after_the_commit_leaves_no_file_behind(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, later: Callable[[float], None]
) -> None:
    settings.MEDIA_ROOT = tmp_path
    name = default_storage.save("pictures/x.webp", ContentFile(b"x"))
    with monkeypatch.context() as crash:
        crash.setattr(files, "_delete", lambda row: None)
        with transaction.atomic():
            files.delete_on_commit(name)
    assert default_storage.exists(name)
    with transaction.atomic():  # what is rolled back deletes nothing
        files.delete_on_commit("pictures/other.webp")
        transaction.set_rollback(True)
    assert FileToDelete.objects.get().name == name
    later(31)
    assert delete_files() == 1
    assert not default_storage.exists(name)


@pytest.mark.slow
def test_a_store_that_is_down_delays_only_the_first_requests(silent: None, signed_in: Browser, person: Account) -> None:
    Account.objects.filter(pk=person.pk).update(picture="pictures/x.webp")
    began = time.monotonic()
    assert signed_in.get("/account/picture").status_code == 503
    first = time.monotonic() - began
    assert 5 < first < 9
    began = time.monotonic()
    assert [signed_in.get("/account/picture").status_code for _ in range(5)] == [503] * 5
    assert time.monotonic() - began < 1


def test_a_store_that_is_back_is_asked_again(server: ObjectStore, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    backend: Any = default_storage
    name = stored_files.save_file("pictures/", ContentFile(b"x", name="x.webp"))
    monkeypatch.setattr(backend.client.meta.events, "emit_until_response", fail_to_connect)
    with pytest.raises(StoreUnavailable):
        stored_files.read_file(name)
    monkeypatch.undo()
    with pytest.raises(StoreUnavailable):
        stored_files.read_file(name)
    now = time.monotonic()
    monkeypatch.setattr("core.storage.s3.time.monotonic", lambda: now + stored_files.RETRY_SECONDS)
    assert stored_files.read_file(name) == b"x"
    assert stored_files.read_file(name) == b"x"


def fail_to_connect(*args: Any, **kwargs: Any) -> None:
    raise ConnectionError("planted")


# --- The setting ---


def test_the_setting_is_read_part_by_part() -> None:
    assert object_store.storage_options("s3://k%2Fey:s%40c@s3.example.com:9000/pics/open/port?region=eu-central-1") == {
        "access_key": "k/ey",
        "secret_key": "s@c",
        "bucket_name": "pics",
        "location": "open/port",
        "endpoint_url": "https://s3.example.com:9000",
        "region_name": "eu-central-1",
        "addressing_style": "path",
    }
    of_the_machine = object_store.storage_options("s3://s3.example.com/pics")
    assert (of_the_machine["access_key"], of_the_machine["secret_key"]) == (None, None)


WRONG_URLS = [
    "https://key:hidden@s3.example.com/pics",
    "s3://key:hidden@s3.example.com",
    "s3://key:hidden@s3.example.com/",
    "s3://hidden@s3.example.com/pics",
    "s3://key:hidden@/pics",
    "s3://key:hidden@s3.example.com:x/pics",
    "s3://key:hidden@[s3/pics",
    "s3://key:hidden@s3.example.com/pics?scheme=ftp",
    "s3://key:hidden@s3.example.com/pics?acl=public-read",
    "s3://key:hidden@s3.example.com/pics?hidden",
    "s3://key:hidden@s3.example.com/pics#hidden",
    # botocore would reject these at the first picture.
    "s3://key:hidden@s3 example.com/pics",
    "s3://key:hidden@s3_store/pics",
    "s3://key:hidden@[::g]/pics",
    "s3://key:hidden@s3.example.com/my pics",
    "s3://key:hidden@s3.example.com/pics?region=eu central",
]


def test_a_wrong_setting_is_named_without_its_value() -> None:
    for url in WRONG_URLS:
        with pytest.raises(ValueError, match="MEDIA_STORAGE_URL") as refused:
            object_store.storage_options(url)
        assert "hidden" not in str(refused.value)
        env = Env()
        assert env.object_store(url) == {}
        assert env.problems == [str(refused.value)]


def test_an_ipv6_address_of_a_store_keeps_its_brackets(settings: Any) -> None:
    options = object_store.storage_options("s3://key:secret@[::1]:9/pics?scheme=http")
    assert options["endpoint_url"] == "http://[::1]:9"
    settings.STORAGES = settings.STORAGES | {"default": {"BACKEND": object_store.BACKEND, "OPTIONS": options}}
    with pytest.raises(StoreUnavailable):  # nothing listens there
        stored_files.read_file("pictures/a.webp")


def test_a_check_names_the_file_of_packages(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_media_storage(None) == []
    use(settings, "s3.example.com", "pics")
    assert check_media_storage(None) == []
    monkeypatch.setattr("oidc.checks.find_spec", lambda name: None)
    (found,) = check_media_storage(None)
    assert found.id == "devportal.E040"
    assert "requirements/extras.txt" in str(found.hint)
    settings.EMBEDDED = False
    monkeypatch.setitem(sys.modules, "core.storage.s3", None)  # as if it could not be imported
    settings.STORAGES = settings.STORAGES.copy()  # forgets the class that was imported
    assert "devportal.E040" in find_dangers()  # which Celery and WSGI servers run
