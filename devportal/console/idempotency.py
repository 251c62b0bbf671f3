"""Idempotency of forms: a double click, a reload or the back button never creates an object twice.

The form has an idempotency token (`new_token`) in its hidden field `once`. The view spends the token in the transaction
that creates the object, so that the second of two concurrent requests waits, and finds what the first has created.
"""

import re

from django.db import transaction
from django.http import HttpRequest

from accounts.sessions.authentication import account_of
from core import clock
from core.credentials import random_text
from devportal.console.models import IdempotencyToken

FIELD = "once"
TOKEN_LENGTH = 22  # 130 random bits
_TOKEN = re.compile(rf"[A-Za-z0-9]{{{TOKEN_LENGTH}}}")


class AlreadyProcessed(Exception):
    """The token was already used. `made` is the public id of the created object, or ""."""

    def __init__(self, made: str = "") -> None:
        super().__init__("sent before")
        self.made = made


class MissingToken(Exception):
    """The form has no valid token. Show it again with a new one."""


def new_token() -> str:
    """Return a new idempotency token for one rendering of a form."""
    return random_text(TOKEN_LENGTH)


def consume_token(request: HttpRequest) -> IdempotencyToken:
    """Spend the submitted form's token. Raises AlreadyProcessed if it was already used, MissingToken without one.

    Call it inside the transaction that creates the object, then call `record_result`: a rollback leaves the token
    unspent.
    """
    account = account_of(request)
    assert transaction.get_connection().in_atomic_block
    token = request.POST.get(FIELD, "")
    if not _TOKEN.fullmatch(token):
        raise MissingToken
    # Of two concurrent requests the second waits here until the first one's transaction ends.
    row, is_first = IdempotencyToken.objects.get_or_create(
        token=token, defaults={"account_id": account.pk, "at": clock.now()}
    )
    if not is_first:
        raise AlreadyProcessed(row.made if row.account_id == account.pk else "")
    return row


def record_result(row: IdempotencyToken, public_id: str) -> None:
    """Store the public id of the created object, for repeated submissions."""
    row.made = public_id
    row.save(update_fields=["made"])
