"""Template tags and filters of the account pages."""

from typing import Any

from allauth.mfa.models import Authenticator
from django import template
from django.conf import settings

from accounts.factors import browser_passkeys
from accounts.models import Account
from accounts.recovery import securing, waiting
from accounts.sessions import keys
from core import clock, time_zones

register = template.Library()


@register.inclusion_tag("accounts/recovery_notice.html", takes_context=True)
def recovery_notice(context: dict[str, Any]) -> dict[str, Any]:
    """Return the context of the notice that factors will be removed, with the way to stop it; empty without one.

    A view that needs the recovery itself passes it as `recovery`.
    """
    account = context["user"]
    found = context.get("recovery")
    if "recovery" not in context and isinstance(account, Account):
        found = waiting.open_recovery(account)
    may_stop = found is not None and waiting.may_stop(found, context["request"])
    return {"recovery": found, "may_stop": may_stop, "csrf_token": context.get("csrf_token")}


@register.inclusion_tag("accounts/securing.html", takes_context=True)
def securing_step(context: dict[str, Any]) -> dict[str, Any]:
    """Return the context of the way back to "Secure your account"; empty if the person is not on its way."""
    request = context.get("request")
    step = securing.opened(request) if request is not None and hasattr(request, "session") else None
    return {"step": step, "csrf_token": context.get("csrf_token"), "request": request}


@register.inclusion_tag("mfa/webauthn/snippets/browser_passkeys.html", takes_context=True)
def browser_passkeys_script(
    context: dict[str, Any], *, always: bool = False, may_create: bool = False
) -> dict[str, Any]:
    """Return the context of the script that keeps the browser's passkeys up to date; empty if there is nothing to do.

    With `always`, the browser also learns that the account has no passkey. With `may_create`, it may create one after a
    sign-in with a password.
    """
    request = context["request"]
    signals: dict[str, Any] | None = browser_passkeys.describe(request, always=always)
    if not request.user.is_authenticated:
        unknown = browser_passkeys.take_unknown(request)
        signals = {"unknown": unknown} if unknown else None
    creates = may_create and browser_passkeys.may_create(request)
    return {"signals": signals, "creates": creates, "csrf_token": context.get("csrf_token")}


@register.simple_tag(takes_context=True)
def recovery_codes_file(context: dict[str, Any], codes: list[str]) -> str:
    """Return the text of `recovery-codes.txt`: service, account, date and codes."""
    today = clock.now().astimezone(time_zones.zone_of_reader(context["request"]))
    lines = [
        f"Recovery codes for {settings.SERVICE_NAME}",
        f"Account: {context['user'].email}",
        f"Saved on: {today.day} {today:%B %Y}",
        f"Sign in at: {settings.AUTH_URL}",
        "",
        "Each code works once. New codes replace these.",
        "",
        *codes,
    ]
    return "\n".join([*lines, ""])


@register.filter
def signs_in_alone(authenticator: Authenticator) -> bool:
    """Return whether this key may sign in without a password."""
    return keys.signs_in_alone(authenticator)
