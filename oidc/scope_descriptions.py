"""Descriptions of the scopes that an app requests or has: one sentence each, with the person's own values."""

from collections.abc import Collection, Iterable
from typing import Any

from accounts.models import Account
from accounts.plans.sources import plan_source
from accounts.sources import SourceFailed
from oidc.scopes import ACCOUNT_READ, OPENID, SCOPES

ONLY_SIGN_IN = "Sign you in"
ONLY_ID = "The app gets an id for you that other apps don't know, and nothing else."
# The scopes in ACCOUNT_READ_HOLDS, as part of a sentence.
_PARTS = {"email": "your email address", "profile": "your name and photo"}


def describe_scopes(
    account: Account, asked: Iterable[str], *, optional: Collection[str] = (), plan: str | None = None
) -> list[dict[str, Any]]:
    """Return the description of each scope: `scope`, `title`, `values`, and whether to show the person's `photo`.

    `account.read` does not repeat an email address, name or photo that another required scope already describes.
    `plan` is the name of the person's plan; with None it is looked up if needed.
    """
    names = [name for name in asked if name in SCOPES]
    if names == [OPENID]:
        return [_description(OPENID, ONLY_SIGN_IN, [ONLY_ID])]
    shown = {name for name in names if name in _PARTS and name not in optional}
    return [_describe(account, name, shown, plan) for name in names]


def plan_name(account: Account) -> str:
    """Return the display name of the person's plan, "" if the plan source does not respond."""
    try:
        return str(plan_source().plan(account)["plan_display_name"])
    except SourceFailed:
        return ""


def _describe(account: Account, name: str, shown: Collection[str], plan: str | None) -> dict[str, Any]:
    if name == "email":
        return _description(name, SCOPES[name].title, [account.email])
    if name == "profile":
        nothing = "" if account.full_name or account.picture else "You have given neither yet."
        return _description(name, SCOPES[name].title, [account.full_name, nothing], photo=bool(account.picture))
    if name == ACCOUNT_READ:
        parts = [part for part in _PARTS if part not in shown]
        known = {"email": account.email, "profile": account.full_name}
        found = plan_name(account) if plan is None else plan
        values = [*(known[part] for part in parts), f"Plan: {found}" if found else ""]
        return _description(name, _title(parts), values, photo="profile" in parts and bool(account.picture))
    return _description(name, SCOPES[name].title)


def _title(parts: list[str]) -> str:
    """Return the title of `account.read`, limited to `parts`: other scopes on the page already name the rest."""
    if len(parts) == len(_PARTS):
        return SCOPES[ACCOUNT_READ].title
    return f"See {', '.join(_PARTS[part] for part in parts)}, and your plan" if parts else "See your plan"


def _description(name: str, title: str, values: Iterable[str] = (), *, photo: bool = False) -> dict[str, Any]:
    return {"scope": name, "title": title, "values": [value for value in values if value], "photo": photo}
