"""Samples of the email with notices (docs/mail.md#samples)."""

from typing import Any

from accounts.mail.samples import Sample, register

_CONSOLE = "https://id.example.com/console"
_EXPIRES: dict[str, Any] = {
    "title": "A secret of Orbit Notes expires in 3 days",
    "body": [
        "The secret …k3Zq of Orbit Notes (project Orbit) expires on 24 December 2031, 08:00 UTC. From then on, "
        "requests with it are refused.",
        "If your app still uses it, rotate it, and give your app the new secret.",
    ],
    "parts": [],
    "then": "",
    "action": "Open the secrets",
    "link": f"{_CONSOLE}/notices/7",
}
_CHANGES: dict[str, Any] = {
    "title": "Changes are needed before Orbit Notes can be approved",
    "body": ["We have reviewed Orbit Notes (project Orbit) and can't approve it yet."],
    "parts": [
        {"lead": "Reasons:", "items": ["The logo is not recognizable. Upload one that is."], "quote": ""},
        {
            "lead": "The reviewer writes:",
            "items": [],
            "quote": "Which page shows the plan?\n\nWe looked at the settings, and at the page behind the gear.",
        },
    ],
    "then": "Make the changes, or answer if you disagree, and submit it again.",
    "action": "Open the review",
    "link": f"{_CONSOLE}/notices/8",
}
_CONTEXT = {"project": "Orbit", "settings_link": f"{_CONSOLE}/p/prj_sample/notices"}

register(
    {
        "notices": Sample(
            "Notices to developers",
            "Something happened in a project: one email an hour has all of it",
            "members who want it",
            {
                "one": _CONTEXT | {"notices": [_EXPIRES]},
                "with a reviewer’s words": _CONTEXT | {"notices": [_CHANGES]},
                "several": _CONTEXT | {"notices": [_EXPIRES, _CHANGES]},
            },
        )
    }
)
