"""`manage.py cleartokens`: this service's own clean-up in place of the library's.

The library's would delete superseded refresh tokens, which are needed to detect their reuse.
"""

from typing import Any

from django.core.management.base import BaseCommand

from oidc.tokens.expiry import delete_expired


class Command(BaseCommand):
    """Delete what the periodic task deletes, and search the whole table for families without codes and tokens."""

    help = "Delete expired codes and tokens, and the families that have none left."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"{delete_expired(everything=True)} rows deleted.")
