"""Convert one untrusted picture in a separate process, with little memory and processor time (docs/limits.md#pictures).

`core.storage.images` starts this file as a script. It needs nothing but Pillow, and it gets no settings or secrets.
"""

import io
import json
import re
import resource
import struct
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from PIL import (
    AvifImagePlugin,
    GifImagePlugin,
    Image,
    ImageChops,
    ImageCms,
    ImageOps,
    JpegImagePlugin,
    PngImagePlugin,
    WebPImagePlugin,
)

# Raster formats only: no format that can contain scripts, links or programs. Their modules are imported above, because
# Pillow would import the modules of all formats to find one that is missing.
FORMATS = tuple(
    plugin.format
    for plugin in (
        AvifImagePlugin.AvifImageFile,
        GifImagePlugin.GifImageFile,
        JpegImagePlugin.JpegImageFile,
        PngImagePlugin.PngImageFile,
        WebPImagePlugin.WebPImageFile,
    )
)
AvifImagePlugin.DEFAULT_MAX_THREADS = 1

MAX_PIXELS = 16_000_000  # that are decoded; four bytes each, and several copies at a time
MAX_JPEG_PIXELS = 40_000_000  # a JPEG can be decoded at an eighth, a quarter or half of its size
MAX_SCANS = 30  # of a JPEG. Programs write up to 20, and each costs time even if it is empty
# Of the process: four times what the largest ordinary pictures need.
CPU_SECONDS = 5
MEMORY = 512 * 1024 * 1024  # bytes of address space

# Exit codes. Python itself exits with 1 after an exception.
DONE, REFUSED = 0, 3

# Exceptions that Pillow raises for broken files, RuntimeError for AVIF.
_UNREADABLE = (
    ArithmeticError, EOFError, LookupError, OSError, RuntimeError, SyntaxError, TypeError, ValueError, struct.error,
)  # fmt: skip


@dataclass(frozen=True)
class Shape:
    """What a picture becomes: at most `side` pixels a side.

    With `crop`, it is cut to a square and put on white. Otherwise it gets a transparent margin. `min_side` is the least
    shorter side in pixels, `max_ratio` the most that the longer side may be of the shorter one, 0 for any.
    """

    side: int
    crop: bool
    quality: int
    min_side: int = 1
    max_ratio: int = 0


class Refused(Exception):
    """The picture is not converted; the argument is a key of `core.storage.images.REASONS`."""


def convert(data: bytes, shape: Shape) -> bytes:
    """Return the first frame of a picture as a WebP in sRGB, upright and without metadata. Raises Refused."""
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            _check_size(image, data, shape)
            pixels = _decode(image, shape)
    except Image.DecompressionBombError as error:
        raise Refused("too_many_pixels") from error
    except MemoryError as error:
        raise Refused("too_complex") from error
    except _UNREADABLE as error:
        raise Refused("unreadable") from error
    square = _flatten(pixels) if shape.crop else _pad(pixels)
    side = min(shape.side, square.width)
    return encode_webp(square.resize((side, side)), shape.quality)


def encode_webp(pixels: Image.Image, quality: int, method: int = 4) -> bytes:
    """Return pixels as a WebP without metadata. `method` is 0 (fast) to 6 (small)."""
    encoded = io.BytesIO()
    pixels.save(encoded, "WEBP", quality=quality, method=method, exif=b"", xmp=b"", icc_profile=None)
    return encoded.getvalue()


def _check_size(image: Image.Image, data: bytes, shape: Shape) -> None:
    """Raise Refused, before anything is decoded, for a picture that costs too much or does not fit the shape."""
    is_jpeg = isinstance(image, JpegImagePlugin.JpegImageFile)
    if image.width * image.height > (MAX_JPEG_PIXELS if is_jpeg else MAX_PIXELS):
        raise Refused("too_many_pixels")
    shorter, longer = sorted(image.size)
    if shorter < shape.min_side:
        raise Refused("too_small")
    if shape.max_ratio and longer > shape.max_ratio * shorter:
        raise Refused("too_long")
    if is_jpeg:
        if _count_scans(data) > MAX_SCANS:
            raise Refused("too_complex")
        image.draft(None, (2 * shape.side, 2 * shape.side))
        if image.width * image.height > MAX_PIXELS:
            raise Refused("too_many_pixels")


_MARKER = re.compile(rb"\xff+([^\x00\xff])")  # in a scan, a byte ff of the content is followed by 00
_SOS, _EOI = 0xDA, 0xD9
_ALONE = {*range(0xC0), *range(0xD0, 0xD9)}  # markers without a length


def _count_scans(data: bytes) -> int:
    """Return the number of scans of a JPEG up to its end, without what is embedded or follows."""
    scans, place = 0, 0
    while (found := _MARKER.search(data, place)) is not None:
        marker, place = found[1][0], found.end()
        if marker == _EOI:
            break
        scans += marker == _SOS
        if marker not in _ALONE:
            place += int.from_bytes(data[place : place + 2], "big")
    return scans


