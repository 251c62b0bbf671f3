"""Samples of the mails to people: codes, notices, invitations to families and organizations."""

from datetime import UTC, datetime
from typing import Any

from accounts.activity.browsers import UNNAMED
from accounts.activity.kinds import KINDS, text_of
from accounts.factors.undoing import UNDOABLE
from accounts.mail.samples import Sample, register
from accounts.models import AccountRecovery, SecurityEvent

_PERSON = "ada@example.com"
_ASKED: dict[str, Any] = {"email": _PERSON, "app": None, "browser": "Firefox on Windows", "lasts": "15 minutes"}
_ANSWERS = {
    "for no app": _ASKED,
    "for an app": _ASKED | {"app": {"name": "Photo Album", "verified": True}},
    "for an unverified app": _ASKED | {"app": {"name": "Photo Album", "verified": False}, "lasts": "7 minutes"},
    "for an unverified app whose name is not shown": _ASKED
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
    """Return a case for each kind of event that is mailed, and one more for what an operator did."""
    at = datetime(2030, 5, 17, 9, 41, tzinfo=UTC)
    cases: dict[str, dict[str, Any]] = {}
    for kind, each in KINDS.items():
        if each.notice is not None:
            cases[kind.replace("_", " ")] = {
                "subject": each.notice.subject,
                "tells": text_of(each.notice, _DETAILS),
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
            "Code: sign-up", "Somebody signs up with an address that is new here", "that address", _CODES
        ),
        "email_confirmation": Sample(
            "Code: another address",
            "Somebody signed in gives another address",
            "the new address",
            {"": _CODES["for no app"]},
        ),
        "password_reset_code": Sample(
            "Code: new password", "“Forgot your password?”, with an address that has an account", "that address", _CODES
        ),
        "account_already_exists": Sample(
            "Instead of a code: sign-up",
            "Somebody signs up with an address that has an account",
            "that address",
            _ANSWERS,
        ),
        "unknown_account": Sample(
            "Instead of a code: new password",
            "“Forgot your password?”, with an address that has no account",
            "that address",
            _ANSWERS,
        ),
        "security_notice": Sample(
            "Notice: security activity",
            "Something happened to an account that its owner should know",
            "its owner",
            _notices(),
        ),
        "second_factor_lost": Sample(
            "Notice: second factors that were lost",
            "The command discard_unreadable removed second factors that can't be read",
            "each of their owners",
            {
                "the app, and with it the password": {"had_app": True, "ends_password": True},
                "the app, while a passkey is left": {"had_app": True, "ends_password": False},
                "recovery codes alone": {"had_app": False, "ends_password": False},
            },
        ),
        "family_invitation": Sample(
            "Invitation: family",
            "Somebody invites to their family",
            "who is invited",
            {"": _INVITED | {"inviter": _PERSON}},
        ),
        "organization_invitation": Sample(
            "Invitation: organization",
            "An operator gives a seat of an organization",
            "who is invited",
            {"": _INVITED | {"organization": "Acme & Sons"}},
        ),
    }
)
