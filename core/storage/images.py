"""Uploaded images: conversion in a separate process, re-encoding for each sector, and perceptual hashes."""

import functools
import io
import json
import logging
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from django.core.exceptions import ValidationError
from PIL import Image, ImageChops, ImageOps, ImageStat

from core.serving.work_pool import WorkPool
from core.storage import convert_picture
from core.storage.convert_picture import Shape, encode_webp

log = logging.getLogger(__name__)

DEADLINE_SECONDS = 25  # of one conversion, with low priority
MOST_UPLOADS = 8  # converted or waiting, in each process; one at a time
MOST_ENCODINGS = 64  # the same for pictures that apps show, which take 20 ms each
WAIT_SECONDS = 30

# Texts by the reason of a refusal; `convert_picture.Refused` has the reason.
REASONS = {
    "too_large": "The {what} may have at most {size}.",
    "too_many_pixels": "The {what} has too many pixels. Make it smaller and try again.",
    "too_small": "The {what} needs at least {min_side} pixels on each side.",
    "too_long": "The {what} is too long, because it is shown in a square. Upload one that is less long.",
    "too_complex": "This {what} takes too long to read. Save it again with another program, or use another one.",
    "unreadable": "This {what} can't be read. Use a JPEG, PNG, WebP, AVIF or GIF.",
}


@functools.cache
def pool_of(kind: str) -> WorkPool:
    """Return this process's pool for "uploads" or "encodings", so that uploads never delay pictures that are shown."""
    most = {"uploads": MOST_UPLOADS, "encodings": MOST_ENCODINGS}[kind]
    return WorkPool(kind, 1, most=most, seconds=WAIT_SECONDS)


os.register_at_fork(after_in_child=pool_of.cache_clear)  # a forked process has none of its parent's threads


def convert_upload(upload: io.BufferedIOBase, shape: Shape, *, what: str, max_bytes: int) -> bytes:
    """Return the first frame of an uploaded picture as a WebP in sRGB, upright and without metadata.

    `what` names the picture in messages. Raises ValidationError for anything but a JPEG, PNG, WebP, AVIF or GIF within
    the limits (docs/limits.md#pictures), ServiceBusy if too many are converted.
    """
    data = upload.read(max_bytes + 1)
    reason, result = "too_large", b""
    if len(data) <= max_bytes:
        reason, result = pool_of("uploads").run(functools.partial(_convert_apart, data, shape))
    if reason:
        size = f"{max_bytes // 1024 // 1024} MB" if max_bytes >= 1024 * 1024 else f"{max_bytes // 1024} kB"
        raise ValidationError(REASONS[reason].format(what=what, size=size, min_side=shape.min_side))
    return result


