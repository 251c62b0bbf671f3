"""The service's password hasher with few rounds, for services that tests start (tests/services/settings.py)."""

from core.passwords import BoundedPBKDF2PasswordHasher


class QuickPasswordHasher(BoundedPBKDF2PasswordHasher):
    """The service's own hasher, with 1,000 rounds instead of a million."""

    iterations = 1_000
