"""Internal notes on a review, which reviewers write for each other. Developers never read them."""

from typing import Any

from django.db import transaction
from django.dispatch import receiver

from accounts.data_export.archive import moment, rows_of
from accounts.models import Account
from accounts.signals import exporting
from core import clock
from core.audit import Event, report
from devportal.review.models import AppReview, InternalNote
from devportal.review.rules.timeline import required_text
from devportal.review.rules.workflow import (
    ReviewNotAllowed,
    Status,
    lock_for_step,
    lock_rights,
    may_decide,
)

MAX_SHOWN = 100


def may_read_notes(account: Account, review: AppReview) -> bool:
    """Return whether this person may read and write the notes on a review: reviewers who may decide on it.

    Reviewers with a conflict of interest must not read what colleagues think of their app.
    """
    return review.status != Status.DRAFT and may_decide(account, review.client.project, review)


@transaction.atomic
def write_note(review: AppReview, actor: Account, note: str) -> InternalNote:
    """Add a note to a review in any state.

    The audit event names no project, because the project's members can read its audit trail. Raises ReviewNotAllowed,
    IncompleteSubmission, IllegalReviewStep.
    """
    actor = lock_rights(review.client.project_id, actor)
    client = lock_for_step(review.client_id)
    # Checked under the lock, so that memberships and submissions of a moment ago count.
    row = AppReview.objects.select_related("client__project").filter(pk=review.pk).first()
    if row is None or not may_read_notes(actor, row):
        raise ReviewNotAllowed("Only reviewers who may decide on this app can write notes on it.")
    written = InternalNote.objects.create(review=row, author=actor, at=clock.now(), text=required_text(note))
    report(Event("review.note_written", actor.pk, None, client.client_id, {"review": row.number}))
    return written


def notes_on(review: AppReview) -> list[InternalNote]:
    """Return the notes on a review with their authors, oldest first; at most the newest 100.

    The caller has to check `may_read_notes`.
    """
    rows = InternalNote.objects.filter(review=review).select_related("author").order_by("-pk")
    return list(rows[:MAX_SHOWN])[::-1]


@receiver(exporting)
def export_notes(sender: Any, account: Account, **kwargs: Any) -> dict[str, Any]:
    """Return the person's internal notes on reviews and cases, for the data export."""
    rows = InternalNote.objects.filter(author=account).select_related("review__client", "case__project", "case__client")
    return {
        "written_at_the_desk": ({"at": moment(row.at), "about": _about(row), "text": row.text} for row in rows_of(rows))
    }


def _about(note: InternalNote) -> str:
    return str(note.review or note.case or "")
