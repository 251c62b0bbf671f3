"""Uploaded images: decoding within limits, and re-encoding without metadata."""

import io
import struct
from collections.abc import Callable

from django.core.exceptions import ValidationError
from PIL import Image, ImageChops, ImageOps

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