def _convert_apart(data: bytes, shape: Shape) -> tuple[str, bytes]:
    """Convert a picture in another process; return the reason of a refusal or "", and the WebP."""
    command = [sys.executable, "-I", convert_picture.__file__, json.dumps(asdict(shape))]
    try:
        # A picture might take over the process, so it gets no secrets.
        done = subprocess.run(  # noqa: S603  (this file's own script)
            command, input=data, capture_output=True, env={}, timeout=DEADLINE_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        log.warning("A picture of %d bytes was refused after %d seconds.", len(data), DEADLINE_SECONDS)
        return "too_complex", b""
    if done.returncode < 0:  # a limit of the process, or a fault of a decoder
        log.warning("A picture of %d bytes was refused: its process ended by signal %d.", len(data), -done.returncode)
        return "too_complex", b""
    if done.returncode == convert_picture.REFUSED:
        return done.stdout.decode(), b""
    if done.returncode != convert_picture.DONE:
        raise RuntimeError(f"the process that converts pictures failed: {done.stderr.decode(errors='replace')[-2000:]}")
    return "", done.stdout


def open_converted(stored: bytes) -> Image.Image:
    """Return the pixels of a picture that `convert_upload` returned, RGB or RGBA. Raises OSError if it is broken."""
    with Image.open(io.BytesIO(stored), formats=["WEBP"]) as image:
        image.load()
        return image


_QUALITIES = range(80, 93)
_PADDING = 4096  # bytes at most: more than the lengths of two encodings of a picture usually differ


def vary_webp(stored: bytes, random: Callable[[int], bytes]) -> bytes:
    """Re-encode a WebP so that two results for the same picture have neither the same bytes nor the same length.

    `random(n)` returns the first n bytes of one random sequence; the same sequence produces the same file. It varies
    quality and pixels, too little to be visible, and adds a chunk of random length, which WebP readers skip.
    """
    return pool_of("encodings").run(functools.partial(_vary, stored, random))


def _vary(stored: bytes, random: Callable[[int], bytes]) -> bytes:
    pixels = open_converted(stored).convert("RGB")
    count = pixels.width * pixels.height
    drawn = random(3 + _PADDING + count)
    # Each pixel becomes darker by one, lighter by one, or stays.
    noise = Image.frombytes("L", pixels.size, drawn[-count:]).point([value % 3 for value in range(256)])
    varied = ImageChops.add(pixels, Image.merge("RGB", (noise, noise, noise)), offset=-1)
    quality = _QUALITIES[drawn[0] % len(_QUALITIES)]
    length = int.from_bytes(drawn[1:3], "big") % _PADDING + 1
    return _with_padding(encode_webp(varied, quality, method=1), pixels.size, drawn[3 : 3 + length])


def _with_padding(encoded: bytes, size: tuple[int, int], padding: bytes) -> bytes:
    """Convert a WebP from the simple to the extended format, with an unknown chunk (RFC 9649 §2.7)."""
    width, height = ((side - 1).to_bytes(3, "little") for side in size)
    chunks = _chunk(b"VP8X", bytes(4) + width + height) + encoded[12:] + _chunk(b"PADD", padding)
    return _chunk(b"RIFF", b"WEBP" + chunks)


def _chunk(name: bytes, content: bytes) -> bytes:
    return name + struct.pack("<I", len(content)) + content + bytes(len(content) % 2)


Box = tuple[int, int, int, int]

_SIDE = 9  # fields per side: 8 differences between neighbours
# Of 255: differences that lossy encoding causes. A margin ends at a larger difference, which also counts as an edge.
_NOISE = 24
_BLUR = 2  # pixels, between areas of one colour in a picture that was scaled
_SOLID = 0.95  # the share of an area that is filled: a frame around it is not a margin
_WORKING_PIXELS = 256  # per side: more would only take longer


def difference_hash(pixels: Image.Image) -> str | None:
    """Return a hash of 64 bits as 16 hexadecimal digits; None for a picture of one colour.

    Margins are cut off, whether transparent or of one colour. The picture is put on white and converted to shades of
    grey, which are stretched to the whole range, with the background as the brighter side, so that colours do not
    matter. Each bit says whether the first of two neighbouring fields is clearly brighter: 32 from left to right and 32
    from top to bottom, so that edges of both directions count.
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
    """Return the number of bits in which two hashes of 16 hexadecimal digits differ, 0 to 64."""
    return (int(one, 16) ^ int(other, 16)).bit_count()


def _content_box(picture: Image.Image) -> Box | None:
    """Return the box of everything that differs from the picture's first pixel, None if nothing does."""
    return _marked(picture).getbbox()


def _marked(picture: Image.Image) -> Image.Image:
    margin = picture.crop((0, 0, 1, 1)).resize(picture.size)
    differs = ImageChops.difference(picture, margin).convert("L")
    return differs.point([0] * _NOISE + [255] * (256 - _NOISE))


def _box_on_tile(picture: Image.Image) -> Box | None:
    """Return the box of the content on a square of one colour that surrounds it; None for any other picture.

    A frame around a plain area is not such a square: nothing would be left without it.
    """
    if min(picture.size) <= 8 * _BLUR:
        return None
    inner = ImageOps.crop(picture, _BLUR)  # scaling mixes colours where two areas meet
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
    """Return for each field except the last of its row whether it is clearly brighter than the next."""
    rows = [list(fields.tobytes()[start : start + _SIDE]) for start in range(0, _SIDE * fields.height, _SIDE)]
    return [row[place] - row[place + 1] > _NOISE for row in rows for place in range(_SIDE - 1)]
