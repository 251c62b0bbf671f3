"""Context of the page of one review: differences, evidence, thread and decisions."""

from collections.abc import Iterable
from typing import Any

from django.urls import reverse

from devportal.console import reviews
from devportal.console.admin.forms import scope_title
from devportal.console.models import AppReview

MOST_EARLIER = 20
_PAGES = ("home_page_url", "privacy_policy_url", "terms_url", "demo_url")

_OF_SCOPES = ("scopes", "places")  # they have a section of their own


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
        "asked": [_asked(review, field, label) for field, label in reviews.LABELS.items() if field not in _OF_SCOPES],
        "scopes": _scopes(review),
        "evidence": _evidence(reviews.collect_evidence(client)),
        "earlier": _titled(earlier.select_related("decided_by").order_by("-number")[:MOST_EARLIER]),
        "entries": [_with_answers(entry) for entry in _titled(reviews.timeline(client))],
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
    # The URLs were validated when they were saved; only http(s) URLs become links.
    is_link = field in _PAGES and str(value).startswith(("https://", "http://"))
    logo = _logo_url(review, "asked") if field == "logo" else ""
    return {
        "label": label,
        "logo": logo,
        "link": value if is_link else "",
        "lines": [] if field == "logo" or is_link else _lines(value),
    }


def _scopes(review: AppReview) -> list[dict[str, Any]]:
    held = review.client.approved_scopes.split()
    return [
        {
            "name": scope,
            "title": scope_title(scope),
            "justification": justification,
            "place": review.snapshot.get("places", {}).get(scope, ""),
            "is_held": scope in held,
            "decision": review.decisions.get(scope),
        }
        for scope, justification in review.snapshot.get("scopes", {}).items()
    ]


def _evidence(found: reviews.Evidence) -> dict[str, Any]:
    return {
        "people": f"{found.people} or more" if found.people_is_more else str(found.people),
        "calls": found.calls,
        "errors": found.errors,
        "error_percent": f"{100 * (found.error_rate or 0):.1f}",
        "foreign_hosts": found.foreign_hosts,
        "similar": [(other.client, round(100 * other.likeness)) for other in found.similar],
    }


def _titled(rows: Iterable[Any]) -> list[Any]:
    """Add the titles of its reasons to each row."""
    known = {**reviews.SUSPENSION_REASONS, **reviews.REASONS}
    listed = list(rows)
    for row in listed:
        row.reason_titles = [known[code].title if code in known else code for code in row.reasons]
    return listed


def _with_answers(entry: Any) -> Any:
    """Add what an entry of the timeline answers, point by point."""
    entry.answered = reviews.answered_points(entry)
    return entry
