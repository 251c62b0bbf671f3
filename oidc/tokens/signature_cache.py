"""Access tokens that this process has verified a moment ago, by their digests: an RSA check costs about 50 µs.

Only what never changes is remembered: that a key signed these claims. Whether the key is still published, what the
claims have to be, and when they expire is asked at each use, and all else is read from the database as for any token.
"""

import threading
from collections import OrderedDict
from typing import Any, NamedTuple

from jwcrypto.jwk import JWK

# Under 1 KB each.
MOST_TOKENS = 10_000


class SignedBy(NamedTuple):
    """The key that signed a token."""

    kid: str
    key: JWK


class SignedClaims(NamedTuple):
    """Claims of a token as they were signed; of any type, as a published key signs what this service makes."""

    by: SignedBy
    issuer: Any
    audience: Any
    expires: Any


class SignatureCache:
    """The tokens that were verified last. Thread-safe, and bounded by MOST_TOKENS."""

    def __init__(self) -> None:
        self._tokens: OrderedDict[str, SignedClaims] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._tokens)

    def find(self, checksum: str) -> SignedClaims | None:
        """Return what the token with this SHA-256 says, None for one that was not verified lately."""
        return self._tokens.get(checksum)

    def add(self, checksum: str, claims: SignedClaims) -> None:
        """Remember a token; beyond MOST_TOKENS the one that was added first goes."""
        with self._lock:
            self._tokens[checksum] = claims
            if len(self._tokens) > MOST_TOKENS:
                self._tokens.popitem(last=False)

    def clear(self) -> None:
        """Forget all tokens."""
        with self._lock:
            self._tokens.clear()
