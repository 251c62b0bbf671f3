"""The profile object of /v1/me: docs/api.md."""

from collections.abc import Mapping
from typing import Any

from accounts import sources
from api.authentication import Caller
from oidc.scopes import ACCOUNT_READ, ACCOUNT_READ_CLAIMS, CLAIM_SCOPES


def scopes_of_fields(claim_scopes: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """Return for each field the scopes that return it: the claim's scopes, and `account.read` if it includes it."""
    return {
        claim: frozenset({scope, ACCOUNT_READ} if claim in ACCOUNT_READ_CLAIMS else {scope})
        for claim, scope in claim_scopes.items()
    }


_SCOPES = scopes_of_fields(CLAIM_SCOPES)


def profile_for(caller: Caller) -> dict[str, Any]:
    """Return `id` and exactly the fields that the caller's scopes allow; fields without a value are null.

    Raises accounts.sources.SourceFailed.
    """
    profile = sources.profile_source().profile(caller.account, caller.subject.picture_key)
    allowed = {name: getattr(profile, name) for name, scopes in _SCOPES.items() if scopes & caller.scopes}
    return {"id": caller.subject.sub} | allowed
