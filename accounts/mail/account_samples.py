"""Samples of the mails about the way into an account, and out of it: recovery, addresses, exports, deletion."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from accounts.mail.samples import Sample, register

_PERSON = "ada@example.com"
_ASKED_AT = datetime(2030, 5, 17, 9, 41, tzinfo=UTC)
_DUE_AT = datetime(2030, 5, 20, 9, 41, tzinfo=UTC)


def _recovery(new_email: str) -> dict[str, Any]:
    recovery = SimpleNamespace(due_at=_DUE_AT, new_email=new_email)
    return {"recovery": recovery, "link": "https://id.example.com/account/recovery/?code=1%3AKqX"}


_RECOVERIES = {"": _recovery(""), "with another address": _recovery("ada@example.org")}
_EVERY_ADDRESS = "every proven address of the person"

register(
    {
        "recovery_started": Sample(
            "Recovery: begun", "An operator begins to remove somebody's second factors", _EVERY_ADDRESS, _RECOVERIES
        ),
        "recovery_reminder": Sample("Recovery: soon", "The removal is due within a day", _EVERY_ADDRESS, _RECOVERIES),
        "recovery_done": Sample("Recovery: done", "The time of waiting is over", _EVERY_ADDRESS, _RECOVERIES),
        "mailbox_proof": Sample(
            "Code: after many wrong guesses",
            "Somebody signs in to an account at which many guess",
            "its address",
            {"": {"email": _PERSON, "code": "K7QX-M2RW-9P4T"}},
        ),
        "reset_asked": Sample(
            "Notice: please choose a new password", "An operator sends a reset", "its owner", {"": {"email": _PERSON}}
        ),
        "address_changed": Sample(
            "Notice: address changed, with a way back",
            "Somebody changes the e-mail address of their account",
            "the old address",
            {
                "": {
                    "email": _PERSON,
                    "at": _ASKED_AT,
                    "browser": "Firefox on Windows",
                    "ip": "203.0.113.7",
                    "days": 7,
                    "code": "K7QX-M2RW-9P4T",
                }
            },
        ),
        "export_ready": Sample(
            "Leaving: data is ready",
            "An export is made",
            "who asked for it",
            {"": {"asked_at": _ASKED_AT, "expires_at": datetime(2030, 5, 24, 9, 41, tzinfo=UTC)}},
        ),
        "account_to_be_deleted": Sample(
            "Instead of a code: sign-up, while leaving",
            "Somebody signs up with the address of an account that is to be deleted",
            "that address",
            {"": {"due_at": _DUE_AT}},
        ),
        "account_deleted": Sample("Leaving: deleted", "An account is deleted for good", _EVERY_ADDRESS, {"": {}}),
    }
)
