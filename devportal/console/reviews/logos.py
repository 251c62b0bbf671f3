"""Logos of drafts and of what was approved: stored once, and deleted when nothing refers to them any more."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import transaction

from oidc.models import Client

FOLDER = "logos/"


@contextmanager
def kept(logo: ContentFile[bytes] | None) -> Iterator[str]:
    """Store a logo for the block and yield its name ("" for none); if the block fails, it is deleted again."""
    if logo is None:
        yield ""
        return
    name = default_storage.save(f"{FOLDER}{logo.name}", logo)
    try:
        yield name
    except BaseException:
        default_storage.delete(name)
        raise


def forget_unused(client: Client, name: str) -> None:
    """Once the transaction is committed, delete a logo that neither the app nor any of its reviews names."""
    if name:
        transaction.on_commit(partial(_delete_if_unused, client.pk, name), robust=True)


def _delete_if_unused(client_id: int, name: str) -> None:
    client = Client.objects.filter(pk=client_id).first()
    if client is not None and (client.logo.name == name or client.reviews.filter(snapshot__logo=name).exists()):
        return
    default_storage.delete(name)
