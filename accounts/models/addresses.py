"""Changes of an account's address, each of which the old address can take back for some days."""

from typing import ClassVar

from django.db import models

from accounts.models.people import Account


class AddressChange(models.Model):
    """A change from one proven address to another; the code in the mail to the old one takes it back."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="address_changes")
    old_email = models.EmailField()
    new_email = models.EmailField()
    # The account's newest factor at that moment, by its key: later ones go when the change is taken back, even
    # where the clocks of two servers differ. 0: none; None: not known, of a change that was carried over.
    newest_factor = models.BigIntegerField(null=True)
    code_mac = models.CharField(max_length=64)
    at = models.DateTimeField()
    # Taken back, or made while an earlier change stood that was taken back.
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["old_email"], name="address_changes_of_address"),
            models.Index(fields=["at"], name="address_changes_by_age"),
        ]

    def __str__(self) -> str:
        return f"change {self.pk} of account {self.account_id}"
