"""Logo files of drafts and approved values: stored once, and deleted when no row refers to them."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from django.core.exceptions import ValidationError
from django.core.files.base import ContentFile
from django.db import transaction
from django.db.models.signals import post_delete
from django.dispatch import receiver
from django.urls import reverse

from accounts.profile import files
from core.storage.stored_files import StoreUnavailable
from devportal.review.models import AppReview, ReviewRevision
from oidc.domains.branding import logo_version
from oidc.models import Client

FOLDER = "logos/"


@contextmanager
def stored_logo(logo: ContentFile[bytes] | None) -> Iterator[str]:
    """Store a logo and yield its name ("" for none). If the block fails, delete it again.

    Raises ValidationError for the field `logo` if the store is not available.
    """
    with files.discarded_on_failure():
        try:
            name = files.store(FOLDER, logo) if logo else ""
        except StoreUnavailable as error:
            text = "The logo could not be stored. Nothing was changed; try again in a minute."
            raise ValidationError({"logo": text}) from error
        yield name


def logo_path(client: Client, name: str) -> str:
    """Return the path at which members and reviewers find a logo of an app, approved or not; "" if there is none."""
    if not name:
        return ""
    return reverse("console:review_logo", args=[client.project.public_id, client.client_id, logo_version(name)])


def find_logo(client: Client, wanted: str) -> str | None:
    """Return the name of the logo with this version, if the app or one of its reviews uses it."""
    names = {client.logo.name, *AppReview.objects.filter(client=client).values_list("snapshot__logo", flat=True)}
    return next((name for name in names if name and logo_version(name) == wanted), None)


def delete_if_unused(client: Client, name: str) -> None:
    """After the commit, delete a logo that neither the app nor any of its reviews uses.

    A submitted logo is kept as long as its review, because reviewers compare the next submission with it.
    """
    _forget(client.pk, name)


def _forget(client_id: int, name: str | None) -> None:
    if name:
        transaction.on_commit(partial(_delete_if_unused, client_id, name), robust=True)


@receiver(post_delete, sender=AppReview)
def review_deleted(sender: Any, instance: AppReview, **kwargs: Any) -> None:
    _forget(instance.client_id, instance.snapshot.get("logo"))


@receiver(post_delete, sender=ReviewRevision)
def revision_deleted(sender: Any, instance: ReviewRevision, **kwargs: Any) -> None:
    # Rows that refer to others are deleted first, so the review still exists.
    client = AppReview.objects.filter(pk=instance.review_id).values_list("client", flat=True).first()
    if client is not None:
        _forget(client, instance.snapshot.get("logo"))


@receiver(post_delete, sender=Client)
def client_deleted(sender: Any, instance: Client, **kwargs: Any) -> None:
    _forget(instance.pk, instance.logo.name)


def _delete_if_unused(client_id: int, name: str) -> None:
    client = Client.objects.filter(pk=client_id).first()
    if client is not None and _is_named(client, name):
        return
    files.delete_on_commit(name)


def _is_named(client: Client, name: str) -> bool:
    sent = ReviewRevision.objects.filter(review__client=client, snapshot__logo=name)
    return client.logo.name == name or client.reviews.filter(snapshot__logo=name).exists() or sent.exists()
