"""Context of the page of one review: differences, evidence, thread and decisions."""

from collections.abc import Iterable
from typing import Any

from django.urls import reverse

from devportal.console import reviews
from devportal.console.admin.forms import scope_title
from devportal.console.models import AppReview
from devportal.console.reviews.evidence.presentation import evidence_context, leaving_link

MOST_EARLIER = 20
_ADDRESSES = ("home_page_url", "privacy_policy_url", "terms_url", "redirect_urls", "sign_out_urls")


def review_context(review: AppReview) -> dict[str, Any]:
    """Return the context of the template `admin/console/review.html`."""
    client = review.client
    earlier = client.reviews.exclude(pk=review.pk).exclude(status=AppReview.Status.DRAFT)
    return {
        "title": str(review),
        "review": review,
        "client": client,
        "project": client.project,
        "differences": [_difference(review, row) for row in reviews.differences(review)],
        "asked": [_asked(review, field, label) for field, label in reviews.LABELS.items() if field != "scopes"],
        "scopes": _scopes(review),
        "evidence": evidence_context(review),
        "earlier": _titled(earlier.select_related("decided_by").order_by("-number")[:MOST_EARLIER]),
        "entries": _titled(reviews.timeline(client)),
    }


def logo_name(review: AppReview, which: str) -> str:
    """Return the stored logo of the submission (`asked`) or of the approved values (`before`); "" for none."""
    snapshot = review.baseline if which == "before" else review.snapshot
    return str(snapshot.get("logo") or "")


def _logo_url(review: AppReview, which: str) -> str:
    return reverse("admin:console_appreview_logo", args=[review.pk, which]) if logo_name(review, which) else ""


def _lines(value: Any) -> list[str]:
    """Return a value of a snapshot as lines of text, for comparison."""
    if isinstance(value, dict):
        return [f"{scope}: {justification}" for scope, justification in value.items()]
    return [str(line) for line in value] if isinstance(value, list) else [str(value)] if value else []


def _difference(review: AppReview, row: reviews.Difference) -> dict[str, Any]:
    if row.field == "logo":
        logos = {"before": _logo_url(review, "before"), "after": _logo_url(review, "asked")}
        return {"label": row.label, "is_logo": True, **logos}
    return {"label": row.label, "before": _lines(row.before), "after": _lines(row.after)}


def _asked(review: AppReview, field: str, label: str) -> dict[str, Any]:
    value = review.snapshot.get(field)
    lines = [] if field == "logo" else _lines(value)
    return {
        "label": label,
        "logo": _logo_url(review, "asked") if field == "logo" else "",
        "lines": [leaving_link(review, line if field in _ADDRESSES else "", line) for line in lines],
    }


def _scopes(review: AppReview) -> list[dict[str, Any]]:
    held = review.client.approved_scopes.split()
    return [
        {
            "name": scope,
            "title": scope_title(scope),
            "justification": justification,
            "is_held": scope in held,
            "decision": review.decisions.get(scope),
        }
        for scope, justification in review.snapshot.get("scopes", {}).items()
    ]


def _titled(rows: Iterable[Any]) -> list[Any]:
    """Add the titles of its reasons to each row."""
    known = {**reviews.SUSPENSION_REASONS, **reviews.REASONS}
    listed = list(rows)
    for row in listed:
        row.reason_titles = [known[code].title if code in known else code for code in row.reasons]
    return listed
