"""What was sent with each submission of a review: kept, so that the next one can be compared with it."""

from collections.abc import Mapping
from functools import partial

from django.db import transaction

from accounts.models import Account
from core import clock
from devportal.review.evidence.page_check_requests import request_check
from devportal.review.models import AppReview, ReviewRevision


def note_revision(review: AppReview, actor: Account, answers: Mapping[str, str] | None = None) -> ReviewRevision:
    """Keep what a review was just sent with, and have its pages looked at once the transaction is committed.

    Call it in the transaction of the submission, when `revision` and `snapshot` are what was sent. `answers` are the
    developers' to what the reviewers asked the last time: code of the reason -> text.
    """
    row = ReviewRevision.objects.create(
        review=review,
        number=review.revision,
        snapshot=review.snapshot,
        answers=dict(answers or {}),
        sent_at=review.submitted_at or clock.now(),
        sent_by=actor,
    )
    transaction.on_commit(partial(request_check, row.pk), robust=True)
    return row
