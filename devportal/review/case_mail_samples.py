"""Samples of the mails about appeals, re-reviews and cases (docs/mail.md#samples)."""

from typing import Any

from accounts.mail.samples import Sample, register
from devportal.review.mail_samples import TEAM

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
_REVIEWER = _CONTEXT | {"text": _WORDS, "link": "https://id.example.com/admin/review/reviewcase/7/change/"}

CASE_READERS = "reviewers who want it, but not about cases that they can't work on"
_CASE = {"name": "Orbit Notes", "kind": "Reported by people", "waits": "3 d", "link": _REVIEWER["link"]}
_TWO = [_CASE, _CASE | {"name": "Comet Mail", "kind": "Domain lost", "waits": "4 d"}]
_LIST = "https://id.example.com/admin/review/reviewcase/"
_CASES: dict[str, dict[str, Any]] = {
    "one case": {"cases": [_CASE], "more": 0, "number": 1, "link": _REVIEWER["link"], "target_days": 3},
    "several": {"cases": _TWO, "more": 0, "number": 2, "link": _LIST, "target_days": 3},
    "many": {"cases": _TWO, "more": 130, "number": 132, "link": _LIST, "target_days": 3},
}

register(
    {
        "review_appealed": Sample("Review: appeal sent", "A developer appeals", TEAM, {"": _CONTEXT}),
        "review_renewed": Sample(
            "Review: re-review passed",
            "A reviewer confirms the approval in a re-review",
            TEAM,
            {"without words": _CONTEXT, "with words": _CONTEXT | {"text": _WORDS}},
        ),
        "re_review_due": Sample(
            "Review: re-review due", "An approval is older than RE_REVIEW_DAYS", TEAM, {"": _CONTEXT}
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
        "reviewer_cases": Sample("Review: new cases", "Cases are opened", CASE_READERS, _CASES),
        "reviewer_cases_late": Sample("Review: late cases", "Cases have been open for too long", CASE_READERS, _CASES),
        "reviewer_appealed": Sample(
            "Reviewers: an appeal",
            "A developer appeals",
            REVIEWERS,
            {
                "against a rejection": _REVIEWER | {"of_rejection": True},
                "against a withdrawn approval": _REVIEWER | {"of_rejection": False},
                "against a suspension": _REVIEWER | {"of_rejection": False, "whole_project": True, "app": "Orbit"},
            },
        ),
    }
)
