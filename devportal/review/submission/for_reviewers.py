"""Information from developers for reviewers only: uses of scopes, a demo, and a test account (docs/review.md)."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from django.core.exceptions import ValidationError
from django.db import transaction

from accounts.models import Account
from core.database import encryption
from core.database.encryption import EncryptedColumn, register
from devportal.review.models import AppReview
from devportal.review.rules.snapshots import UNSENT, Snapshot
from devportal.review.rules.timeline import clean_text
from devportal.review.rules.workflow import (
    IllegalReviewStep,
    ReviewNotAllowed,
    Side,
    lock_for_step,
    lock_rights,
    may_decide,
)
from oidc.domains.branding import validate_page_url
from oidc.projects.roles import report_project_event

# In characters.
MAX_LOGIN_LENGTH = 254
MAX_PASSWORD_LENGTH = 200
MAX_NOTE_LENGTH = 2000

register(EncryptedColumn(AppReview, "test_account_encrypted"))


@dataclass(frozen=True)
class Credentials:
    """Credentials of an app's test account. `note` explains how to reach the parts to review."""

    login: str
    password: str = field(repr=False)
    note: str = ""


def validate_typeable(text: str) -> None:
    """Raise ValidationError for a login or password that nobody could type."""
    if not text.isprintable():
        raise ValidationError("This contains characters that nobody can type.")


def keep_test_account(review: AppReview, actor: Account, given: Credentials | None) -> None:
    """Store the test account of a draft, replacing the previous one; None removes it. The form has checked its values.

    Runs in the caller's transaction, which has locked the client.
    """
    if given is None and not review.test_account_encrypted:
        return
    review.test_account_encrypted = encryption.encrypt(json.dumps(asdict(given))) if given else ""
    review.save(update_fields=["test_account_encrypted"])
    _report("stored" if given else "removed", review, actor, Side.DEVELOPER)


def may_see_test_account(review: AppReview, actor: Account) -> bool:
    """Return whether this person may see the test account: only the assignee, while they may decide."""
    return review.is_frozen and review.assignee_id == actor.pk and may_decide(actor, review.client.project, review)


@transaction.atomic
def test_account_for(review: AppReview, actor: Account) -> dict[str, str] | None:
    """Return `login`, `password` and `note` if the actor is the assigned reviewer and may decide, otherwise None.

    Also returns None if no test account is stored. Each access is audited. Rights are read under the lock that
    decisions take. Raises encryption.Unreadable.
    """
    try:
        actor = lock_rights(review.client.project_id, actor)
        client = lock_for_step(review.client_id)
    except (IllegalReviewStep, ReviewNotAllowed):
        return None
    row = AppReview.objects.filter(pk=review.pk).first()
    if row is None or not row.test_account_encrypted:
        return None
    row.client = client
    if not may_see_test_account(row, actor):
        return None
    found: dict[str, str] = json.loads(encryption.decrypt(row.test_account_encrypted))
    _report("seen", row, actor, Side.REVIEWER)
    return found


def _report(what: str, review: AppReview, actor: Account, side: str) -> None:
    client = review.client
    details = {"side": side, "review": review.number, "revision": review.revision}
    report_project_event(f"review.test_account_{what}", client.project, actor, client.client_id, details=details)


MAX_PLACE_LENGTH = 500  # characters


@dataclass(frozen=True)
class ForReviewers:
    """The texts to store. None leaves a text unchanged.

    `places` maps each scope to where in the app it is used, `answers` the code of each point to what was done about it.
    `note` and `answers` are kept with the draft until it is submitted.
    """

    places: Mapping[str, str] | None = None
    demo_url: str | None = None
    note: str | None = None
    answers: Mapping[str, str] | None = None
    test_account: Credentials | None = None
    remove_test_account: bool = False


def write_for_reviewers(draft: Snapshot, given: ForReviewers) -> Snapshot:
    """Return the values of a draft with the texts for reviewers added. Its scopes must be final.

    Raises ValidationError by field, and IncompleteSubmission if a text is too long.
    """
    places = draft["places"] if given.places is None else given.places
    unsent = dict(draft.get(UNSENT, {}))
    if given.note is not None:
        unsent["note"] = clean_text(given.note)
    if given.answers is not None:
        unsent["answers"] = {code: clean_text(text) for code, text in given.answers.items()}
    kept = {name: value for name, value in draft.items() if name != UNSENT} | {
        "places": {scope: _place(scope, places.get(scope, "")) for scope in draft["scopes"]},
        "demo_url": draft["demo_url"] if given.demo_url is None else _demo(given.demo_url),
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
