"""Pictures: raster only, encoded again without metadata, and with a different URL in each sector."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client as Browser
from django.utils.datastructures import MultiValueDict
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from accounts.deletion import deleting
from accounts.models import Account
from accounts.views.forms import ProfileForm
from tests.relying_party import RelyingParty, claims_of

CANARY = b"canary-in-the-metadata"


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Path) -> Path:
    settings.MEDIA_ROOT = tmp_path
    return tmp_path


def image(kind: str, size: tuple[int, int] = (64, 48), **options: Any) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, (200, 30, 30)).save(out, kind, **options)
    return out.getvalue()


def upload(browser: Browser, data: bytes, name: str = "me.jpg", content_type: str = "image/jpeg") -> Any:
    file = SimpleUploadedFile(name, data, content_type)
    return browser.post("/account/profile", {"given_name": "Ada", "family_name": "Lovelace", "picture": file})


def stored(person: Account) -> bytes:
    person.refresh_from_db()
    with person.picture.open("rb") as file:
        return bytes(file.read())


# --- What is kept of an upload ---


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF", "AVIF"])
def test_a_picture_is_encoded_again(signed_in: Browser, person: Account, kind: str) -> None:
    sent = image(kind)
    assert upload(signed_in, sent).status_code == 302
    kept = stored(person)
    assert kept != sent
    assert Image.open(io.BytesIO(kept)).format == "WEBP"


def test_a_picture_is_resized(signed_in: Browser, person: Account) -> None:
    upload(signed_in, image("JPEG", (2000, 1500)))
    assert Image.open(io.BytesIO(stored(person))).size == (512, 512)


def test_metadata_is_removed(signed_in: Browser, person: Account) -> None:
    exif = Image.Exif()
    exif[0x010E] = CANARY.decode()  # description
    exif[0x8825] = {1: "N", 2: (52.0, 30.0, 0.0)}  # where it was taken
    chunks = PngInfo()
    chunks.add_text("Comment", CANARY.decode())
    for sent in (
        image("JPEG", exif=exif, comment=CANARY),
        image("PNG", pnginfo=chunks),
        image("WEBP", exif=exif, xmp=b"<x>" + CANARY + b"</x>"),
        image("JPEG") + CANARY,
        image("PNG") + b"<script>" + CANARY + b"</script>",
    ):
        assert CANARY in sent
        assert upload(signed_in, sent).status_code == 302
        kept = stored(person)
        assert CANARY not in kept
        assert not Image.open(io.BytesIO(kept)).getexif()


def test_a_rotated_picture_is_turned_upright(signed_in: Browser, person: Account) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    picture = Image.new("RGB", (100, 100), "white")
    picture.paste("black", (0, 0, 100, 50))
    out = io.BytesIO()
    picture.save(out, "JPEG", exif=exif, quality=95)
    upload(signed_in, out.getvalue())
    kept = Image.open(io.BytesIO(stored(person))).convert("L")
    grey = kept.tobytes()
    middle = kept.width * (kept.height // 2)
    assert grey[middle + 5] > grey[middle + kept.width - 5]


def test_the_file_name_is_random(signed_in: Browser, person: Account, media: Path) -> None:
    upload(signed_in, image("JPEG"), name="../../../ada lovelace.html")
    person.refresh_from_db()
    kept = Path(person.picture.name or "")
    assert (str(kept.parent), kept.suffix) == ("pictures", ".webp")
    assert "ada" not in kept.stem
    assert len(kept.stem) >= 22
    assert all(path.suffix == ".webp" for path in media.rglob("*") if path.is_file())


# --- What is refused ---


def bomb() -> bytes:
    """A small file that unpacks to a great many pixels."""
    out = io.BytesIO()
    Image.new("1", (12_000, 12_000)).save(out, "PNG", optimize=False)
    return out.getvalue()


# Made by the test: some take long, and each test process would make them all.
REFUSED: dict[str, Callable[[], bytes]] = {
    "svg": lambda: b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
    "svg with a declaration": lambda: b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>',
    "html": lambda: b"<!doctype html><script>alert(1)</script>",
    "html behind a gif's first bytes": lambda: b"GIF89a<script>alert(1)</script>",
    "pdf": lambda: b"%PDF-1.7\n",
    "bmp": lambda: image("BMP"),
    "tiff": lambda: image("TIFF"),
    "ico": lambda: image("ICO"),
    "postscript": lambda: b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n",
    "nothing": lambda: b"",
    "text": lambda: b"hello",
    "cut off": lambda: image("PNG", (300, 300))[:120],
    "half a jpeg": lambda: image("JPEG", (600, 600))[:300],
    "a bomb": bomb,
}


@pytest.mark.parametrize("make", REFUSED.values(), ids=REFUSED.keys())
def test_other_files_than_raster_pictures_are_rejected(
    signed_in: Browser, person: Account, media: Path, make: Callable[[], bytes]
) -> None:
    response = upload(signed_in, make())
    assert response.status_code == 200
    person.refresh_from_db()
    assert not person.picture
    assert not [path for path in media.rglob("*") if path.is_file()]


def test_a_file_that_is_too_large_is_refused(signed_in: Browser, person: Account, settings: Any) -> None:
    settings.PICTURE_MAX_BYTES = 10_000
    assert upload(signed_in, image("PNG") + b"x" * 10_000).status_code == 200
    person.refresh_from_db()
    assert not person.picture


def test_the_page_says_what_is_wrong_and_keeps_the_old_picture(signed_in: Browser, person: Account) -> None:
    upload(signed_in, image("JPEG"))
    before = stored(person)
    response = upload(signed_in, REFUSED["svg"]())
    assert "JPEG, PNG, WebP, AVIF or GIF" in response.content.decode()
    assert stored(person) == before


# --- Addresses ---


@pytest.fixture
def pictured(app: RelyingParty, person: Account) -> RelyingParty:
    upload(app.browser, image("JPEG"))
    person.refresh_from_db()
    return app


def path_of(app: RelyingParty) -> str:
    url: str = claims_of(app.tokens()["id_token"])["picture"]
    return url.removeprefix("http://localhost:8000")


def test_the_address_serves_the_picture(pictured: RelyingParty, person: Account) -> None:
    response: Any = Browser().get(path_of(pictured))
    assert response.status_code == 200
    assert response["Content-Type"] == "image/webp"
    assert response["X-Content-Type-Options"] == "nosniff"
    sent, kept = (Image.open(io.BytesIO(data)) for data in (response.content, stored(person)))
    assert (sent.format, sent.size) == ("WEBP", kept.size)
    assert not {"exif", "xmp", "icc_profile"} & set(sent.info)
    assert not response.cookies


def test_every_endpoint_returns_the_same_picture_url(pictured: RelyingParty) -> None:
    tokens = pictured.tokens()
    addresses = {
        claims_of(tokens["id_token"])["picture"],
        pictured.call("/connect/userinfo", tokens["access_token"]).json()["picture"],
        pictured.call("/v1/me", tokens["access_token"]).json()["picture"],
    }
    assert len(addresses) == 1


def test_a_new_picture_has_a_new_address_and_the_old_one_ends(pictured: RelyingParty) -> None:
    before = path_of(pictured)
    upload(pictured.browser, image("JPEG", (32, 32)))
    after = path_of(pictured)
    assert after != before
    assert Browser().get(before).status_code == 404
    assert Browser().get(after).status_code == 200


def test_a_removed_picture_has_none(pictured: RelyingParty, person: Account) -> None:
    before = path_of(pictured)
    form = {"given_name": "Ada", "family_name": "Lovelace", "picture-clear": "on"}
    assert pictured.browser.post("/account/profile", form).status_code == 302
    assert Browser().get(before).status_code == 404
    tokens = pictured.tokens()
    assert "picture" not in claims_of(tokens["id_token"])
    assert pictured.call("/v1/me", tokens["access_token"]).json()["picture"] is None


@pytest.mark.parametrize("late", ["another picture", "a name", "a deletion"])
def test_a_picture_that_is_replaced_by_two_requests_at_once_leaves_no_file(
    late: str, signed_in: Browser, person: Account, media: Path, django_capture_on_commit_callbacks: Any
) -> None:
    upload(signed_in, image("JPEG"))
    read_before = Account.objects.get(pk=person.pk)
    with django_capture_on_commit_callbacks(execute=True):
        upload(signed_in, image("JPEG"))
    data = {"given_name": "Augusta", "family_name": "King"}
    photos: list[Any] = [SimpleUploadedFile("me.png", image("PNG"))] if late == "another picture" else []
    with django_capture_on_commit_callbacks(execute=True):
        if late == "a deletion":
            deleting.delete_account(read_before)
        else:
            form = ProfileForm(data, MultiValueDict({"picture": photos}), instance=read_before)
            assert form.is_valid()
            form.save()
    shown = Account.objects.filter(pk=person.pk).values_list("picture", flat=True)
    assert {str(path.relative_to(media)) for path in media.rglob("*.webp")} == set(shown)


def test_a_deactivated_persons_picture_is_no_longer_served(pictured: RelyingParty, person: Account) -> None:
    path = path_of(pictured)
    Account.objects.filter(pk=person.pk).update(is_active=False)
    assert Browser().get(path).status_code == 404


def test_a_lost_file_is_not_an_error(pictured: RelyingParty, media: Path) -> None:
    path = path_of(pictured)
    for file in media.rglob("*.webp"):
        file.unlink()
    assert Browser(raise_request_exception=False).get(path).status_code == 404


def test_uploads_are_not_served_by_their_file_names(pictured: RelyingParty, person: Account) -> None:
    for prefix in ("/uploads/", "/media/", "/static/", "/"):
        assert Browser().get(f"{prefix}{person.picture.name}").status_code == 404
