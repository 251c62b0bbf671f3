"""Logos of apps: re-encoding an upload, and its public address once the app is reviewed (docs/review.md#logos)."""

import hashlib
import io

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.files.base import ContentFile
from django.urls import reverse
from PIL import Image, ImageOps

from devportal.lib import images
from devportal.lib.credentials import random_text
from oidc.models import Client

LOGO_PIXELS = 512
MIN_PIXELS = 64  # of the shorter side; less is a blur
MAX_ASPECT_RATIO = 3  # times as long as it is wide
MAX_PIXELS = 16_000_000  # of an upload, when decoded


def clean_logo(upload: io.BufferedIOBase) -> ContentFile[bytes]:
    """Return an uploaded logo, re-encoded: square, at most 512 pixels a side, without metadata.

    What is not square gets a transparent margin: a logo is never cut. Raises ValidationError for its developer to read.
    """
    pixels = images.decode_image(upload, what="logo", max_bytes=settings.LOGO_MAX_BYTES, max_pixels=MAX_PIXELS)
    shorter, longer = sorted(pixels.size)
    if shorter < MIN_PIXELS:
        raise ValidationError(f"The logo needs at least {MIN_PIXELS} pixels a side.")
    if longer > MAX_ASPECT_RATIO * shorter:
        raise ValidationError("The logo is too long: it is shown in a square.")
    side = min(LOGO_PIXELS, longer)
    fitting = ImageOps.contain(pixels.convert("RGBA"), (side, side))
    square = Image.new("RGBA", (side, side), (0, 0, 0, 0))
    square.paste(fitting, ((side - fitting.width) // 2, (side - fitting.height) // 2))
    return ContentFile(images.encode_webp(square, quality=90), name=f"{random_text(32)}.webp")


def logo_version(file_name: str) -> str:
    """Return a short hash that changes with the logo."""
    return hashlib.sha256(file_name.encode()).hexdigest()[:20]


def public_logo_path(client: Client) -> str | None:
    """Return the public path of an app's logo, None while the app is unverified or without a logo."""
    if not client.shows_logo:
        return None
    return reverse("logo", args=[client.client_id, logo_version(client.logo.name or "")])
