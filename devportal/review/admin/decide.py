"""The decision on the page of a review: the forms of the decisions, and the steps that take one click."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.http import HttpRequest

from core.admin.actions import ActionForm, RowAction
from devportal.review.admin import actions
from devportal.review.models import AppReview


def decide_context(request: HttpRequest, review: Any, steps: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the context of the partials `review_decide.html` and `review_bar.html`; `steps` are the open ones by name.

    Reviewers with a conflict of interest see the steps as disabled buttons, and no forms.
    """

    def among(group: Iterable[RowAction]) -> list[Mapping[str, Any]]:
        return [steps[action.name] for action in group if action.name in steps]

    decisions = [
        {
            **steps[action.name],
            "form": _form_on_page(action, request, review),
            "consequence": action.consequence_for(review),
            "is_dangerous": action.is_dangerous,
        }
        for action in actions.DECISIONS
        if action.name in steps and not review.conflict
    ]
    return {
        "decisions": decisions,
        "disabled": among((*actions.DECISIONS, *actions.AT_ONCE, *actions.OTHERS)) if review.conflict else [],
        "at_once": [] if review.conflict else among(actions.AT_ONCE),
        "others": [] if review.conflict else among(actions.OTHERS),
        "of_the_app": among(actions.OF_THE_APP),
    }


def _form_on_page(action: RowAction, request: HttpRequest, review: AppReview) -> ActionForm:
    """Return the empty form of an action, with ids that are unique on the page of the review."""
    form = action.form(request=request, row=review)
    form.auto_id = f"{action.name}_%s"
    return form
