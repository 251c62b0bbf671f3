"""The security of accounts: changes of the email address, wrong codes, recoveries, and security events."""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from accounts.models.people import Account


class AddressChange(models.Model):
    """A change from one verified email address to another; the code in the email to the old one takes it back."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="address_changes")
    old_email = models.EmailField()
    new_email = models.EmailField()
    # The primary key of the account's newest factor at that time: later ones are removed when the change is taken back,
    # even if the clocks of two servers differ. 0: none.
    newest_factor = models.BigIntegerField()
    code_mac = models.CharField(max_length=64)
    at = models.DateTimeField()
    # Set when it was taken back, or when an earlier change was.
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["old_email"], name="address_changes_of_address"),
            models.Index(fields=["at"], name="address_changes_by_age"),
        ]

    def __str__(self) -> str:
        return f"change {self.pk} of account {self.account_id}"


class WrongCodes(models.Model):
    """The number of wrong codes for an account since the last right one (accounts/entrance/guesses.py)."""

    account = models.OneToOneField(Account, on_delete=models.CASCADE, primary_key=True, related_name="wrong_codes")
    count = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.count} wrong codes for {self.account_id}"


class AccountRecoveryQuerySet(models.QuerySet["AccountRecovery"]):
    def open(self) -> "AccountRecoveryQuerySet":
        """Return the recoveries that are neither done nor stopped."""
        return self.filter(ended_at=None)


class AccountRecovery(models.Model):
    """A recovery that an operator or the person started; accounts/recovery/waiting.py has its steps."""

    class Outcome(models.TextChoices):
        DONE = "done", "done"
        STOPPED = "stopped", "stopped by the person"
        CANCELLED = "cancelled", "cancelled by an operator"
        LAPSED = "lapsed", "given up by the service"

    class Lapse(models.TextChoices):
        """Why the service gave up a recovery: for the audit trail, and for the person's security event."""

        FACTOR_ADDED = (
            "factor_added",
            "A passkey, security key or authenticator app was added since then, so someone can sign in.",
        )
        ADDRESS_TAKEN = "address_taken", "The new email address belongs to another account."
        ACCOUNT_OFF = "account_off", "The account is turned off."
        NOTHING_LEFT = "nothing_left", "There was nothing left to remove."
        OPERATOR_LOST_RIGHT = "operator_lost_right", "The operator who started it no longer has the permission."
        FACTOR_USED = (
            "factor_used",
            "A passkey, security key, authenticator app or recovery code of the account was used, so it is not lost.",
        )
        PASSWORD_CHANGED = "password_changed", "The password was changed."
        STAFF = "staff", "The account belongs to the staff now, so only an operator can start its recovery."

    account = models.ForeignKey(Account, models.CASCADE, related_name="recoveries", db_index=False)
    started_by = models.ForeignKey(Account, models.SET_NULL, null=True, related_name="+", db_index=False)
    # Of the operator; empty if the person started it: the reason, and how they checked that the owner asked.
    reason = models.TextField()
    checked = models.TextField()
    new_email = models.EmailField(blank=True)  # the person's new email address, if they lost their mailbox too
    # When someone else took over the account, according to the operator: nothing newer can stop this recovery, and
    # nothing older is removed by it. None if the owner only lost their factors.
    taken_over_at = models.DateTimeField(null=True)
    by_mail = models.BooleanField(default=False)  # the person proved only that they can read the email of the account
    started_at = models.DateTimeField()
    remind_at = models.DateTimeField(null=True)  # null: reminded
    due_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=10, choices=Outcome.choices, blank=True)

    objects = AccountRecoveryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "account recoveries"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["account"], condition=Q(ended_at=None), name="one_open_recovery"),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["account"], name="recoveries_of_account"),
            models.Index(fields=["started_by"], name="recoveries_by_operator"),
            models.Index(fields=["due_at"], condition=Q(ended_at=None), name="open_recoveries"),
        ]

    def __str__(self) -> str:
        return f"Recovery of account {self.account_id}"

    @property
    def is_own(self) -> bool:
        """Whether the person started it; operators can't start one of their own account."""
        return self.started_by_id == self.account_id


class SecurityEvent(models.Model):
    """A sign-in, or a change of how someone signs in; accounts/activity/kinds.py has a text for each `kind`."""

    class By(models.TextChoices):
        PERSON = "person", "the person"
        OPERATOR = "operator", "an operator"
        SERVICE = "service", "the service itself"

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="security_events", db_index=False)
    kind = models.CharField(max_length=40)
    at = models.DateTimeField()
    by = models.CharField(max_length=10, choices=By.choices, default=By.PERSON)
    # Where it came from; empty for actions without a browser of the person, and for actions of operators.
    ip = models.GenericIPAddressField(null=True, blank=True)
    browser = models.CharField(max_length=80, blank=True)
    place = models.CharField(max_length=100, blank=True)
    details = models.JSONField(default=dict, blank=True)  # names for the sentence; never a secret

    class Meta:
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["account", "-at"], name="security_events_of_account"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.account_id} at {self.at}"