def _decode(image: Image.Image, shape: Shape) -> Image.Image:
    """Return the pixels of an opened picture, RGB or RGBA, cut to a square if the shape is, and not much too large."""
    tiles: Any = getattr(image, "tile", None)
    raw_mode = str(tiles[0].args) if tiles else ""
    image.load()
    pixels = _to_eight_bits(image, raw_mode)
    if shape.crop and pixels.width != pixels.height:
        pixels = _crop(pixels)
    if (factor := min(pixels.size) // (2 * shape.side)) > 1:
        pixels = pixels.reduce(factor)
    pixels = _to_srgb(pixels, image)
    pixels.info = {name: value for name, value in image.info.items() if name != "transparency"}
    pixels = ImageOps.exif_transpose(pixels)
    # Colours of invisible pixels may show what someone removed. This makes them black, and leaves visible ones.
    return pixels.convert("RGBa").convert("RGBA") if pixels.mode == "RGBA" else pixels


def _to_eight_bits(image: Image.Image, raw_mode: str) -> Image.Image:
    """Return the pixels in mode L, LA, RGB, RGBA or CMYK, with transparency wherever a viewer shows it."""
    if image.format == "PNG":
        _scale_transparent_color(image, raw_mode)
    if image.mode.startswith("I;16"):  # Pillow would turn every shade but the darkest 256 to white
        return _halve_depth(image)
    if image.mode in ("LA", "RGBA", "CMYK"):
        return image
    wanted = "L" if image.mode == "L" else "RGB"
    return image.convert({"L": "LA", "RGB": "RGBA"}[wanted] if image.has_transparency_data else wanted)


# By Pillow's name of a PNG's pixels: how many values they have, and what one step is in 8 bits.
_STEPS = {"L;2": (4, 85), "L;4": (16, 17), "L": (256, 1), "RGB": (256, 1)}


def _scale_transparent_color(image: Image.Image, raw_mode: str) -> None:
    """Scale the one transparent colour of a PNG as Pillow scales its pixels."""
    key = image.info.get("transparency")
    if raw_mode == "RGB;16B" and isinstance(key, tuple):
        image.info["transparency"] = tuple(part >> 8 for part in key)
    elif raw_mode in _STEPS and isinstance(key, int | tuple):
        count, step = _STEPS[raw_mode]
        scaled = tuple(part % count * step for part in (key if isinstance(key, tuple) else (key,)))
        image.info["transparency"] = scaled if isinstance(key, tuple) else scaled[0]


def _halve_depth(image: Image.Image) -> Image.Image:
    raw = image.tobytes()
    low, high = (Image.frombytes("L", image.size, raw[start::2]) for start in (0, 1))
    key = image.info.get("transparency")
    if not isinstance(key, int):
        return high
    differs = (
        each.point([0 if value == part else 255 for value in range(256)])
        for each, part in ((low, key & 255), (high, key >> 8))
    )
    return Image.merge("LA", (high, ImageChops.lighter(*differs)))


_MODES = {"GRAY": "L", "RGB": "RGB", "CMYK": "CMYK"}  # by the colour space of a profile


def _to_srgb(pixels: Image.Image, image: Image.Image) -> Image.Image:
    """Return the pixels in sRGB, RGB or RGBA. A profile that is broken or does not fit is ignored, as browsers do."""
    alpha = pixels.getchannel("A") if pixels.mode in ("LA", "RGBA") else None
    colors = pixels.convert(pixels.mode[:-1]) if alpha else pixels
    if profile := image.info.get("icc_profile"):
        with suppress(ImageCms.PyCMSError, *_UNREADABLE):
            source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            mode = _MODES.get(source.profile.xcolor_space.strip(), "")
            if mode == colors.mode or (mode, colors.mode) == ("RGB", "L"):
                srgb = ImageCms.createProfile("sRGB")
                colors = ImageCms.profileToProfile(colors.convert(mode), source, srgb, outputMode="RGB") or colors
    elif image.format == "PNG" and "srgb" not in image.info and image.info.get("gamma"):
        exponent = 1 / (image.info["gamma"] * 2.2)
        colors = colors.point([round(255 * (value / 255) ** exponent) for value in range(256)] * len(colors.getbands()))
    colors = colors.convert("RGB")
    if alpha:
        colors.putalpha(alpha)
    return colors


def _crop(pixels: Image.Image) -> Image.Image:
    side = min(pixels.size)
    left, top = (pixels.width - side) // 2, (pixels.height - side) // 2
    return pixels.crop((left, top, left + side, top + side))


def _flatten(pixels: Image.Image) -> Image.Image:
    """Put a picture on white."""
    flat = Image.new("RGB", pixels.size, "white")
    flat.paste(pixels, mask=pixels if pixels.mode == "RGBA" else None)
    return flat


def _pad(pixels: Image.Image) -> Image.Image:
    """Give a picture the transparent margin that makes it square."""
    side = max(pixels.size)
    square = Image.new("RGBA", (side, side), (0, 0, 0, 0))
    square.paste(pixels, ((side - pixels.width) // 2, (side - pixels.height) // 2))
    return square


def _limit(kind: int, most: int) -> None:
    with suppress(OSError, ValueError):  # not on every system
        resource.setrlimit(kind, (most, most))


def main() -> int:
    """Read a picture from standard input and write the result, or the reason of a refusal, to standard output."""
    _limit(resource.RLIMIT_AS, MEMORY)
    _limit(resource.RLIMIT_CPU, CPU_SECONDS)
    _limit(resource.RLIMIT_CORE, 0)
    try:
        result, status = convert(sys.stdin.buffer.read(), Shape(**json.loads(sys.argv[1]))), DONE
    except Refused as refused:
        result, status = str(refused).encode(), REFUSED
    sys.stdout.buffer.write(result)
    return status


if __name__ == "__main__":
    sys.exit(main())
