"""The profile object of specification 2.1."""

from typing import Any

from accounts import sources
from api.authentication import Caller

ACCOUNT_READ = "account.read"
FIELD_SCOPES = {
    "email": "email",
    "email_verified": "email",
    "name": "profile",
    "given_name": "profile",
    "family_name": "profile",
    "picture": "profile",
}


def accepted_scopes(caller: Caller) -> tuple[str, ...]:
    """Return the scopes of which a caller needs one: `account.read` for a key, else `profile` or `email`."""
    return (ACCOUNT_READ,) if caller.key else ("profile", "email")


def profile_for(caller: Caller) -> dict[str, Any]:
    """Return `id` and exactly the fields that the caller's scopes allow; without a value they are null.

    Raises accounts.sources.SourceFailed.
    """
    profile = sources.profile_source().profile(caller.account, caller.subject.picture_key)
    allowed = {
        name: getattr(profile, name) for name, scope in FIELD_SCOPES.items() if {scope, ACCOUNT_READ} & caller.scopes
    }
    return {"id": caller.subject.sub} | allowed
