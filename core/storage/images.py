"""Uploaded images: decoding within limits, re-encoding without metadata, and perceptual hashes."""

import io
import struct
from collections.abc import Callable
from typing import Any

from django.core.exceptions import ValidationError
from PIL import Image, ImageChops, ImageOps, ImageStat

# Raster only: nothing that could hold a script, a link or a program.
FORMATS = ("JPEG", "PNG", "WEBP", "GIF")
# Exceptions that Pillow raises for broken files.
_UNREADABLE = (
    ArithmeticError,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
    Image.DecompressionBombError,
)


def decode_image(upload: io.BufferedIOBase, *, what: str, max_bytes: int, max_pixels: int) -> Image.Image:
    """Decode an uploaded image: rotated by its EXIF data, in mode RGB or RGBA, of an animation the first frame.

    File size and pixels are checked before decoding. `what` names the image in messages. Raises ValidationError
    for anything but a JPEG, PNG, WebP or GIF within the limits.
    """
    data = upload.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise ValidationError(f"The {what} may have at most {_size(max_bytes)}.")
    too_many = ValidationError(f"The {what} has too many pixels; make it smaller and try again.")
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            if image.width * image.height > max_pixels:
                raise too_many
            upright = ImageOps.exif_transpose(image)
            pixels = upright.convert("RGBA" if upright.has_transparency_data else "RGB")
    except ValidationError:
        raise
    except _UNREADABLE as error:
        raise ValidationError(f"This is not a {what} that can be read; use a JPEG, PNG, WebP or GIF.") from error
    return pixels


def encode_webp(pixels: Image.Image, quality: int) -> bytes:
    """Return pixels as a WebP without metadata."""
    encoded = io.BytesIO()
    pixels.save(encoded, "WEBP", quality=quality, exif=b"", xmp=b"", icc_profile=None)
    return encoded.getvalue()


_QUALITIES = range(80, 93)
_PADDING = 4096  # bytes at most: more than two encodings of a picture differ in length by themselves


def vary_webp(stored: bytes, random: Callable[[int], bytes]) -> bytes:
    """Re-encode a WebP so that two results for the same picture share neither bytes nor length.

    `random(n)` returns the first n bytes of one random sequence; the same sequence makes the same file. Quality and
    pixels vary by it, too little to be seen, and a part of random length is added, which readers of WebP skip.
    """
    with Image.open(io.BytesIO(stored), formats=["WEBP"]) as image:
        pixels = image.convert("RGB")
    count = pixels.width * pixels.height
    drawn = random(3 + _PADDING + count)
    # Each pixel becomes darker by one, lighter by one, or stays.
    noise = Image.frombytes("L", pixels.size, drawn[-count:]).point([value % 3 for value in range(256)])
    varied = ImageChops.add(pixels, Image.merge("RGB", (noise, noise, noise)), offset=-1)
    quality = _QUALITIES[drawn[0] % len(_QUALITIES)]
    length = int.from_bytes(drawn[1:3], "big") % _PADDING + 1
    return _with_padding(encode_webp(varied, quality), pixels.size, drawn[3 : 3 + length])


def _with_padding(encoded: bytes, size: tuple[int, int], padding: bytes) -> bytes:
    """Return a WebP of the simple format in the extended one, with a chunk that readers don't know (RFC 9649 §2.7)."""
    width, height = ((side - 1).to_bytes(3, "little") for side in size)
    chunks = _chunk(b"VP8X", bytes(4) + width + height) + encoded[12:] + _chunk(b"PADD", padding)
    return _chunk(b"RIFF", b"WEBP" + chunks)


def _chunk(name: bytes, content: bytes) -> bytes:
    return name + struct.pack("<I", len(content)) + content + bytes(len(content) % 2)


def _size(count: int) -> str:
    return f"{count // 1024 // 1024} MB" if count >= 1024 * 1024 else f"{count // 1024} kB"


Box = tuple[int, int, int, int]

