"""/account/activity/, what happened to the account, and /account/secure/, what to do if it was not its owner."""

from dataclasses import dataclass
from typing import Any

from allauth.mfa.models import Authenticator
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.activity.recording import By, event_by_token, sentence, token_of
from accounts.authentication import account_of
from accounts.factors import undoing
from accounts.models import SecurityEvent
from accounts.session_list import valid_sessions
from accounts.views.sessions import sign_out_others
from devportal.lib.keyset import keyset_page, parse_key

PAGE_SIZE = 25


@dataclass(frozen=True)
class Line:
    """An event as the page shows it."""

    event: SecurityEvent
    says: str
    token: str
    by_operator: bool
    by_service: bool


@never_cache
@login_required
@require_safe
def activity(request: HttpRequest) -> HttpResponse:
    """GET /account/activity/: the events of the account, newest first; `before` and `after` are keys of events."""
    events = SecurityEvent.objects.filter(account=account_of(request))
    before, after = (parse_key(request.GET.get(name)) for name in ("before", "after"))
    page = keyset_page(events, before, after, PAGE_SIZE)
    lines = [
        Line(
            event,
            sentence(event),
            token_of(event),
            by_operator=event.by == By.OPERATOR,
            by_service=event.by == By.SERVICE,
        )
        for event in page.rows
    ]
    context = {"lines": lines, "older_than": page.older_than, "newer_than": page.newer_than}
    return render(request, "accounts/activity.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def secure(request: HttpRequest) -> HttpResponse:
    """/account/secure/: where "this was not me" leads. A GET changes nothing; a POST ends all other sessions.

    `event` names the event that was meant; for one that added a factor the page leads to its removal.
    """
    meant = _meant(request)
    if not request.user.is_authenticated:
        return render(request, "accounts/secure_signed_out.html", meant)
    account = account_of(request)
    if request.method == "POST":
        sign_out_others(request)
        if not meant:
            return HttpResponseRedirect(reverse("account_secure"))
        return HttpResponseRedirect(f"{reverse('account_secure')}?{urlencode({'event': meant['token']})}")
    context = {
        "others": sum(entry.session_key != request.session.session_key for entry in valid_sessions(account)),
        "has_password": account.has_usable_password(),
        "factors": Authenticator.objects.filter(user=account).exclude(type=Authenticator.Type.RECOVERY_CODES).count(),
    }
    return render(request, "accounts/secure.html", context | meant)


def _meant(request: HttpRequest) -> dict[str, Any]:
    """Return what the page says about the event that the link names; empty if it names none."""
    token = request.GET.get("event", "")
    event = event_by_token(token) if token else None
    if event is None:
        return {}
    return {"event": event, "says": sentence(event), "token": token, "undoable": undoing.undoable(event)}
