"""What pages say of the scopes that an app asks for, or has: a sentence each, with the person's own values."""

from collections.abc import Collection, Iterable
from typing import Any

from accounts.models import Account
from accounts.plans.sources import plan_source
from accounts.sources import SourceFailed
from oidc.scopes import ACCOUNT_READ, OPENID, SCOPES

ONLY_SIGN_IN = "Sign you in"
ONLY_ID = "The app gets an id for you that other apps don't know, and nothing else."
# ACCOUNT_READ_HOLDS in words.
_PARTS = {"email": "your email address", "profile": "your name and photo"}


def accesses_of(
    account: Account, asked: Iterable[str], *, optional: Collection[str] = (), plan: str | None = None
) -> list[dict[str, Any]]:
    """Return what a page shows of each scope: `scope`, `title`, `values` and whether it is the `photo` that is shown.

    An email address, name and photo that one access shows already, and that can't be left out there, another one does
    not show again. `plan` is the name of the person's plan (None: it is looked up if it has to be shown).
    """
    names = [name for name in asked if name in SCOPES]
    if names == [OPENID]:
        return [_access(OPENID, ONLY_SIGN_IN, [ONLY_ID])]
    shown = {name for name in names if name in _PARTS and name not in optional}
    return [_describe(account, name, shown, plan) for name in names]


def plan_name(account: Account) -> str:
    """Return the display name of the person's plan, "" while its source does not answer."""
    try:
        return str(plan_source().plan(account)["plan_display_name"])
    except SourceFailed:
        return ""


def _describe(account: Account, name: str, shown: Collection[str], plan: str | None) -> dict[str, Any]:
    if name == "email":
        return _access(name, SCOPES[name].title, [account.email])
    if name == "profile":
        nothing = "" if account.full_name or account.picture else "You have given neither yet."
        return _access(name, SCOPES[name].title, [account.full_name, nothing], photo=bool(account.picture))
    if name == ACCOUNT_READ:
        parts = [part for part in _PARTS if part not in shown]
        known = {"email": account.email, "profile": account.full_name}
        found = plan_name(account) if plan is None else plan
        values = [*(known[part] for part in parts), f"Plan: {found}" if found else ""]
        return _access(name, _title(parts), values, photo="profile" in parts and bool(account.picture))
    return _access(name, SCOPES[name].title)


def _title(parts: list[str]) -> str:
    """Return the sentence of `account.read`, without what stands elsewhere on the page."""
    if len(parts) == len(_PARTS):
        return SCOPES[ACCOUNT_READ].title
    return f"See {', '.join(_PARTS[part] for part in parts)}, and your plan" if parts else "See your plan"


def _access(name: str, title: str, values: Iterable[str] = (), *, photo: bool = False) -> dict[str, Any]:
    return {"scope": name, "title": title, "values": [value for value in values if value], "photo": photo}
