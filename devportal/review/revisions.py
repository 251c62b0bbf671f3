"""The stored values of each submission, so that the next one can be compared with it."""

from collections.abc import Mapping
from functools import partial

from django.db import transaction

from accounts.models import Account
from core import clock
from devportal.review.evidence.page_check_requests import request_check
from devportal.review.models import AppReview, ReviewRevision


def note_revision(review: AppReview, actor: Account, answers: Mapping[str, str] | None = None) -> ReviewRevision:
    """Store the values of a submission, and have its pages checked after the commit.

    Call it in the transaction of the submission, after `revision` and `snapshot` are set. `answers` are the developers'
    answers to the last requests of the reviewers: code of the reason -> text.
    """
    row = ReviewRevision.objects.create(
        review=review,
        number=review.revision,
        snapshot=review.snapshot,
        answers=dict(answers or {}),
        sent_at=clock.now(),
        sent_by=actor,
    )
    transaction.on_commit(partial(request_check, row.pk), robust=True)
    return row
