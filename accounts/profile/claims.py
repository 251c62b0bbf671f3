"""Profile claims of a person, and the URL of their picture."""

import hashlib
import hmac
import io
from dataclasses import dataclass

from django.conf import settings
from django.core.files.base import ContentFile

from accounts.models import Account
from core.credentials import random_text
from core.storage import images
from core.storage.convert_picture import Shape

PICTURE = Shape(side=512, crop=True, quality=85)


@dataclass(frozen=True)
class Profile:
    """The profile of a person in one sector, before it is narrowed by scopes."""

    email: str
    email_verified: bool
    name: str
    given_name: str
    family_name: str | None
    picture: str | None


def display_name(account: Account) -> str:
    """Return the name that pages show: the full name, or the email address if there is none."""
    return account.full_name or account.email


def profile_of(account: Account, picture_key: str) -> Profile:
    """Return the profile of `account` in the sector with this picture key."""
    return Profile(
        email=account.email,
        email_verified=account.email_verified,
        name=account.full_name,
        given_name=account.given_name,
        family_name=account.family_name or None,
        picture=picture_url(_picture_name(account), picture_key),
    )


def _picture_name(account: Account) -> str | None:
    """Return the picture's stored name, without Django's file object if possible.

    The file object and the account refer to each other, so both would wait for the garbage collector.
    """
    stored = vars(account).get("picture")
    return stored if isinstance(stored, str) else account.picture.name


def picture_version(file_name: str | None, picture_key: str) -> str:
    """Return a short hash that changes with the picture and differs between sectors."""
    return hmac.new(picture_key.encode(), (file_name or "").encode(), hashlib.sha256).hexdigest()[:12]


def picture_url(file_name: str | None, picture_key: str) -> str | None:
    """Return the URL of the picture in the sector, None if there is no picture."""
    if not file_name:
        return None
    return f"{settings.AUTH_URL}/pictures/{picture_key}/{picture_version(file_name, picture_key)}.webp"


def clean_picture(upload: io.BufferedIOBase) -> ContentFile[bytes]:
    """Return an uploaded picture, converted: square, at most 512 pixels per side, on white, without metadata.

    Raises what `images.convert_upload` raises.
    """
    content = images.convert_upload(upload, PICTURE, what="picture", max_bytes=settings.PICTURE_MAX_BYTES)
    return ContentFile(content, name=f"{random_text(32)}.webp")
