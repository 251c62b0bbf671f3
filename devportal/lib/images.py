"""Uploaded pictures: read as pixels, within limits, and nothing else kept of the file (security rule 13)."""

import io
import struct

from django.core.exceptions import ValidationError
from PIL import Image, ImageOps

# Raster only: nothing that could hold a script, a link or a program.
FORMATS = ("JPEG", "PNG", "WEBP", "GIF")
# What readers of broken files raise, one and all.
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


def read(upload: io.BufferedIOBase, *, what: str, max_bytes: int, max_pixels: int) -> Image.Image:
    """Return an uploaded picture as pixels, upright, in mode RGB or RGBA; of an animation the first frame.

    Size and pixels are checked before anything is unpacked. `what` is what messages call it. Raises ValidationError
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


def webp(pixels: Image.Image, quality: int) -> bytes:
    """Return pixels as a WebP without metadata."""
    encoded = io.BytesIO()
    pixels.save(encoded, "WEBP", quality=quality, exif=b"", xmp=b"", icc_profile=None)
    return encoded.getvalue()


def _size(count: int) -> str:
    return f"{count // 1024 // 1024} MB" if count >= 1024 * 1024 else f"{count // 1024} kB"
