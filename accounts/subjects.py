"""Pairwise subject identifiers (OpenID Connect Core 8.1): created at first use, never changed."""

from django.db import transaction

from accounts import pictures
from accounts.models import Account, PairwiseSubject
from devportal.lib.credentials import random_text

SUB_LENGTH = 32  # 190 random bits


def subject_for(account: Account, sector: str, *, reads_profile: bool = False) -> PairwiseSubject:
    """Return the subject of `account` in `sector`, creating it if there is none.

    Safe when two clients ask at once: the unique constraint lets one row in, and both get that row. With
    `reads_profile` the caller is about to let something in the sector read the profile. If nothing there may do so up
    to now, the picture gets a new address: the former one was taken back. Call it inside that transaction.
    """
    subject, is_new = PairwiseSubject.objects.get_or_create(
        account=account,
        sector=sector,
        defaults={"sub": random_text(SUB_LENGTH), "picture_key": pictures.new_picture_key()},
    )
    if reads_profile and not is_new:
        _renew_picture_key(subject)
    return subject


def _renew_picture_key(subject: PairwiseSubject) -> None:
    """Give the picture a new address in its sector unless one is in use."""
    with transaction.atomic():
        # Of two that begin at once the second finds the first, and keeps what that one was given.
        row = PairwiseSubject.objects.select_for_update(no_key=True).get(pk=subject.pk)
        if not pictures.is_picture_visible(subject.account, subject.sector):
            row.picture_key = pictures.new_picture_key()
            row.save(update_fields=["picture_key"])
    subject.picture_key = row.picture_key