_SIDE = 9  # fields a side: 8 differences between neighbours
# Of 255: what a lossy encoding changes. A margin ends at more than this, and so much makes an edge.
_NOISE = 24
_BLUR = 2  # pixels, between areas of one colour in a picture that was scaled
_SOLID = 0.95  # the share of an area that is filled: a frame around it is no margin
_WORKING_PIXELS = 256  # a side: more would only take longer


def difference_hash(pixels: Image.Image) -> str | None:
    """Return a hash of 64 bits as 16 hexadecimal digits; None for a picture of one colour, which tells nothing.

    What lies around the picture is cut off, whether transparent or of one colour. It is laid on white, and counts in
    shades of grey, stretched to the whole range, with the background as the brighter side, so that colours don't
    matter. Each bit says whether of two neighbouring fields the first is clearly the brighter: 32 from left to right
    and 32 from top to bottom, so that edges of both directions count.
    """
    small = pixels.convert("RGBA")
    small.thumbnail((_WORKING_PIXELS, _WORKING_PIXELS))
    flat = Image.new("RGBA", small.size, "white")
    flat.alpha_composite(small)
    around = flat.convert("RGB")
    box = _content_box(around)
    if box is None:
        return None
    picture = around.crop(box)
    if (box := _box_on_tile(picture)) is not None:
        around, picture = picture.crop((_BLUR, _BLUR, picture.width, picture.height)), picture.crop(box)
    grey = picture.convert("L")
    is_dark_around = ImageStat.Stat(around.crop((0, 0, 1, 1)).convert("L")).mean[0] < ImageStat.Stat(grey).mean[0]
    stretched = ImageOps.autocontrast(ImageOps.invert(grey) if is_dark_around else grey)
    across = stretched.resize((_SIDE, 4), Image.Resampling.BOX)
    down = stretched.resize((4, _SIDE), Image.Resampling.BOX).transpose(Image.Transpose.TRANSPOSE)
    bits = [*_falls(across), *_falls(down)]
    return f"{sum(1 << place for place, bit in enumerate(bits) if bit):016x}"


def hash_distance(one: str, other: str) -> int:
    """Return in how many bits two hashes of 16 hexadecimal digits differ, 0 to 64."""
    return (int(one, 16) ^ int(other, 16)).bit_count()


def _content_box(picture: Image.Image) -> Box | None:
    """Return the box of what differs from the picture's first pixel, None if nothing does."""
    return _marked(picture).getbbox()


def _marked(picture: Image.Image) -> Image.Image:
    margin = picture.crop((0, 0, 1, 1)).resize(picture.size)
    differs = ImageChops.difference(picture, margin).convert("L")
    return differs.point([0] * _NOISE + [255] * (256 - _NOISE))


def _box_on_tile(picture: Image.Image) -> Box | None:
    """Return the box of what stands on a square of one colour that is all around it; None for any other picture.

    A frame around a plain area is no such square: without it nothing would be left.
    """
    if min(picture.size) <= 8 * _BLUR:
        return None
    inner = ImageOps.crop(picture, _BLUR)  # where two areas meet, a picture that was scaled has mixed colours
    width, height = inner.size
    corners = [inner.getpixel((x, y)) for x in (0, width - 1) for y in (0, height - 1)]
    marked = _marked(inner)
    box = marked.getbbox()
    if box is None or not all(_is_near(corner, corners[0]) for corner in corners):
        return None
    left, top, right, bottom = box
    is_within = left > 0 and top > 0 and right < width and bottom < height
    if not is_within or ImageStat.Stat(marked.crop(box)).mean[0] > _SOLID * 255:
        return None
    return left + _BLUR, top + _BLUR, right + _BLUR, bottom + _BLUR


def _is_near(one: Any, other: Any) -> bool:
    return all(abs(a - b) <= _NOISE for a, b in zip(one, other, strict=True))


def _falls(fields: Image.Image) -> list[bool]:
    """Return for each field but the last of its row whether it is clearly brighter than the next."""
    rows = [list(fields.tobytes()[start : start + _SIDE]) for start in range(0, _SIDE * fields.height, _SIDE)]
    return [row[place] - row[place + 1] > _NOISE for row in rows for place in range(_SIDE - 1)]
