"""The profile object of /v1/me: docs/api.md."""

from typing import Any

from accounts import sources
from api.authentication import Caller
from oidc.scopes import CLAIM_SCOPES

ACCOUNT_READ = "account.read"


def profile_for(caller: Caller) -> dict[str, Any]:
    """Return `id` and exactly the fields that the caller's scopes allow; without a value they are null.

    Raises accounts.sources.SourceFailed.
    """
    profile = sources.profile_source().profile(caller.account, caller.subject.picture_key)
    allowed = {
        name: getattr(profile, name) for name, scope in CLAIM_SCOPES.items() if {scope, ACCOUNT_READ} & caller.scopes
    }
    return {"id": caller.subject.sub} | allowed
