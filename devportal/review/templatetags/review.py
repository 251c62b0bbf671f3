"""Template filters for the reviewers' pages."""

from typing import Any

from django import template

from devportal.review.differences import reveal

register = template.Library()


@register.filter(name="reveal")
def reveal_filter(text: Any) -> str:
    """Show invisible and confusable characters of a text that others wrote (docs/review.md#the-page-of-a-review)."""
    return reveal("" if text is None else str(text))
