"""Logos: raster only and always encoded again; before review, only the project sees them.

What the conversion keeps and removes: tests/core/storage/test_convert_picture.py and tests/accounts/test_pictures.py.
"""

import io
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client as Browser
from PIL import Image, ImageCms
from PIL.PngImagePlugin import PngInfo

from core import clock
from oidc.domains import branding
from oidc.models import Client
from tests.factories import make_client
from tests.relying_party import RelyingParty

CANARY = b"canary-in-the-metadata"


def image(kind: str, size: tuple[int, int] = (128, 128), mode: str = "RGB", **options: Any) -> bytes:
    out = io.BytesIO()
    Image.new(mode, size, (200, 30, 30) if mode == "RGB" else 0).save(out, kind, **options)
    return out.getvalue()


def cleaned(data: bytes) -> bytes:
    return bytes(branding.clean_logo(io.BytesIO(data)).read())


def opened(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data), formats=["WEBP"])


# --- What is kept ---


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_a_logo_is_encoded_again(kind: str) -> None:
    sent = image(kind)
    kept = cleaned(sent)
    assert kept != sent
    assert opened(kept).size == (128, 128)


@pytest.mark.parametrize(
    ("size", "side"), [((64, 64), 64), ((2000, 2000), 512), ((300, 100), 300), ((1000, 2000), 512)]
)
def test_a_logo_becomes_square_without_cropping(size: tuple[int, int], side: int) -> None:
    logo = opened(cleaned(image("PNG", size))).convert("RGBA")
    assert logo.size == (side, side)
    assert logo.getbbox() is not None
    left, top, right, bottom = logo.getchannel("A").getbbox() or (0, 0, 0, 0)
    assert (right - left) / (bottom - top) == pytest.approx(size[0] / size[1], rel=0.05)


def test_metadata_is_removed() -> None:
    exif = Image.Exif()
    exif[0x010E] = CANARY.decode()  # description
    exif[0x8825] = {1: "N", 2: (52.0, 30.0, 0.0)}  # where it was made
    chunks = PngInfo()
    chunks.add_text("Comment", CANARY.decode())
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes() + CANARY
    for sent in (
        image("JPEG", exif=exif, comment=CANARY),
        image("PNG", pnginfo=chunks),
        image("WEBP", exif=exif, xmp=b"<x>" + CANARY + b"</x>"),
        image("WEBP", icc_profile=profile),
        image("JPEG") + CANARY,
        image("PNG") + b"<script>" + CANARY + b"</script>",
        image("GIF", comment=CANARY),
    ):
        assert CANARY in sent
        kept = cleaned(sent)
        assert CANARY not in kept
        assert set(opened(kept).info) <= {"loop", "background", "timestamp", "duration"}
        assert not opened(kept).getexif()


def test_the_files_name_is_random() -> None:
    names = {branding.clean_logo(io.BytesIO(image("PNG"))).name or "" for _ in range(3)}
    assert len(names) == 3
    assert all(name.endswith(".webp") and len(name) == 37 for name in names)


# --- What is refused ---


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_of(width: int, height: int, pixels: bytes = b"") -> bytes:
    """A PNG that says it is as large as it likes."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def text_bomb() -> bytes:
    """A PNG whose compressed comment unpacks to 100 MB."""
    packed = b"c\x00\x00" + zlib.compress(b"x" * 100_000_000, 9)
    whole = image("PNG")
    return whole[:33] + chunk(b"zTXt", packed) + whole[33:]


SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
# Made by the test: some take long, and each test process would make them all.
REFUSED: dict[str, Callable[[], bytes]] = {
    "svg": lambda: SVG,
    "svg packed": lambda: zlib.compress(SVG),
    "script that is a gif": lambda: b"GIF89a/*" + b"\x00" * 20 + b"*/=1;alert(1)",
    "tga": lambda: image("TGA"),
    "cut off": lambda: image("PNG", (300, 300))[:120],
    "a bomb": lambda: image("PNG", (12_000, 12_000), "1"),
    "a bomb of text": text_bomb,
    "a wide one": lambda: png_of(1_000_000, 1),
    "more than there is": lambda: png_of(2**31 - 1, 2**31 - 1),
    "no width": lambda: png_of(0, 100),
    "a header and no pixels": lambda: png_of(3000, 3000),
    "too small": lambda: image("PNG", (63, 63)),
    "a line": lambda: image("PNG", (400, 100)),
}


@pytest.mark.parametrize("make", REFUSED.values(), ids=REFUSED.keys())
def test_files_that_are_not_logos_are_rejected(make: Callable[[], bytes]) -> None:
    data = make()
    with pytest.raises(ValidationError):
        cleaned(data)


# --- Where it is found ---


@pytest.fixture
def verified(db: None, settings: Any, tmp_path: Path) -> Client:
    """A reviewed app with a logo."""
    settings.MEDIA_ROOT = tmp_path
    client = make_client(verified_at=clock.now())
    client.logo.save("x.webp", branding.clean_logo(io.BytesIO(image("PNG"))))
    return client


def address(client: Client) -> str:
    client.refresh_from_db()
    return branding.public_logo_path(client) or ""


def test_a_reviewed_apps_logo_is_served_to_anyone(verified: Client) -> None:
    response: Any = Browser().get(address(verified))
    assert (response.status_code, response["Content-Type"]) == (200, "image/webp")
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert response["Cache-Control"] == "public, max-age=3600"
    assert not response.cookies
    assert opened(response.content).size == (128, 128)


def test_the_logo_of_an_unreviewed_app_is_not_served(verified: Client) -> None:
    path = address(verified)
    Client.objects.filter(pk=verified.pk).update(verified_at=None)
    assert Browser().get(path).status_code == 404
    assert address(verified) == ""
    # A first-party app has no label; its logo still waits for review.
    Client.objects.filter(pk=verified.pk).update(first_party=True)
    assert Browser().get(path).status_code == 404


def test_the_logo_is_at_no_other_url(verified: Client) -> None:
    path = address(verified)
    head, _, tail = path.rpartition("/")
    for change in ("/x", "?a=1", "%00", "/../x", "x"):
        assert Browser().get(path.replace(".webp", f"{change}.webp")).status_code in (400, 404), change
        assert Browser().get(f"{head}{change}/{tail}").status_code in (400, 404), change
    for client_id in (make_client(verified_at=clock.now()).client_id, "é" * 300):
        assert Browser().get(path.replace(verified.client_id, client_id)).status_code == 404
    assert Browser().post(path).status_code == 405


def test_a_lost_file_and_a_deleted_project_return_404(verified: Client, tmp_path: Path) -> None:
    path = address(verified)
    verified.project.deleted_at = clock.now()
    verified.project.save()
    assert Browser().get(path).status_code == 404
    verified.project.deleted_at = None
    verified.project.save()
    for file in tmp_path.rglob("*.webp"):
        file.unlink()
    assert Browser(raise_request_exception=False).get(path).status_code == 404


def test_people_see_it_wherever_the_app_is_named(verified: Client, signed_in: Browser) -> None:
    party = RelyingParty(verified, signed_in)
    path = address(verified)
    assert f'src="{path}"' in party.authorize().content.decode(), "on the consent page"
    stranger = Browser()
    assert f'src="{path}"' in stranger.get(party.beside(stranger).authorize()["Location"]).content.decode()
    party.tokens()
    assert f'src="{path}"' in signed_in.get("/account/apps/").content.decode()
    Client.objects.filter(pk=verified.pk).update(verified_at=None)
    assert "/logos/" not in signed_in.get("/account/apps/").content.decode()
    assert "/logos/" not in party.authorize(prompt="consent").content.decode()
