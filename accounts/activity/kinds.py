"""The kinds of security events: what the activity page says of each, and the mail that tells of it, if one does.

`says` and the mail's sentence are formats for the event's details.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Notice:
    """The mail of an event: its subject, and what it tells in its first sentence."""

    subject: str
    tells: str


@dataclass(frozen=True)
class Kind:
    """One kind of event."""

    says: str
    notice: Notice | None = None


KINDS: dict[str, Kind] = {
    "signed_up": Kind("The account was created"),
    "signed_in": Kind("Signed in"),
    "signed_in_new_browser": Kind(
        "Signed in from a browser that was new here",
        Notice("New sign-in to your account", "Somebody signed in to your account from a browser that is new to it."),
    ),
    "password_changed": Kind(
        "Password changed", Notice("Your password has been changed", "The password of your account has been changed.")
    ),
    "app_allowed": Kind("{app} was allowed to use the account"),
    "app_removed": Kind("{app} was removed from the account"),
    "export_asked": Kind("Asked for an export of the account's data"),
    "export_downloaded": Kind("Downloaded an export of the account's data"),
    "deletion_asked": Kind(
        "Deleted the account; it was closed until {date}",
        Notice(
            "Your account is to be deleted",
            "Your account is closed, and will be deleted for good on {date}. To keep it, sign in before then and "
            "choose to keep it.",
        ),
    ),
    "deletion_cancelled": Kind(
        "Kept the account, which was to be deleted",
        Notice(
            "Your account stays",
            "Your account was to be deleted; it stays, and can be used again. Apps have to sign you in anew.",
        ),
    ),
    "deletion_blocked": Kind(
        "The account was to be deleted, and was kept",
        Notice("Your account was not deleted", "Your account was to be deleted today, and was kept. {reason}"),
    ),
}
