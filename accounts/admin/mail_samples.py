"""Samples of the emails to people: codes, notices, invitations, recovery and account deletion."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from accounts.activity.kinds import KINDS, text_of
from accounts.mail.samples import Sample, register
from accounts.models import AccountRecovery, SecurityEvent
from accounts.recovery.undoing import UNDOABLE
from core.http.places import UNNAMED

_PERSON = "ada@example.com"
_ASKED_AT = datetime(2030, 5, 17, 9, 41, tzinfo=UTC)
_DUE_AT = datetime(2030, 5, 20, 9, 41, tzinfo=UTC)


def _recovery(
    new_email: str = "", taken_over_at: datetime | None = None, *, may_stop: bool = True, **more: bool
) -> dict[str, Any]:
    recovery = SimpleNamespace(due_at=_DUE_AT, new_email=new_email, taken_over_at=taken_over_at, **more)
    link = "https://id.example.com/account/recovery/?code=1%3AKqX" if may_stop else ""
    return {"recovery": recovery, "link": link}


_RECOVERIES = {
    "": _recovery(),
    "by the person, at sign-in": _recovery(is_own=True),
    "by the person, with the mailbox alone": _recovery(is_own=True, by_mail=True),
    "with another email address": _recovery("ada@example.org"),
    "after a takeover": _recovery("ada@example.org", _ASKED_AT),
    "after a takeover, to an email address that was added since": _recovery("", _ASKED_AT, may_stop=False),
}
_EVERY_ADDRESS = "every confirmed email address of the person"

register(
    {
        "recovery_started": Sample(
            "Recovery: started",
            "An operator, or the person at sign-in, starts to remove the two-step verification of an account",
            _EVERY_ADDRESS,
            _RECOVERIES,
        ),
        "recovery_reminder": Sample("Recovery: soon", "The removal is due within a day", _EVERY_ADDRESS, _RECOVERIES),
        "recovery_done": Sample("Recovery: done", "The waiting time is over", _EVERY_ADDRESS, _RECOVERIES),
        "mailbox_proof": Sample(
            "Code: after many wrong guesses",
            "Someone signs in to an account with many wrong guesses",
            "its email address",
            {"": {"email": _PERSON, "code": "K7QX-M2RW-9P4T"}},
        ),
        "undo_code": Sample(
            "Code: remove what was added",
            "Someone follows “This was not me” of a notice about a new factor",
            "the mailbox that got the notice",
            {"": {"email": _PERSON, "code": "K7QX-M2RW-9P4T"}},
        ),
        "recovery_code": Sample(
            "Code: start a recovery",
            "Someone who typed the password says at sign-in that they lost every second factor",
            "its email address",
            {"": {"email": _PERSON, "code": "K7QX-M2RW-9P4T"}},
        ),
        "reauthentication_code": Sample(
            "Code: confirm that it is you",
            "Someone without a password, passkey or authenticator app changes something about their account",
            "its email address",
            {"": {"email": _PERSON, "code": "K7QX-M2RW-9P4T"}},
        ),
        "reset_asked": Sample(
            "Notice: please choose a new password", "An operator sends a reset", "its owner", {"": {"email": _PERSON}}
        ),
        "address_changed": Sample(
            "Notice: email address changed, with a way back",
            "Someone changes the email address of their account",
            "the old email address",
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
            "Data export: ready",
            "An export is ready",
            "the person who requested it",
            {"": {"asked_at": _ASKED_AT, "expires_at": datetime(2030, 5, 24, 9, 41, tzinfo=UTC)}},
        ),
        "account_to_be_deleted": Sample(
            "Instead of a code: sign-up with a closed account",
            "Someone signs up with the email address of an account that will be deleted",
            "that email address",
            {"": {"due_at": _DUE_AT}},
        ),
        "former_account_to_be_deleted": Sample(
            "Account deletion: closed, to a former email address",
            "Someone closes an account whose email address was changed a few days ago",
            "former email addresses that can still take the account back",
            {"": {"email": _PERSON, "due_at": _DUE_AT}},
        ),
        "account_deleted": Sample(
            "Account deletion: done", "An account is permanently deleted", _EVERY_ADDRESS, {"": {}}
        ),
    }
)


_ASKED: dict[str, Any] = {"email": _PERSON, "app": None, "browser": "Firefox on Windows", "lasts": "15 minutes"}
_ANSWERS = {
    "for no app": _ASKED,
    "for an app": _ASKED | {"app": {"name": "Photo Album", "verified": True}},
    "for an app without a review": _ASKED | {"app": {"name": "Photo Album", "verified": False}, "lasts": "7 minutes"},
    "for an app without a review, whose name is not shown": _ASKED
    | {"app": {"name": "", "verified": False}, "browser": UNNAMED, "lasts": "less than a minute"},
}
_CODES = {case: context | {"code": "K7QX-M2RW"} for case, context in _ANSWERS.items()}
_INVITED = {"email": "grace@example.com", "days": 7}


# Details of an event of any kind.
_DETAILS: dict[str, Any] = {
    "app": "Photo Album",
    "name": "Work laptop",
    "old": _PERSON,
    "new": "ada@example.org",
    "address": _PERSON,
    "email": _PERSON,
    "methods": ["password", "totp"],
    "left": 9,
    "number": 10,
    "reason": AccountRecovery.Lapse.FACTOR_ADDED,
    "blockers": [{"code": "recovery"}],
    "due_at": "2031-12-24T08:00:00+00:00",
}


def _notices() -> dict[str, dict[str, Any]]:
    """Return a case for each kind of event that is mailed, and one for an action of an operator."""
    at = datetime(2030, 5, 17, 9, 41, tzinfo=UTC)
    cases: dict[str, dict[str, Any]] = {}
    for kind, each in KINDS.items():
        if each.notice is not None:
            cases[kind.replace("_", " ")] = {
                "subject": each.notice.subject,
                "text": text_of(each.notice, _DETAILS),
                "event": SecurityEvent(at=at, ip="203.0.113.7", browser="Firefox on Windows", place="Lisbon, Portugal"),
                "then": each.notice.then,
                "by_operator": False,
                "token": "17:KqX",
                "undo_days": 7 if kind in UNDOABLE else 0,
            }
    by_operator = {"event": SecurityEvent(at=at, by=SecurityEvent.By.OPERATOR), "by_operator": True}
    return cases | {"by an operator": next(iter(cases.values())) | by_operator}


register(
    {
        "email_confirmation_signup": Sample(
            "Code: sign-up", "Someone signs up with a new email address", "that email address", _CODES
        ),
        "email_confirmation": Sample(
            "Code: another email address",
            "Someone who is signed in enters another email address",
            "the new email address",
            {"": _CODES["for no app"]},
        ),
        "password_reset_code": Sample(
            "Code: new password",
            "“Forgot your password?”, with the email address of an account",
            "that email address",
            _CODES,
        ),
        "account_already_exists": Sample(
            "Instead of a code: sign-up",
            "Someone signs up with the email address of an account",
            "that email address",
            _ANSWERS,
        ),
        "unknown_account": Sample(
            "Instead of a code: new password",
            "“Forgot your password?”, with an email address that has no account",
            "that email address",
            _ANSWERS,
        ),
        "security_notice": Sample(
            "Notice: security activity",
            "A security event of an account that its owner should know",
            "its owner",
            _notices(),
        ),
        "second_factor_lost": Sample(
            "Notice: two-step verification that was lost",
            "The command discard_unreadable removed factors that can't be read",
            "each owner",
            {
                "the app, and with it the password": {"had_app": True, "ends_password": True},
                "the app, while a passkey is left": {"had_app": True, "ends_password": False},
                "recovery codes alone": {"had_app": False, "ends_password": False},
            },
        ),
        "family_invitation": Sample(
            "Invitation: family",
            "Someone invites to their family",
            "the invited person",
            {"": _INVITED | {"inviter": _PERSON}},
        ),
        "family_joined": Sample(
            "Family: someone joined",
            "Someone accepts an invitation to a family",
            "the owner of the family",
            {"": {"email": _PERSON}},
        ),
        "organization_invitation": Sample(
            "Invitation: organization",
            "An operator gives a seat of an organization",
            "the invited person",
            {"": _INVITED | {"organization": "Acme & Sons"}},
        ),
    }
)
