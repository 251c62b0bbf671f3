"""What developers write for the reviewers alone: where scopes are used, a demo, a note, and their answers."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.core.exceptions import ValidationError

from devportal.console.reviews.snapshots import UNSENT, Snapshot
from devportal.console.reviews.test_accounts import Credentials
from devportal.console.reviews.timeline import clean_text
from oidc.clients.branding import validate_page_url

MAX_PLACE_LENGTH = 500  # characters


@dataclass(frozen=True)
class ForReviewers:
    """What to write; None stays as it is.

    `places` says by scope where in the app it is used, `answers` by point what was done about it. `note` and `answers`
    wait with the draft until it is sent.
    """

    places: Mapping[str, str] | None = None
    demo_url: str | None = None
    note: str | None = None
    answers: Mapping[str, str] | None = None
    test_account: Credentials | None = None
    remove_test_account: bool = False


def write_for_reviewers(draft: Snapshot, given: ForReviewers) -> Snapshot:
    """Return the values of a draft with what is written for the reviewers; its scopes are final already.

    Raises ValidationError by field, IncompleteSubmission for a text that is too long.
    """
    places = draft.get("places", {}) if given.places is None else given.places
    unsent = dict(draft.get(UNSENT, {}))
    if given.note is not None:
        unsent["note"] = clean_text(given.note)
    if given.answers is not None:
        unsent["answers"] = {code: clean_text(text) for code, text in given.answers.items()}
    kept = {name: value for name, value in draft.items() if name != UNSENT} | {
        "places": {scope: _place(scope, places.get(scope, "")) for scope in draft["scopes"]},
        "demo_url": draft.get("demo_url", "") if given.demo_url is None else _demo(given.demo_url),
    }
    return kept | {UNSENT: unsent} if any(unsent.values()) else kept


def _place(scope: str, text: str) -> str:
    place = clean_text(text)
    if len(place) > MAX_PLACE_LENGTH:
        raise ValidationError({"places": f"Write at most {MAX_PLACE_LENGTH} characters on {scope}."})
    return place


def _demo(url: str) -> str:
    kept = url.strip()
    if kept:
        try:
            validate_page_url(kept)
        except ValidationError as error:
            raise ValidationError({"demo_url": error.messages}) from error
    return kept
