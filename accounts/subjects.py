"""Pairwise ids: made at first use, the same ever after (specification 2.5)."""

from accounts.models import Account, PairwiseSubject
from devportal.lib.credentials import random_text

SUB_LENGTH = 32  # 190 random bits; the specification allows at most 64 characters


def subject_for(account: Account, sector: str) -> PairwiseSubject:
    """Return the subject of `account` in `sector`, making it at the first call.

    Safe when two clients ask at once: the unique constraint lets one row in, and both get that row.
    """
    subject, _ = PairwiseSubject.objects.get_or_create(
        account=account,
        sector=sector,
        defaults={"sub": random_text(SUB_LENGTH), "picture_key": random_text(SUB_LENGTH)},
    )
    return subject
