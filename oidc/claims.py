"""Claims about a person, by scope (docs/sign-in.md#scopes)."""

from typing import Any

from accounts.models import Account, PairwiseSubject
from accounts.profile import profile_of
from oidc.scopes import CLAIM_SCOPES


def claims_for(account: Account, subject: PairwiseSubject, scopes: list[str]) -> dict[str, Any]:
    """Return `sub` and the claims of `scopes`; a claim without a value is omitted."""
    profile = profile_of(account, subject.picture_key)
    claims = {
        name: getattr(profile, name)
        for name, scope in CLAIM_SCOPES.items()
        if scope in scopes and getattr(profile, name) not in (None, "")
    }
    return {"sub": subject.sub} | claims
