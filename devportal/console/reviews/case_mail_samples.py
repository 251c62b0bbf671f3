"""Samples of the mails about appeals, re-reviews and cases (docs/mail.md#samples)."""

from typing import Any

from accounts.mail.samples import Sample, register
from devportal.console.reviews.mail_samples import TEAM

REVIEWERS = "reviewers who want mails about new submissions"
_WORDS = "The logo is our own.\n\nWe have it registered since 2019."
_CONTEXT: dict[str, Any] = {
    "app": "Orbit Notes",
    "project": "Orbit",
    "whole_project": False,
    "reasons": [],
    "text": "",
    "link": "https://id.example.com/console/p/prj_sample/clients/client_sample/review",
}
_PROJECT = _CONTEXT | {
    "app": "Orbit",
    "whole_project": True,
    "link": "https://id.example.com/console/p/prj_sample/",
}
_DESK = _CONTEXT | {"text": _WORDS, "link": "https://id.example.com/admin/console/reviewcase/7/change/"}

register(
    {
        "review_appealed": Sample("Review: appeal sent", "A developer appeals", TEAM, {"": _CONTEXT}),
        "review_renewed": Sample(
            "Review: looked at again",
            "A reviewer finds everything in order once more",
            TEAM,
            {"without words": _CONTEXT, "with words": _CONTEXT | {"text": _WORDS}},
        ),
        "re_review_due": Sample(
            "Review: to be looked at again", "An approval is older than RE_REVIEW_DAYS", TEAM, {"": _CONTEXT}
        ),
        "appeal_answered": Sample(
            "Review: appeal answered",
            "A reviewer closes the case of an appeal",
            TEAM,
            {
                "about an approval": _CONTEXT | {"text": _WORDS},
                "about a suspension": _PROJECT | {"text": "What we saw was not yours. The suspension is lifted."},
            },
        ),
        "desk_appealed": Sample(
            "Desk: an appeal",
            "A developer appeals",
            REVIEWERS,
            {
                "against a rejection": _DESK | {"of_rejection": True},
                "against a withdrawn approval": _DESK | {"of_rejection": False},
                "against a suspension": _DESK | {"of_rejection": False, "whole_project": True, "app": "Orbit"},
            },
        ),
    }
)
