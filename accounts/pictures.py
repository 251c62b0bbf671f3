"""Profile pictures per sector: addresses and encodings that can't be linked (docs/security.md#ids-and-pictures)."""

import functools
import hashlib
import hmac
from typing import Any

from django.core.files.storage import default_storage
from django.dispatch import Signal

from accounts.models import Account, PairwiseSubject
from devportal.lib import images
from devportal.lib.credentials import random_text

KEY_LENGTH = 32  # 190 random bits
_KEPT_ENCODED = 128  # of at most about 100 kB, by each process: encoding takes 40 ms

# Sent with `account` and `sector`; a receiver returns whether an app or API key of the sector may read the person's
# profile now.
profile_read = Signal()


def new_picture_key() -> str:
    """Return a random key for the address of a picture in one sector."""
    return random_text(KEY_LENGTH)


def is_picture_visible(account: Account, sector: str) -> bool:
    """Return whether an app or key of the sector may see the picture now; else its address answers 404."""
    answers: list[tuple[Any, Any]] = list(profile_read.send(sender=Account, account=account, sector=sector))
    return any(answer for _, answer in answers)


def rotate_picture_keys(account: Account) -> None:
    """Give the picture a new address in every sector; the former ones answer 404."""
    for pk in PairwiseSubject.objects.filter(account=account).values_list("pk", flat=True):
        PairwiseSubject.objects.filter(pk=pk).update(picture_key=new_picture_key())


def read_picture(file_name: str) -> bytes:
    """Return a stored picture. Raises FileNotFoundError."""
    with default_storage.open(file_name, "rb") as file:
        content: bytes = file.read()
    return content


@functools.lru_cache(maxsize=_KEPT_ENCODED)
def encode_picture_for(file_name: str, picture_key: str) -> bytes:
    """Return a stored picture, encoded for the sector with this key; deterministic for each key.

    Each sector's has other bytes, another length, and pixels that differ by what nobody sees. Raises FileNotFoundError.
    """
    # Nobody makes it again without the file's name, which never leaves the service.
    seed = hmac.digest(picture_key.encode(), f"bytes of {file_name}".encode(), hashlib.sha256)
    return images.vary_webp(read_picture(file_name), hashlib.shake_256(seed).digest)
