"""Template tags and filters of app review, for its own pages and for those of the console."""

from typing import Any

from django import template

from devportal.review.decisions.appeals import AppealOffer, offer_for_project
from devportal.review.submission.differences import reveal
from oidc.models import Project

register = template.Library()


@register.simple_tag
def appeal_offer(project: Project) -> AppealOffer | None:
    """Return what the page of a suspended project says about an appeal; None for any other project."""
    return offer_for_project(project)


@register.filter(name="reveal")
def reveal_filter(text: Any) -> str:
    """Show invisible and confusable characters of a text that others wrote (docs/review.md#the-page-of-a-review)."""
    return reveal("" if text is None else str(text))
