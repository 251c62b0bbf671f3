"""Canned replies: texts that reviewers begin their notes with, and the placeholders in them."""

import re
from collections.abc import Mapping

from django.conf import settings

from devportal.review.models import AppReview, ReviewCase
from devportal.review.rules.timeline import clean_text
from devportal.review.rules.workflow import IncompleteSubmission
from oidc.models import Project

# Placeholder -> what replaces it in a note.
PLACEHOLDERS: Mapping[str, str] = {
    "app": "the name of the app in the submission",
    "project": "the name of its project",
    "service": "the name of this service",
}
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


def clean_reply(text: str) -> str:
    """Return the text of a canned reply, cleaned for storage.

    Raises IncompleteSubmission if the text is empty, too long, or has an unknown placeholder.
    """
    kept = clean_text(text)
    if not kept:
        raise IncompleteSubmission("Write the text of the reply.")
    unknown = sorted({name for name in _PLACEHOLDER.findall(kept) if name not in PLACEHOLDERS})
    if unknown:
        known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
        wrong = ", ".join(f"{{{name}}}" for name in unknown)
        raise IncompleteSubmission(f"Unknown placeholders: {wrong}. Use only these: {known}.")
    return kept


def values_for(about: AppReview | ReviewCase | Project) -> dict[str, str]:
    """Return the values of the placeholders in a note on a review, a case, or a whole project."""
    if isinstance(about, AppReview):
        app, project = about.name or about.client.name, about.client.project.name
    elif isinstance(about, ReviewCase):
        app, project = about.client.name if about.client else "your apps", about.project.name
    else:
        app, project = "your apps", about.name
    return {"app": app, "project": project, "service": settings.SERVICE_NAME or "this service"}


def filled_in(text: str, values: Mapping[str, str]) -> str:
    """Return the text with its placeholders filled in. Placeholders within values are not replaced."""
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), text)


def put_in_front(reply: str, note: str) -> str:
    """Return the note with the reply before it."""
    return f"{reply}\n\n{note}" if note.strip() else reply
