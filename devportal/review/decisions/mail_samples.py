"""Samples of the emails to reviewers (docs/mail.md#samples)."""

from typing import Any

from accounts.mail.samples import Sample, register

ASSIGNEE = "the assigned reviewer"
REVIEWERS = "reviewers who want it, but not about apps that they can't decide on"
_WORDS = "Which page shows the plan?\n\nWe looked at the settings, and at the page behind the gear."
_REVIEWER: dict[str, Any] = {
    "app": "Orbit Notes",
    "project": "Orbit",
    "reasons": [],
    "text": "",
    "link": "https://id.example.com/admin/review/appreview/7/change/",
}

_APP = {"name": "Orbit Notes", "label": "new", "waits": "5 d", "link": _REVIEWER["link"]}
_APPS = [_APP, _APP | {"name": "Comet Mail", "label": "resubmitted", "waits": "6 d"}]
_QUEUE = "https://id.example.com/admin/review/appreview/"
_ALERTS: dict[str, dict[str, Any]] = {
    "one app": {"apps": [_APP], "more": 0, "number": 1, "link": _REVIEWER["link"], "target_days": 5},
    "several": {"apps": _APPS, "more": 0, "number": 2, "link": _QUEUE, "target_days": 5},
    "many": {"apps": _APPS, "more": 130, "number": 132, "link": _QUEUE, "target_days": 5},
}


def _with_words(context: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {"with words": context | {"text": _WORDS}, "without words": context | {"text": ""}}


register(
    {
        "reviewer_assigned": Sample(
            "Reviewers: review assigned", "A reviewer assigns a review to another one", ASSIGNEE, {"": _REVIEWER}
        ),
        "reviewer_comment": Sample(
            "Reviewers: a developer wrote", "A developer answers", ASSIGNEE, {"": _REVIEWER | {"text": _WORDS}}
        ),
        "reviewer_resubmitted": Sample(
            "Reviewers: resubmitted",
            "Developers resubmit an app after changes were requested",
            ASSIGNEE,
            _with_words(_REVIEWER),
        ),
        "reviewer_new": Sample("Reviewers: new submissions", "Apps were sent for review", REVIEWERS, _ALERTS),
        "reviewer_late": Sample("Reviewers: late submissions", "Apps have waited for too long", REVIEWERS, _ALERTS),
        "reviewer_second_approval": Sample(
            "Review: second approval needed",
            "A first reviewer approves an app that needs two approvals",
            REVIEWERS,
            {
                "to reviewers who have not decided": _REVIEWER | {"has_decided": False, "scopes": ["account.read"]},
                "to a reviewer who decided differently": _REVIEWER | {"has_decided": True, "scopes": ["account.read"]},
            },
        ),
        "reviewer_withdrawn": Sample(
            "Reviewers: withdrawn", "The team takes an app back from review", ASSIGNEE, {"": _REVIEWER}
        ),
    }
)


CASE_REVIEWERS = "reviewers who want emails about new submissions"
_CASE_WORDS = "The logo is our own.\n\nWe have it registered since 2019."
_CASE_REVIEWER = _REVIEWER | {
    "whole_project": False,
    "text": _CASE_WORDS,
    "link": "https://id.example.com/admin/review/reviewcase/7/change/",
}

CASE_READERS = "reviewers who want it, but not about cases that they can't work on"
_CASE = {"name": "Orbit Notes", "kind": "Reported by people", "waits": "3 d", "link": _CASE_REVIEWER["link"]}
_TWO = [_CASE, _CASE | {"name": "Comet Mail", "kind": "Domain lost", "waits": "4 d"}]
_LIST = "https://id.example.com/admin/review/reviewcase/"
_CASES: dict[str, dict[str, Any]] = {
    "one case": {"cases": [_CASE], "more": 0, "number": 1, "link": _CASE_REVIEWER["link"], "target_days": 3},
    "several": {"cases": _TWO, "more": 0, "number": 2, "link": _LIST, "target_days": 3},
    "many": {"cases": _TWO, "more": 130, "number": 132, "link": _LIST, "target_days": 3},
}

register(
    {
        "reviewer_cases": Sample("Review: new cases", "Cases are opened", CASE_READERS, _CASES),
        "reviewer_cases_late": Sample("Review: late cases", "Cases have been open for too long", CASE_READERS, _CASES),
        "reviewer_appealed": Sample(
            "Reviewers: an appeal",
            "A developer appeals",
            CASE_REVIEWERS,
            {
                "against a rejection": _CASE_REVIEWER | {"of_rejection": True},
                "against a withdrawn approval": _CASE_REVIEWER | {"of_rejection": False},
                "against a suspension": _CASE_REVIEWER | {"of_rejection": False, "whole_project": True, "app": "Orbit"},
            },
        ),
    }
)
