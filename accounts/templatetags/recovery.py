"""The notice about an open recovery, for the pages of the account's security."""

from typing import Any

from django import template

from accounts.factors import recovery, takeovers
from accounts.models import Account

register = template.Library()


@register.inclusion_tag("accounts/recovery_notice.html", takes_context=True)
def recovery_notice(context: dict[str, Any]) -> dict[str, Any]:
    """Return the context of the notice that factors will be removed, with the way to stop it; empty without one."""
    account = context["user"]
    found = recovery.open_recovery(account) if isinstance(account, Account) else None
    may_stop = found is not None and takeovers.may_stop(found, context["request"])
    return {"recovery": found, "may_stop": may_stop, "csrf_token": context.get("csrf_token")}
