"""Forms that make something do it once, however often they are sent: a double click, a reload, the back button.

A page draws a token (`new_token`) into its form as the hidden field `once`. What answers the form spends the token in
the transaction that makes the thing, so that of two requests at once the second waits, and is told what the first made.
"""

import re

from django.db import transaction
from django.http import HttpRequest

from accounts.models import Account
from devportal.console.models import IdempotencyToken
from devportal.lib import clock
from devportal.lib.credentials import random_text

FIELD = "once"
TOKEN_LENGTH = 22  # 130 random bits
_TOKEN = re.compile(rf"[A-Za-z0-9]{{{TOKEN_LENGTH}}}")


class AlreadyProcessed(Exception):
    """The form did its work before; `made` is what came of it (""), a public id."""

    def __init__(self, made: str = "") -> None:
        super().__init__("sent before")
        self.made = made


class MissingToken(Exception):
    """The form came without a token of ours: it is shown once more, with a fresh one."""


def new_token() -> str:
    """Return a token for one rendering of one form."""
    return random_text(TOKEN_LENGTH)


def consume_token(request: HttpRequest) -> IdempotencyToken:
    """Spend the token of the form that was sent. Raises AlreadyProcessed if it was spent, Unmarked without one.

    Call it inside the transaction that does the work, and tell `record_result` what came of it: work that fails leaves
    the token unspent.
    """
    assert isinstance(request.user, Account)
    assert transaction.get_connection().in_atomic_block
    token = request.POST.get(FIELD, "")
    if not _TOKEN.fullmatch(token):
        raise MissingToken
    # Two at once: the second waits here for the first one's transaction to end.
    row, is_first = IdempotencyToken.objects.get_or_create(
        token=token, defaults={"account_id": request.user.pk, "at": clock.now()}
    )
    if not is_first:
        raise AlreadyProcessed(row.made if row.account_id == request.user.pk else "")
    return row


def record_result(row: IdempotencyToken, public_id: str) -> None:
    """Keep the public id of what the form made, for whoever sends it again."""
    row.made = public_id
    row.save(update_fields=["made"])
