"""A person's profile as claims, and where their picture is found."""

import hashlib
import hmac
import io
from dataclasses import dataclass

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.files.base import ContentFile
from PIL import Image, ImageOps, UnidentifiedImageError

from accounts.models import Account
from devportal.lib.credentials import random_text

PICTURE_PIXELS = 512
PICTURE_MAX_PIXELS = 40_000_000  # what an upload may unpack to; a phone's photo has about 12 million
_FORMATS = ("JPEG", "PNG", "WEBP", "GIF")


@dataclass(frozen=True)
class Profile:
    """What an app may learn about a person, before scopes narrow it."""

    email: str
    email_verified: bool
    name: str
    given_name: str
    family_name: str | None
    picture: str | None


def display_name(account: Account) -> str:
    """Return what pages call a person: the name, or the address of someone who gave none."""
    return account.full_name or account.email


def profile_of(account: Account, picture_key: str) -> Profile:
    """Return the profile of `account` as the sector with this picture key sees it."""
    return Profile(
        email=account.email,
        email_verified=account.email_verified,
        name=account.full_name,
        given_name=account.given_name,
        family_name=account.family_name or None,
        picture=picture_url(account.picture.name, picture_key),
    )


def picture_version(file_name: str | None, picture_key: str) -> str:
    """Return a short text that changes with the picture and is alike in no two sectors."""
    return hmac.new(picture_key.encode(), (file_name or "").encode(), hashlib.sha256).hexdigest()[:12]


def picture_url(file_name: str | None, picture_key: str) -> str | None:
    """Return the sector's address of the picture, None without one."""
    if not file_name:
        return None
    return f"{settings.AUTH_URL}/pictures/{picture_key}/{picture_version(file_name, picture_key)}.webp"


def clean_picture(upload: io.BufferedIOBase) -> ContentFile[bytes]:
    """Return an uploaded picture decoded and encoded anew: square, at most 512 pixels, nothing but pixels in it.

    Raises ValidationError for anything but a JPEG, PNG, WebP or GIF of a reasonable size.
    """
    data = upload.read(settings.PICTURE_MAX_BYTES + 1)
    if len(data) > settings.PICTURE_MAX_BYTES:
        raise ValidationError(f"The picture may have at most {settings.PICTURE_MAX_BYTES // 1024 // 1024} MB.")
    try:
        with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
            if image.width * image.height > PICTURE_MAX_PIXELS:
                raise ValidationError("The picture has too many pixels; make it smaller and try again.")
            pixels = ImageOps.fit(
                ImageOps.exif_transpose(image).convert("RGB"),
                (min(PICTURE_PIXELS, image.width), min(PICTURE_PIXELS, image.height)),
            )
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise ValidationError("This is not a picture that can be read; use a JPEG, PNG, WebP or GIF.") from error
    encoded = io.BytesIO()
    pixels.save(encoded, "WEBP", quality=85)
    return ContentFile(encoded.getvalue(), name=f"{random_text(32)}.webp")
