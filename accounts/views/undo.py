"""/account/undo/: removes a new factor with a code from the mailbox that got the notice; nobody has to be signed in."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.activity.recording import event_by_token, sentence
from accounts.factors import undoing
from accounts.mail import resending
from accounts.models import SecurityEvent
from devportal.lib.ratelimit import Rate, RateLimited, hit, keys, undo_hit
from devportal.lib.ratelimit.forms import limited_by_address

MINUTE = 60


class CodeForm(forms.Form):
    """The code from the mail."""

    code = forms.CharField(
        label="Code",
        max_length=40,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "autocapitalize": "characters"}),
    )


@limited_by_address
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def undo(request: HttpRequest) -> HttpResponse:
    """Show what would be removed; a POST mails the code, or takes it. Opening the page changes nothing."""
    token = (request.POST if request.method == "POST" else request.GET).get("event", "")
    event = event_by_token(token)
    if event is None or not undoing.undoable(event):
        return render(request, "accounts/undo.html", {"event": None, "days": settings.ADDRESS_REVERSAL_DAYS})
    if request.POST.get("action") == "send":
        return _send(request, event, token)
    form = CodeForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and _undo(request, event, form):
        return HttpResponseRedirect(reverse("account_undone"))
    return _page(request, event, token, form)


@never_cache
@require_safe
def undone(request: HttpRequest) -> HttpResponse:
    """GET /account/undone/: says what has happened, and what to do now."""
    return render(request, "accounts/undone.html")


def _page(request: HttpRequest, event: SecurityEvent, token: str, form: CodeForm, **more: Any) -> HttpResponse:
    sent = request.session.get(resending.SENT, {}).get("to") == event.details["mailbox"]
    page = {"event": event, "says": sentence(event), "token": token, "form": form, "sent": sent} | more
    return render(request, "accounts/undo.html", page)


def _send(request: HttpRequest, event: SecurityEvent, token: str) -> HttpResponse:
    try:
        undoing.send_code(request, event)
    except RateLimited:
        return _page(request, event, token, CodeForm(), sent=True, no_more=True)
    return HttpResponseRedirect(f"{reverse('account_undo')}?{urlencode({'event': token})}")


def _undo(request: HttpRequest, event: SecurityEvent, form: Any) -> bool:
    """Remove the factor; return False if that was refused, which the form says. Raises RateLimited."""
    # Counted before the code is checked, so that parallel guesses count too.
    guess = Rate("undo, address", settings.GUESSES_PER_ADDRESS_PER_MINUTE, MINUTE)
    hit(guess, keys.address(request))
    try:
        undoing.undo(request, event, form.cleaned_data["code"])
    except undoing.UndoRefused as refused:
        form.add_error("code", str(refused))
        return False
    undo_hit(guess, keys.address(request))
    if request.user.pk == event.account_id:
        logout(request)
    return True
