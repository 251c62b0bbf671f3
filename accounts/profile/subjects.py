"""Pairwise subject identifiers (OpenID Connect Core 8.1): created at first use, never changed."""

from django.db import IntegrityError, transaction

from accounts.models import Account, PairwiseSubject
from accounts.profile import files
from core.credentials import random_text

SUB_LENGTH = 32  # 190 random bits


def subject_for(account: Account, sector: str, *, reads_profile: bool = False) -> PairwiseSubject:
    """Return the subject of `account` in `sector`, creating it if there is none.

    Safe if two clients ask at once: the unique constraint allows one row, and both get it. With `reads_profile`, the
    caller is about to give something in the sector access to the profile. If nothing there had access before, the
    picture gets a new URL, because the former one was withdrawn. Call this inside that transaction.
    """
    # Without a picture there is no URL to withdraw: the next picture's URL contains its `picture_version`.
    reads_profile = reads_profile and bool(account.picture)
    subject = _find(account, sector, lock=reads_profile)
    if subject is None:
        try:
            with transaction.atomic():
                made = {"sub": random_text(SUB_LENGTH), "picture_key": files.new_picture_key()}
                return PairwiseSubject.objects.create(account=account, sector=sector, **made)
        except IntegrityError:
            subject = _find(account, sector, lock=reads_profile)
            if subject is None:
                raise
    # If two such calls run at once, the second waits for the first, and keeps its URL.
    if reads_profile and not files.is_picture_visible(account, sector):
        subject.picture_key = files.new_picture_key()
        subject.save(update_fields=["picture_key"])
    return subject


def _find(account: Account, sector: str, *, lock: bool) -> PairwiseSubject | None:
    found = PairwiseSubject.objects.filter(account=account, sector=sector)
    return (found.select_for_update(no_key=True) if lock else found).first()
