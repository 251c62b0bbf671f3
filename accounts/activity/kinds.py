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
    "address_taken_back": Kind(
        "The e-mail address was taken back",
        Notice(
            "An e-mail address has been taken back",
            "The address of your account is {email} again: somebody typed the code from the mail that told of its"
            " change. All sessions have ended, and the password.",
        ),
    ),
    "app_allowed": Kind("{app} was allowed to use the account"),
    "app_removed": Kind("{app} was removed from the account"),
    "recovery_started": Kind("The people who run the service began to remove the second steps"),
    "recovery_stopped": Kind(
        "The removal of the second steps was stopped",
        Notice("Your second steps stay", "The removal of your second steps was stopped. They stay as they are."),
    ),
    "recovery_cancelled": Kind(
        "The removal of the second steps was called off",
        Notice("Your second steps stay", "The removal of your second steps was called off. They stay as they are."),
    ),
    "recovery_lapsed": Kind(
        "The removal of the second steps was given up",
        Notice("Your second steps stay", "Your second steps are not removed after all. {why}"),
    ),
    "second_factors_removed": Kind("The second steps were removed, and the password ended"),
}
