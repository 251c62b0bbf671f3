"""What was sent with each submission of a review, kept for comparison with the next one."""

from collections.abc import Mapping

from accounts.models import Account
from devportal.console.models import AppReview, ReviewRevision
from devportal.lib import clock


def note_revision(review: AppReview, actor: Account, answers: Mapping[str, str] | None = None) -> ReviewRevision:
    """Keep what was just sent, in the transaction of the submission.

    `answers` are the developers' answers to what was asked the last time, by the code of the point.
    """
    return ReviewRevision.objects.create(
        review=review,
        number=review.revision,
        snapshot=review.snapshot,
        answers=dict(answers or {}),
        sent_at=clock.now(),
        sent_by=actor,
    )
