"""Vouchers, which replace a client's secret in one request that this service makes for a member of its project.

A secret is stored as a hash, so the console's playground can't present it. A voucher is an argument of a call within
the process: it belongs to a single request object, and nothing that is sent over the network can become one. It is
valid for one code or refresh token only, which is still checked as usual.
"""

from dataclasses import dataclass
from typing import Any

from django.core.handlers.wsgi import WSGIRequest

from core.credentials import matches
from oidc.models import AuthorizationCode
from oidc.tokens.lookup import PresentedCredentials


@dataclass(frozen=True)
class Voucher:
    """The one credential that a member may use without the client's secret.

    The caller has checked that the member may create secrets of the client, and that the credential came to their own
    session. `account` is the member's primary key, and `credential` the SHA-256 of the raw code or refresh token. A
    code also needs the challenge of the verifier in that session, a refresh token the primary key of its family.
    """

    client_id: str
    account: int
    credential: str
    code_challenge: str = ""
    family: int | None = None

    def covers(self, presented: PresentedCredentials, *, code: str | None, refresh_token: str | None) -> bool:
        """Return whether this is the client, and exactly the credential of the member, that the voucher is for."""
        row = presented.credential
        if presented.client is None or presented.client.client_id != self.client_id:
            return False
        if row is None or row.user_id != self.account:
            return False
        if isinstance(row, AuthorizationCode):
            is_own = bool(self.code_challenge) and row.code_challenge == self.code_challenge
            return is_own and code is not None and matches(code, self.credential)
        is_own = self.family is not None and row.family_id == self.family
        return is_own and code is None and refresh_token is not None and matches(refresh_token, self.credential)


class VouchedRequest(WSGIRequest):
    """A request that this process makes with a voucher. A server never creates one."""

    def __init__(self, environ: dict[str, Any], voucher: Voucher) -> None:
        super().__init__(environ)
        self.voucher = voucher
