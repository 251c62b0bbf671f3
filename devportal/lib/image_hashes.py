"""A perceptual hash of pictures: those that look alike have hashes that differ in few bits."""

from typing import Any

from PIL import Image, ImageChops, ImageOps, ImageStat

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
