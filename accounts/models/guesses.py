"""Wrong codes of the second factor, counted until a right one."""

from django.db import models

from accounts.models.people import Account


class WrongCodes(models.Model):
    """How many wrong codes were typed for an account since the last right one (accounts/guesses.py)."""

    account = models.OneToOneField(Account, on_delete=models.CASCADE, primary_key=True, related_name="wrong_codes")
    count = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.count} wrong codes for {self.account_id}"
