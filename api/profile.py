"""The profile object of specification 2.1."""

from typing import Any

from accounts.profile import profile_of
from api.callers import Caller

ALL = "account.read"
FIELD_SCOPES = {
    "email": "email",
    "email_verified": "email",
    "name": "profile",
    "given_name": "profile",
    "family_name": "profile",
    "picture": "profile",
}


def profile_for(caller: Caller) -> dict[str, Any]:
    """Return `id` and exactly the fields that the caller's scopes allow; without a value they are null."""
    profile = profile_of(caller.account, caller.subject.picture_key)
    allowed = {name: getattr(profile, name) for name, scope in FIELD_SCOPES.items() if {scope, ALL} & caller.scopes}
    return {"id": caller.subject.sub} | allowed
