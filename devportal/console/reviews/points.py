"""What reviewers asked to be changed, point by point, and what the developers did about each point."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from devportal.console.models import AppReview, ReviewEntry
from devportal.console.reviews.reasons import OTHER, REASONS

# The point that stands for the reviewer's note; the others go by the codes of REASONS.
NOTE = "note"
NOTE_TITLE = "The reviewer’s note"


@dataclass(frozen=True)
class Point:
    """One thing that the reviewers want answered: a reason from the catalogue, or their note."""

    code: str
    title: str
    text: str


def points_of(review: AppReview | None) -> list[Point]:
    """Return what has to be answered before a review is sent again; nothing unless changes were requested.

    The reason `other` is no point of its own: its note is. A reason that has left the catalogue asks for nothing.
    """
    if review is None or review.status != AppReview.Status.CHANGES_REQUESTED:
        return []
    known = [REASONS[code] for code in review.reasons if code in REASONS and code != OTHER]
    points = [Point(reason.code, reason.title, reason.text) for reason in known]
    return [*points, Point(NOTE, NOTE_TITLE, review.reason_text)] if review.reason_text else points


def answers_to(points: Sequence[Point], given: Mapping[str, str]) -> dict[str, str]:
    """Return the answers to these points, by code and in their order; whatever else was given is left out."""
    return {point.code: given[point.code] for point in points if given.get(point.code, "").strip()}


def answered_points(entry: ReviewEntry) -> list[tuple[str, str]]:
    """Return the title and the answer of each point that a submission answered, for the timeline."""
    return titled_answers(entry.details.get("answers") or {})


def titled_answers(answers: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return answers by code as pairs of the point's title and the answer."""
    titles = {code: reason.title for code, reason in REASONS.items()} | {NOTE: NOTE_TITLE}
    return [(titles.get(code, code), text) for code, text in answers.items()]
