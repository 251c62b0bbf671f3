"""Samples of the mails about the way into an account, and out of it: recovery, addresses, exports, deletion."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from accounts.mail.samples import Sample, register

_PERSON = "ada@example.com"
_ASKED_AT = datetime(2030, 5, 17, 9, 41, tzinfo=UTC)
_DUE_AT = datetime(2030, 5, 20, 9, 41, tzinfo=UTC)


def _recovery(new_email: str = "", taken_over_at: datetime | None = None, *, may_stop: bool = True) -> dict[str, Any]:
    recovery = SimpleNamespace(due_at=_DUE_AT, new_email=new_email, taken_over_at=taken_over_at)
    link = "https://id.example.com/account/recovery/?code=1%3AKqX" if may_stop else ""
    return {"recovery": recovery, "link": link}


_RECOVERIES = {
    "": _recovery(),
    "with another address": _recovery("ada@example.org"),
    "after a takeover": _recovery("ada@example.org", _ASKED_AT),
    "after a takeover, to an address that was added since": _recovery("", _ASKED_AT, may_stop=False),
}
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
        "undo_code": Sample(
            "Code: remove what was added",
            "Somebody follows “This was not me” of a notice about a new factor",
            "the mailbox that got the notice",
            {"": {"email": _PERSON, "code": "K7QX-M2RW-9P4T"}},
        ),
        "reauthentication_code": Sample(
            "Code: confirm that it is you",
            "Somebody without a password, passkey or authenticator app changes something about their account",
            "its email address",
            {"": {"email": _PERSON, "code": "K7QX-M2RW-9P4T"}},
        ),
        "reset_asked": Sample(
            "Notice: please choose a new password", "An operator sends a reset", "its owner", {"": {"email": _PERSON}}
        ),
        "address_changed": Sample(
            "Notice: address changed, with a way back",
            "Somebody changes the email address of their account",
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
        "former_account_to_be_deleted": Sample(
            "Leaving: closed, to a former address",
            "Somebody closes an account whose email address was changed a few days ago",
            "former email addresses that can still take the account back",
            {"": {"email": _PERSON, "due_at": _DUE_AT}},
        ),
        "account_deleted": Sample("Leaving: deleted", "An account is deleted for good", _EVERY_ADDRESS, {"": {}}),
    }
)
