"""The kinds of security events: the sentence on the activity page for each, and its mail, if it has one.

An event's details are codes and values, which fill the placeholders in `says` and in the email's sentences.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from accounts.deletion.deleting import Blocker
from accounts.models import AccountRecovery
from core.messages import fill_in


@dataclass(frozen=True)
class SecurityNotice:
    """The email of an event: its subject and its first sentence.

    `then` replaces "if this was you, there is nothing to do" and the link to /account/secure/ below it. `also` has
    further sentences: for each detail that it names, the sentence for the detail's value, or else the one for OTHERS,
    if there is one.
    """

    subject: str
    text: str
    then: str = ""
    also: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Kind:
    """One kind of event."""

    says: str
    notice: SecurityNotice | None = None


OTHERS = object()
# How someone signed in: the codes of the detail `methods`.
METHODS = {
    "password": "a password",
    "totp": "a code of an authenticator app",
    "recovery_codes": "a recovery code",
    "mailed_code": "a code from an email",
    "passkey": "a passkey",
    "security_key": "a security key",
    "sign_up": "the sign-up form",
}
_IF_FIRST = {"is_first": {True: "All other browsers that were signed in to your account have been signed out."}}
# The removal of recovery codes is always mentioned.
_IF_CODES_ENDED = {
    "ends_codes": {
        True: "Your recovery codes were removed as well. You get new ones with your next passkey or authenticator app, "
        "or on the page “Security”."
    }
}
_CODES_LEFT = {
    "left": {
        0: "It was the last one. Create new ones now.",
        1: "One more is left. Create new ones soon.",
        OTHERS: "{left} more are left.",
    }
}
_LAPSES = {"reason": {lapse.value: lapse.label for lapse in AccountRecovery.Lapse}}

KINDS: dict[str, Kind] = {
    "signed_up": Kind("The account was created"),
    "signed_in": Kind("Signed in with {methods:and}"),
    "signed_in_new_browser": Kind(
        "Signed in with {methods:and}, from a new browser",
        SecurityNotice(
            "New sign-in to your account",
            "Someone signed in to your account with {methods:and}, from a browser that was not used before.",
        ),
    ),
    # --- The password ---
    "password_changed": Kind(
        "Password changed",
        SecurityNotice(
            "Your password has been changed",
            "The password of your account has been changed. Other browsers that were signed in are signed out.",
        ),
    ),
    "password_set": Kind(
        "Password set",
        SecurityNotice(
            "Your account has a password now",
            "A password has been set for your account. It can be used to sign in from now on.",
        ),
    ),
    "password_reset": Kind(
        "New password chosen, with a code from an email",
        SecurityNotice(
            "Your password has been replaced",
            "A new password has been chosen for your account, with a code that was sent to this email address. All "
            "browsers that were signed in are signed out.",
        ),
    ),
    # --- The address ---
    "address_changed": Kind(
        "Email address changed from {old} to {new}",
        SecurityNotice(
            "The email address of your account has been changed",
            "The email address of your account has been changed from {old} to {new}. Codes and notices are sent to the "
            "new email address from now on.",
        ),
    ),
    "address_taken_back": Kind(
        "The email address was taken back",
        SecurityNotice(
            "An email address has been taken back",
            "The email address of your account is {email} again: someone entered the code from the email about its "
            "change. Passkeys, security keys, authenticator apps and recovery codes that were added since that change "
            "have been removed. The password no longer works, and all browsers are signed out.",
        ),
    ),
    "address_removed": Kind(
        "Email address {address} removed",
        SecurityNotice(
            "An email address has been removed from your account",
            "The email address {address} no longer belongs to your account.",
        ),
    ),
    # --- Second factors ---
    "passkey_added": Kind(
        "Passkey “{name}” added",
        SecurityNotice(
            "A passkey has been added to your account",
            "The passkey “{name}” has been added to your account. It can be used to sign in from now on.",
            also=_IF_FIRST,
        ),
    ),
    "passkey_removed": Kind(
        "Passkey “{name}” removed",
        SecurityNotice(
            "A passkey has been removed from your account",
            "The passkey “{name}” has been removed from your account. It can no longer be used to sign in.",
            also=_IF_CODES_ENDED,
        ),
    ),
    "key_added": Kind(
        "Security key “{name}” added",
        SecurityNotice(
            "A security key has been added to your account",
            "The security key “{name}” has been added to your account. It is asked for after the password.",
            also=_IF_FIRST,
        ),
    ),
    "key_removed": Kind(
        "Security key “{name}” removed",
        SecurityNotice(
            "A security key has been removed from your account",
            "The security key “{name}” has been removed from your account. It is no longer asked for at sign-in.",
            also=_IF_CODES_ENDED,
        ),
    ),
    "authenticator_on": Kind(
        "Authenticator app set up",
        SecurityNotice(
            "An authenticator app has been set up for your account",
            "An authenticator app has been set up for your account. Its codes are asked for at sign-in from now on.",
            also=_IF_FIRST,
        ),
    ),
    "authenticator_off": Kind(
        "Authenticator app removed",
        SecurityNotice(
            "The authenticator app has been removed from your account",
            "The authenticator app has been removed from your account. Its codes are no longer asked for.",
            also=_IF_CODES_ENDED,
        ),
    ),
    "recovery_codes_made": Kind(
        "Recovery codes created",
        SecurityNotice(
            "New recovery codes have been created for your account",
            "New recovery codes have been created for your account. Earlier codes no longer work.",
        ),
    ),
    "recovery_codes_removed": Kind(
        "Recovery codes removed",
        SecurityNotice(
            "The recovery codes of your account have been removed",
            "The recovery codes of your account have been removed. They no longer work.",
        ),
    ),
    "recovery_code_used": Kind(
        "A recovery code was used",
        SecurityNotice(
            "A recovery code of your account was used", "A recovery code of your account was used.", also=_CODES_LEFT
        ),
    ),
    "wrong_codes": Kind(
        "Too many wrong codes: {number} in a row",
        SecurityNotice(
            "Too many wrong codes for your account",
            "{number} wrong codes in a row were entered for your account. Only someone who knows your password, or "
            "who uses a browser where you are signed in, can enter codes. Before the next code can be entered, we ask "
            "for a code that we send to this mailbox.",
        ),
    ),
    # Only operators see these two (accounts/activity/wrong_guesses.py).
    "wrong_password": Kind("A wrong password was entered"),
    "wrong_factor_code": Kind("A wrong code for two-step verification was entered"),
    "second_factors_lost": Kind("An authenticator app or recovery codes that could no longer be checked were removed"),
    # --- Sessions and apps ---
    "session_ended": Kind("Signed out one browser: {which}"),
    "sessions_ended": Kind("Signed out all other browsers"),
    "app_allowed": Kind("{app} was allowed to use the account"),
    "app_allowed_more": Kind("{app} was allowed to see or do more"),
    "app_allowed_at": Kind("{app} was allowed to use the account and {apis:and}"),
    "app_allowed_more_at": Kind("{app} was allowed to see or do more in {apis:and}"),
    "app_removed": Kind("{app} was removed from the account"),
    "recovery_started": Kind("A recovery of the account was started"),
    "recovery_stopped": Kind(
        "The recovery of the account was stopped",
        SecurityNotice(
            "Nothing was removed from your account", "The recovery of your account was stopped. Nothing changes."
        ),
    ),
    "recovery_cancelled": Kind(
        "The recovery of the account was cancelled",
        SecurityNotice(
            "Nothing was removed from your account", "The recovery of your account was cancelled. Nothing changes."
        ),
    ),
    "recovery_lapsed": Kind(
        "The recovery of the account ended without a change",
        SecurityNotice(
            "Nothing was removed from your account",
            "The recovery of your account ended without a change.",
            also=_LAPSES,
        ),
    ),
    "second_factors_removed": Kind(
        "Passkeys, authenticator app and recovery codes were removed; the password no longer works"
    ),
    "takeover_undone": Kind("What was added since the takeover was removed, and the password no longer works"),
    # --- By operators ---
    "signed_out": Kind(
        "Signed out everywhere",
        SecurityNotice(
            "You have been signed out everywhere",
            "All browsers that were signed in to your account have been signed out. You can sign in again as before.",
        ),
    ),
    "reset_sent": Kind("An email was sent that asks to choose a new password"),
    "roles_changed": Kind("Roles changed: {roles}"),
    "roles_removed": Kind("All roles were removed"),
    "account_turned_off": Kind(
        "Account turned off",
        SecurityNotice(
            "Your account has been turned off",
            "Your account has been turned off: nobody can sign in to it, and apps have lost their access to it. Your "
            "data is kept.",
            "Only an operator of the service can turn it on again.",
        ),
    ),
    "account_turned_on": Kind(
        "Account turned on again",
        SecurityNotice(
            "Your account has been turned on again",
            "Your account has been turned on again. You can sign in as before. Apps will ask for "
            "your permission again.",
        ),
    ),
    # --- Data export and account deletion ---
    "export_asked": Kind("Asked for an export of the account's data"),
    "export_downloaded": Kind("Downloaded an export of the account's data"),
    "deletion_asked": Kind(
        "Deleted the account; it was closed until {due_at:day}",
        SecurityNotice(
            "Your account will be deleted",
            "Your account is closed, and will be permanently deleted on {due_at:day}. To keep it, open this page "
            "before then, sign in, and confirm that you want to keep it.",
        ),
    ),
    "deletion_cancelled": Kind(
        "Kept the account instead of deleting it",
        SecurityNotice(
            "Your account will be kept",
            "Your account will not be deleted, and you can use it again. You have to sign in to your apps again.",
        ),
    ),
    "deletion_blocked": Kind(
        "The account was kept, although it was due to be deleted",
        SecurityNotice(
            "Your account was not deleted",
            "Your account was due to be deleted today, but was kept. {blockers:sentences}",
        ),
    ),
}


def parameters_of(details: Mapping[str, Any]) -> dict[str, Any]:
    """Return the details of an event as its texts need them."""
    values = {name: datetime.fromisoformat(value) if name == "due_at" else value for name, value in details.items()}
    if "methods" in details:
        values["methods"] = [METHODS[code] for code in details["methods"]]
    if "blockers" in details:
        values["blockers"] = [Blocker(**stored) for stored in details["blockers"]]
    return values


def text_of(notice: SecurityNotice, details: Mapping[str, Any]) -> str:
    """Return the sentences of an event's mail."""
    more = [_also(texts, details[name]) for name, texts in notice.also.items() if name in details]
    return fill_in(" ".join(filter(None, (notice.text, *more))), parameters_of(details))


def _also(texts: Mapping[Any, str], value: Any) -> str:
    return texts.get(value, texts.get(OTHERS, ""))
