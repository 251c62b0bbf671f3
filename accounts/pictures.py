"""A person's picture in one sector: while somebody there may see it, and in bytes that no other sector gets."""

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

# `account`, `sector`; a receiver tells whether anything in the sector may read the person's profile now. This floor
# knows no apps and no keys.
profile_read = Signal()


def new_key() -> str:
    """Return what the person's picture is found by in one sector."""
    return random_text(KEY_LENGTH)


def is_shown(account: Account, sector: str) -> bool:
    """Tell whether an app or key of the sector may see the person's picture now; its address lives as long."""
    answers: list[tuple[Any, Any]] = list(profile_read.send(sender=Account, account=account, sector=sector))
    return any(answer for _, answer in answers)


def replace_keys(account: Account) -> None:
    """Give the person's picture another address in every sector: those that were given out end."""
    for pk in PairwiseSubject.objects.filter(account=account).values_list("pk", flat=True):
        PairwiseSubject.objects.filter(pk=pk).update(picture_key=new_key())


def stored(file_name: str) -> bytes:
    """Return a stored picture. Raises FileNotFoundError."""
    with default_storage.open(file_name, "rb") as file:
        content: bytes = file.read()
    return content


@functools.lru_cache(maxsize=_KEPT_ENCODED)
def encoded_for(file_name: str, picture_key: str) -> bytes:
    """Return a stored picture as the sector with this key gets it, the same bytes each time.

    Each sector's has other bytes, another length, and pixels that differ by what nobody sees. Raises FileNotFoundError.
    """
    # Nobody makes it again without the file's name, which never leaves the service.
    seed = hmac.digest(picture_key.encode(), f"bytes of {file_name}".encode(), hashlib.sha256)
    return images.varied_webp(stored(file_name), hashlib.shake_256(seed).digest)
