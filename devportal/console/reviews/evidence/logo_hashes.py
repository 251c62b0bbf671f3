"""`Client.logo_hash`: computed when the logo of an app changes, and for older ones by a periodic task."""

import io
from functools import partial

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction

from devportal.lib.image_hashes import difference_hash
from devportal.lib.images import decode_image
from devportal.lib.stored_files import StoreUnavailable, read_file
from oidc.clients.logos import MAX_PIXELS
from oidc.models import Client

# In place of a hash: the logo is of one colour, or its file is missing or can't be read.
NOTHING_TO_SEE = "-"
MAX_FILLED = 50  # logos that one run of the periodic task reads


def is_telling(logo_hash: str) -> bool:
    """Return whether this is a hash that can be compared with others."""
    return logo_hash not in ("", NOTHING_TO_SEE)


def hash_logo(name: str) -> str:
    """Return the hash of a stored logo, "" for no logo. Raises StoreUnavailable."""
    if not name:
        return ""
    try:
        content = io.BytesIO(read_file(name))
        pixels = decode_image(content, what="logo", max_bytes=settings.LOGO_MAX_BYTES, max_pixels=MAX_PIXELS)
    except (FileNotFoundError, ValidationError):
        return NOTHING_TO_SEE
    return difference_hash(pixels) or NOTHING_TO_SEE


def hash_of_new_logo(client: Client, name: str) -> str:
    """Return the hash that `client` has with the logo `name`: the one it has, or "" until the transaction is over.

    A new logo is read once it is committed, so that no row is locked while the store answers.
    """
    if name == (client.logo.name or "") and (client.logo_hash or not name):
        return client.logo_hash
    if name:
        transaction.on_commit(partial(_fill, client.pk), robust=True)
    return ""


def hash_asked(client: Client, name: str) -> str:
    """Return the hash of a logo that is asked for; "" without one, and while the store does not answer."""
    if name and name == client.logo.name and client.logo_hash:
        return client.logo_hash
    try:
        return hash_logo(name)
    except StoreUnavailable:
        return ""


def _fill(pk: int) -> bool:
    """Compute the hash of an app's logo; return False if there is none, or the store does not answer."""
    client = Client.objects.filter(pk=pk).only("logo", "logo_hash").first()
    if client is None or not client.logo.name:
        return False
    try:
        found = hash_logo(client.logo.name)
    except StoreUnavailable:
        return False
    # Only for the logo that was read: another one may have come meanwhile.
    return bool(Client.objects.filter(pk=pk, logo=client.logo.name).update(logo_hash=found))


def fill_missing() -> int:
    """Compute the hashes that verified apps' logos lack, of at most 50 apps; return how many were computed."""
    rows = Client.objects.filter(verified_at__isnull=False, logo_hash="").exclude(logo="")
    keys = list(rows.order_by("-verified_at").values_list("pk", flat=True)[:MAX_FILLED])
    return sum(_fill(pk) for pk in keys)
