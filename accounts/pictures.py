"""Profile pictures per sector: URLs and encodings that can't be linked (docs/security.md#ids-and-pictures)."""

import functools
import hashlib
import hmac
from contextlib import suppress
from typing import Any

from django.core.files.base import ContentFile
from django.dispatch import Signal

from accounts import files
from accounts.models import Account, PairwiseSubject
from core.credentials import random_text
from core.storage import images, stored_files

KEY_LENGTH = 32  # 190 random bits
FOLDER = "pictures/"
_KEPT_ENCODED = 128  # of at most about 100 kB, in each process: encoding takes 40 ms

# Sent with `account` and `sector`; a receiver returns whether an app or API key of the sector may read the person's
# profile now.
profile_read = Signal()


def new_picture_key() -> str:
    """Return a random key for the URL of a picture in one sector."""
    return random_text(KEY_LENGTH)


def is_picture_visible(account: Account, sector: str) -> bool:
    """Return whether an app or key of the sector may see the picture now; otherwise its URL returns 404."""
    answers: list[tuple[Any, Any]] = list(profile_read.send(sender=Account, account=account, sector=sector))
    return any(answer for _, answer in answers)


def rotate_picture_keys(account: Account) -> None:
    """Give the picture a new URL in every sector; the former URLs return 404."""
    for pk in PairwiseSubject.objects.filter(account=account).values_list("pk", flat=True):
        PairwiseSubject.objects.filter(pk=pk).update(picture_key=new_picture_key())


def has_picture(account: Account, content: ContentFile[bytes]) -> bool:
    """Return whether this is already the account's picture. Raises StoreUnavailable."""
    with suppress(FileNotFoundError):
        return stored_files.read_file(account.picture.name or "") == content.open().read() if account.picture else False
    return False


def store_picture(content: ContentFile[bytes]) -> str:
    """Store a picture from `accounts.profile.clean_picture` and return its file's name.

    Call it within `files.discarded_on_failure`, and before a transaction: a store may take seconds. Raises
    StoreUnavailable.
    """
    return files.store(FOLDER, content)


def replace_picture(account: Account, stored: str, former: str | None) -> None:
    """Give an account another picture, "" for none; the caller saves the row. The commit deletes the former file."""
    account.picture = stored
    if former:
        files.delete_on_commit(former)


@functools.lru_cache(maxsize=_KEPT_ENCODED)
def encode_picture_for(file_name: str, picture_key: str) -> bytes:
    """Return a stored picture, encoded for the sector with this key; deterministic for each key.

    Each sector gets other bytes, another length, and invisible differences in the pixels. Raises FileNotFoundError,
    StoreUnavailable.
    """
    # The seed contains the file's name, which never leaves the service, so nobody else can reproduce it.
    seed = hmac.digest(picture_key.encode(), f"bytes of {file_name}".encode(), hashlib.sha256)
    return images.vary_webp(stored_files.read_file(file_name), hashlib.shake_256(seed).digest)
