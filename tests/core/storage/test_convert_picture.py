"""Converting pictures: what people see stays, what they removed does not come back, and no picture costs much."""

import io
import struct
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from PIL import Image, ImageCms

from core.storage import convert_picture
from core.storage.convert_picture import Refused, Shape

PHOTO = Shape(side=512, crop=True, quality=100)
LOGO = Shape(side=512, crop=False, quality=100)
HIDDEN = (255, 0, 0)
Pixel = tuple[int, ...]


def saved(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(depth: int, color_type: int, row: bytes, extra: bytes = b"", side: int = 64) -> bytes:
    """A PNG whose rows are all the same."""
    head = struct.pack(">IIBBBBB", side, side, depth, color_type, 0, 0, 0)
    body = chunk(b"IHDR", head) + extra + chunk(b"IDAT", zlib.compress((b"\0" + row) * side)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def converted(data: bytes, shape: Shape) -> Image.Image:
    result = Image.open(io.BytesIO(convert_picture.convert(data, shape)), formats=["WEBP"])
    assert not {"exif", "xmp", "icc_profile"} & set(result.info)
    return result.convert("RGBA")


def pixel(image: Image.Image, across: float) -> Pixel:
    """The pixel in the middle of the height, at this share of the width."""
    found = image.getpixel((int(image.width * across), image.height // 2))
    assert isinstance(found, tuple)
    return found


def is_near(one: Pixel, other: Pixel) -> bool:
    return len(one) == len(other) and all(abs(a - b) <= 10 for a, b in zip(one, other, strict=True))


# --- Tones of every depth: two halves of a picture ---

WHITE, BLACK = (255, 255, 255), (0, 0, 0)
SPLIT_PALETTE = chunk(b"PLTE", bytes((10, 200, 90, 240, 120, 60)))
TONES: dict[str, tuple[Callable[[], bytes], Pixel, Pixel]] = {
    "grey 1 bit": (lambda: png(1, 0, b"\0" * 4 + b"\xff" * 4), BLACK, WHITE),
    "grey 2 bits": (lambda: png(2, 0, b"\x55" * 8 + b"\xaa" * 8), (85,) * 3, (170,) * 3),
    "grey 4 bits": (lambda: png(4, 0, b"\x33" * 16 + b"\xcc" * 16), (51,) * 3, (204,) * 3),
    "grey 16 bits": (lambda: png(16, 0, struct.pack(">64H", *[0x4000] * 32, *[0xC000] * 32)), (64,) * 3, (192,) * 3),
    "color 16 bits": (
        lambda: png(
            16, 2, struct.pack(">3H", 0x4000, 0x8000, 0xF000) * 32 + struct.pack(">3H", 0, 0xFFFF, 0x1000) * 32
        ),
        (64, 128, 240),
        (0, 255, 16),
    ),
    "palette 1 bit": (lambda: png(1, 3, b"\0" * 4 + b"\xff" * 4, SPLIT_PALETTE), (10, 200, 90), (240, 120, 60)),
    "palette 8 bits": (lambda: png(8, 3, b"\0" * 32 + b"\1" * 32, SPLIT_PALETTE), (10, 200, 90), (240, 120, 60)),
    "gamma 1.0": (
        lambda: png(8, 0, b"\x37" * 32 + b"\xff" * 32, chunk(b"gAMA", struct.pack(">I", 100_000))),
        (127,) * 3,
        WHITE,
    ),
}


@pytest.mark.parametrize("name", TONES)
@pytest.mark.parametrize("shape", [PHOTO, LOGO], ids=["photo", "logo"])
def test_tones_of_every_depth_are_kept(name: str, shape: Shape) -> None:
    make, left, right = TONES[name]
    result = converted(make(), shape)
    assert is_near(pixel(result, 0.2), (*left, 255))
    assert is_near(pixel(result, 0.8), (*right, 255))


@pytest.mark.parametrize(("kind", "mode"), [("JPEG", "CMYK"), ("JPEG", "L"), ("GIF", "RGB"), ("AVIF", "RGB")])
def test_tones_of_every_format_are_kept(kind: str, mode: str) -> None:
    colors: dict[str, Any] = {"CMYK": (0, 200, 200, 40), "L": 99, "RGB": (20, 140, 220)}
    image = Image.new(mode, (64, 64), colors[mode])
    seen = image.convert("RGBA").getpixel((0, 0)) if mode != "CMYK" else (215, 46, 46, 255)
    assert isinstance(seen, tuple)
    options = {} if kind == "GIF" else {"quality": 98}
    assert is_near(pixel(converted(saved(image, kind, **options), PHOTO), 0.5), seen)


# --- Transparency: the left half of each is transparent and has the color HIDDEN ---


def _half_hidden() -> Image.Image:
    image = Image.new("RGBA", (64, 64), (*HIDDEN, 0))
    image.paste((0, 0, 255, 255), (32, 0, 64, 64))
    return image


def _key(*parts: int) -> bytes:
    return chunk(b"tRNS", struct.pack(f">{len(parts)}H", *parts))


TRANSPARENT: dict[str, Callable[[], bytes]] = {
    "png": lambda: saved(_half_hidden()),
    "webp": lambda: saved(_half_hidden(), "WEBP", lossless=True, exact=True),
    "avif": lambda: saved(_half_hidden(), "AVIF", quality=100),
    "palette": lambda: png(8, 3, b"\0" * 32 + b"\1" * 32, SPLIT_PALETTE + chunk(b"tRNS", b"\0")),
    "palette 1 bit": lambda: png(1, 3, b"\0" * 4 + b"\xff" * 4, SPLIT_PALETTE + chunk(b"tRNS", b"\0")),
    "gif": lambda: saved(_half_hidden(), "GIF"),
    "grey 1 bit": lambda: png(1, 0, b"\xff" * 4 + b"\0" * 4, _key(1)),
    "grey 2 bits": lambda: png(2, 0, b"\x55" * 8 + b"\xaa" * 8, _key(1)),
    "grey 4 bits": lambda: png(4, 0, b"\x33" * 16 + b"\xcc" * 16, _key(3)),
    "grey 8 bits": lambda: png(8, 0, b"\x33" * 32 + b"\xcc" * 32, _key(0x33)),
    "grey 16 bits": lambda: png(16, 0, struct.pack(">64H", *[0x1234] * 32, *[0x1233] * 32), _key(0x1234)),
    "grey and alpha 16 bits": lambda: png(16, 4, struct.pack(">2H", 0x3333, 0) * 32 + b"\xcc\xcc\xff\xff" * 32),
    "color 8 bits": lambda: png(8, 2, bytes((9, 8, 7)) * 32 + bytes((0, 0, 255)) * 32, _key(9, 8, 7)),
    "color 16 bits": lambda: png(
        16, 2, struct.pack(">3H", 0x1234, 0x5678, 0x9ABC) * 32 + b"\0\0\0\0\xff\xff" * 32, _key(0x1234, 0x5678, 0x9ABC)
    ),
}


@pytest.mark.parametrize("name", TRANSPARENT)
def test_transparent_pixels_show_nothing(name: str) -> None:
    data = TRANSPARENT[name]()
    photo, logo = converted(data, PHOTO), converted(data, LOGO)
    assert is_near(pixel(photo, 0.2), (*WHITE, 255))
    assert pixel(photo, 0.8)[:3] != WHITE
    assert pixel(logo, 0.2)[3] == 0
    assert pixel(logo, 0.8)[3] == 255


@pytest.mark.parametrize("side", [64, 2200])
def test_what_someone_erased_does_not_come_back_without_the_transparency(side: int) -> None:
    picture = Image.new("RGBA", (side, side), (0, 0, 255, 255))
    picture.paste((*HIDDEN, 0), (0, 0, side // 2, side))
    for kind, options in (("PNG", {}), ("WEBP", {"lossless": True, "exact": True})):
        for shape in (PHOTO, LOGO):
            result = convert_picture.convert(saved(picture, kind, **options), shape)
            bare = Image.open(io.BytesIO(result)).convert("RGBA").convert("RGB").crop((0, 0, 8, 64))
            reds = [bare.getpixel((x, y)) for x in range(8) for y in range(64)]
            assert not any(is_near(red, HIDDEN) for red in reds if isinstance(red, tuple))


# --- Color profiles ---


def _profile(space: bytes = b"RGB ", *, swapped: bool = False, gamma: float = 2.2) -> bytes:
    """A profile in the format of ICC.1:2001 with the primaries of sRGB, two of them swapped if wanted."""
    primaries = [(0.4361, 0.2225, 0.0139), (0.3851, 0.7169, 0.0971), (0.1431, 0.0606, 0.7141)]
    if swapped:
        primaries[0], primaries[1] = primaries[1], primaries[0]

    def xyz(*values: float) -> bytes:
        return b"XYZ \0\0\0\0" + struct.pack(">3i", *(round(value * 65536) for value in values))

    curve = b"curv\0\0\0\0" + struct.pack(">IH", 1, round(gamma * 256)) + b"\0\0"
    tags = {b"wtpt": xyz(0.9642, 1.0, 0.8249)}
    if space == b"GRAY":
        tags[b"kTRC"] = curve
    else:
        for name, primary in zip((b"r", b"g", b"b"), primaries, strict=True):
            tags |= {name + b"XYZ": xyz(*primary), name + b"TRC": curve}
    table, content, start = struct.pack(">I", len(tags)), b"", 132 + 12 * len(tags)
    for name, value in tags.items():
        table += name + struct.pack(">II", start + len(content), len(value))
        content += value
    whole = table + content
    white = struct.pack(">3i", 63190, 65536, 54061)
    head = struct.pack(">I4sI4s4s4s", 128 + len(whole), b"lcms", 0x02400000, b"mntr", space, b"XYZ ")
    return head + bytes(12) + b"acsp" + bytes(28) + white + bytes(48) + whole


def _colored(profile: bytes, kind: str = "PNG") -> bytes:
    return saved(Image.new("RGB", (64, 64), COLOR), kind, icc_profile=profile, **({} if kind == "PNG" else QUALITY))


def _grey(profile: bytes, **options: Any) -> bytes:
    return saved(Image.new("L", (64, 64), 55), icc_profile=profile, **options)


COLOR, SWAPPED, MIDDLE = (200, 40, 20), (40, 200, 20), (128, 128, 128)
QUALITY = {"quality": 98}
PROFILES: dict[str, tuple[Callable[[], bytes], Pixel]] = {
    **{
        f"swapped {kind}": (partial(_colored, _profile(swapped=True), kind), SWAPPED)
        for kind in ("PNG", "JPEG", "WEBP", "AVIF")
    },
    "grey": (lambda: _grey(_profile(b"GRAY", gamma=1.0)), MIDDLE),
    "grey with a profile for colors": (lambda: _grey(_profile(gamma=1.0), kind="JPEG", **QUALITY), MIDDLE),
    "one of another kind": (lambda: _colored(_profile(b"GRAY", gamma=1.0)), COLOR),
    "a broken one": (lambda: _colored(b"x" * 300), COLOR),
    "half of one": (lambda: _colored(_profile(swapped=True)[:200]), COLOR),
    "sRGB": (lambda: _colored(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()), COLOR),
}


@pytest.mark.parametrize("name", PROFILES)
def test_colors_are_converted_to_srgb_before_the_profile_is_removed(name: str) -> None:
    make, seen = PROFILES[name]
    for shape in (PHOTO, LOGO):
        assert is_near(pixel(converted(make(), shape), 0.5), (*seen, 255))


def test_a_profile_leaves_transparency() -> None:
    result = converted(saved(_half_hidden(), icc_profile=_profile(swapped=True)), LOGO)
    assert (pixel(result, 0.2)[3], pixel(result, 0.8)[3]) == (0, 255)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "AVIF"])
def test_a_large_picture_is_turned_upright(kind: str) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # the top is on the right
    picture = Image.new("RGB", (2400, 1800), "white")
    picture.paste("black", (0, 0, 2400, 900))
    result = converted(saved(picture, kind, exif=exif, quality=90), PHOTO)
    assert result.size == (512, 512)
    assert is_near(pixel(result, 0.1), (*WHITE, 255))
    assert is_near(pixel(result, 0.9), (*BLACK, 255))


@pytest.mark.parametrize(("size", "side"), [((64, 48), 48), ((3000, 90), 90), ((1, 700), 1), ((1800, 2600), 512)])
def test_a_photo_is_cut_to_its_middle(size: tuple[int, int], side: int) -> None:
    assert converted(saved(Image.new("RGB", size)), PHOTO).size == (side, side)


@pytest.mark.parametrize("kind", ["MPO", "GIF", "WEBP", "PNG", "AVIF"])
def test_only_the_first_of_several_frames_is_read(kind: str) -> None:
    frames = [Image.new("RGB", (64, 64), (shade, 0, 0)) for shade in (250, 120, 0)]
    data = saved(frames[0], kind, save_all=True, append_images=frames[1:])
    assert is_near(pixel(converted(data, PHOTO), 0.5), (250, 0, 0, 255))


# --- What is refused ---


def jpeg_of_scans(count: int) -> bytes:
    """A progressive JPEG that repeats its last scan."""
    whole = saved(Image.new("RGB", (64, 64)), "JPEG", progressive=True)
    last = whole[whole.rindex(b"\xff\xda") : -2]
    return whole[:-2] + last * (count - whole.count(b"\xff\xda")) + whole[-2:]


def in_segment(jpeg: bytes, content: bytes) -> bytes:
    """A JPEG with an application's segment after its first marker."""
    return jpeg[:2] + b"\xff\xe5" + struct.pack(">H", len(content) + 2) + content + jpeg[2:]


def with_restarts(count: int) -> bytes:
    """Scans behind markers that a decoder skips without a length."""
    return jpeg_of_scans(count).replace(b"\xff\xda", b"\xff\xd0\xff\xff\xda")


MOST = convert_picture.MAX_SCANS
PLAIN = saved(Image.new("RGB", (64, 64)), "JPEG")
AVIF = saved(Image.linear_gradient("L").convert("RGB"), "AVIF")
LARGE = Image.new("1", (4001, 4000))
REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "scans": (lambda: jpeg_of_scans(MOST + 1), "too_complex"),
    "thousands of scans": (lambda: jpeg_of_scans(5000), "too_complex"),
    "scans of a picture with two": (lambda: jpeg_of_scans(MOST + 1) + PLAIN, "too_complex"),
    "scans behind other markers": (lambda: with_restarts(MOST + 1), "too_complex"),
    "scans behind a segment": (lambda: in_segment(jpeg_of_scans(MOST + 1), b"\xff\xd9" * 9), "too_complex"),
    "a large png": (lambda: saved(LARGE), "too_many_pixels"),
    "a large gif": (lambda: saved(LARGE.convert("P"), "GIF"), "too_many_pixels"),
    "a large webp": (lambda: saved(LARGE.convert("RGB"), "WEBP", method=0, quality=1), "too_many_pixels"),
    "a large jpeg": (lambda: saved(Image.new("L", (8001, 5000)), "JPEG"), "too_many_pixels"),
    "an immense png": (lambda: png(1, 0, b"", side=60_000), "too_many_pixels"),
    "a text of 100 MB": (
        lambda: png(1, 0, b"\0" * 8, chunk(b"zTXt", b"c\0\0" + zlib.compress(b"x" * 100_000_000, 1))),
        "unreadable",
    ),
    "a profile of 100 MB": (
        lambda: png(1, 0, b"\0" * 8, chunk(b"iCCP", b"c\0\0" + zlib.compress(b"x" * 100_000_000, 1))),
        "unreadable",
    ),
    "no pixels": (lambda: png(8, 2, b"", side=3000), "unreadable"),
    "half a jpeg": (lambda: saved(Image.effect_noise((300, 300), 90), "JPEG")[:9000], "unreadable"),
    "half an avif": (lambda: saved(Image.effect_noise((300, 300), 90).convert("RGB"), "AVIF")[:900], "unreadable"),
    "an avif of noise": (lambda: AVIF[: AVIF.index(b"mdat") + 4] + b"\xff" * 900, "unreadable"),
    "an avif without its codec": (lambda: AVIF.replace(b"av01", b"xx01"), "unreadable"),
    "a mov": (lambda: b"\0\0\0\x14ftypqt  \0\0\2\0qt  ", "unreadable"),
    **{
        kind: (lambda kind=kind: saved(Image.new("RGB", (64, 64)), kind), "unreadable")  # type: ignore[misc]
        for kind in ("BMP", "EPS", "ICNS", "ICO", "JPEG2000", "PDF", "PPM", "TGA", "TIFF")
    },
    "PSD": (lambda: b"8BPS\0\1" + bytes(6) + struct.pack(">HIIHH", 3, 64, 64, 8, 3) + bytes(100), "unreadable"),
}


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("name", REFUSED)
def test_pictures_that_cost_too_much_are_refused(name: str) -> None:
    make, reason = REFUSED[name]
    with pytest.raises(Refused) as refused:
        convert_picture.convert(make(), PHOTO)
    assert str(refused.value) == reason


TAKEN: dict[str, Callable[[], bytes]] = {
    "scans": lambda: jpeg_of_scans(MOST),
    "scans in a segment": lambda: in_segment(PLAIN, b"\xff\xda\0\2" * 900),
    "scans behind the end": lambda: PLAIN + b"\xff\xda\0\2" * 900,
    "two pictures in one file": lambda: PLAIN + PLAIN * 40,
    "something behind the end": lambda: saved(Image.new("RGB", (64, 64))) + b"PK\3\4" * 99,
}


@pytest.mark.parametrize("name", TAKEN)
def test_ordinary_pictures_are_not_taken_for_costly_ones(name: str) -> None:
    assert converted(TAKEN[name](), PHOTO).size == (64, 64)


def test_a_large_jpeg_is_decoded_at_a_fraction_of_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded = []
    real = convert_picture._to_eight_bits

    def note(image: Image.Image, raw_mode: str) -> Image.Image:
        decoded.append(image.size)
        return real(image, raw_mode)

    monkeypatch.setattr(convert_picture, "_to_eight_bits", note)
    assert converted(saved(Image.new("L", (8000, 5000)), "JPEG"), PHOTO).size == (512, 512)
    assert decoded == [(2000, 1250)]
