"""/account/: the home of one's own account."""

from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.activity.recording import sentence
from accounts.authentication import account_of
from accounts.models import Account, SecurityEvent
from accounts.plans import resolution
from accounts.plans.states import STATE_TEXTS
from accounts.security_check import check_security
from accounts.signals import showing_home
from accounts.sources import SourceFailed

MOST_EVENTS = 4


@never_cache
@login_required
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """GET /account/: who I am, what guards my account, apps, plan, and what happened lately."""
    account = account_of(request)
    events = SecurityEvent.objects.filter(account=account).order_by("-at", "-pk")[:MOST_EVENTS]
    context: dict[str, Any] = {
        "security": check_security(account),
        "plan": _plan(account),
        "events": [{"event": event, "says": sentence(event)} for event in events],
    }
    sections: list[tuple[Any, Any]] = list(showing_home.send(sender=Account, account=account))
    for _, section in sections:
        context |= section
    return render(request, "accounts/home.html", context)


def _plan(account: Account) -> dict[str, str] | None:
    """Return the plan's name and state; None where another service would have to be asked, which may take long."""
    if settings.PLAN_SOURCE_URL:
        return None
    try:
        answer = resolution.resolve_plan(account).answer
    except SourceFailed:
        return None
    return {"name": answer["plan_display_name"], "state": STATE_TEXTS[answer["state"]].status}
