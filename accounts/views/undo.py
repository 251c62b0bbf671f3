"""Pages that undo a change with a code from the mail about it: a new email address, or a new factor."""

from datetime import datetime
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts import address_changes, guesses
from accounts.activity.recording import event_by_token, sentence
from accounts.deletion import closing
from accounts.factors import questioned, undoing
from accounts.models import Account, SecurityEvent
from accounts.sessions import is_current
from core.email_addresses import EmailAddressField
from core.limits import Rate, RateLimited, usage
from core.limits.middleware import limited_by_address

MINUTE = 60
CHANGED = "Nothing was removed, because the account was changed meanwhile. Sign in to check it."
TAKEN_BACK = "taken_back"  # session key in a browser that has just taken an account back


class TakeBackForm(forms.Form):
    """The old email address, and the code that was mailed there."""

    email = EmailAddressField(
        label="Your old email address",
        max_length=254,
        help_text="The email address to which we sent the mail about the change.",
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )
    code = forms.CharField(
        label="Code from that mail",
        max_length=40,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "autocapitalize": "characters"}),
    )


@limited_by_address
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def take_back(request: HttpRequest) -> HttpResponse:
    """/account/address/take-back: the form that takes the email address back."""
    form = TakeBackForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and _take_back(request, form):
        return HttpResponseRedirect(reverse("account_address_taken_back"))
    page = {"form": form, "days": settings.ADDRESS_REVERSAL_DAYS}
    return render(request, "account/take_back.html", page)


def _take_back(request: HttpRequest, form: Any) -> bool:
    """Take the email address back; return False and add an error to the form if refused. Raises RateLimited."""
    # Counted before the code is checked, so that parallel guesses count too.
    rate = Rate("take-back, address", settings.GUESSES_PER_ADDRESS_PER_MINUTE, MINUTE)
    email, code = form.cleaned_data["email"], form.cleaned_data["code"]
    with guesses.Guess((rate, (usage.address(request),))) as guess:
        try:
            account, question = address_changes.take_back(request, email, code)
        except address_changes.TakeBackRefused as refused:
            guess.is_wrong()
            form.add_error(None, str(refused))
            return False
    if request.user.pk == account.pk:
        logout(request)
    asked = {"since": question.since.isoformat(), "newest": question.newest}
    request.session[TAKEN_BACK] = {"account": account.pk, "stamp": account.get_session_auth_hash(), "asked": asked}
    return True


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def taken_back(request: HttpRequest) -> HttpResponse:
    """/account/address/taken-back: what has happened, and the next steps.

    In the browser that took the account back, a POST keeps an account that was closed, or answers which of the factors
    from shortly before the change are not the owner's.
    """
    account, question = _taken_back(request)
    is_closed = account is not None and account.deletion_due_at is not None
    if request.method == "POST":
        if account is not None and question is not None and request.POST.get("action") == "remove":
            _answer(request, account, question)
        elif account is not None and is_closed:
            _keep(request, account)
        return HttpResponseRedirect(reverse("account_address_taken_back"))
    context: dict[str, Any] = {"closed": is_closed, "account": account}
    if account is not None and question is not None:
        context["added"] = questioned.factors_to_ask_about(account, question)
        context["sign_ins"] = questioned.sign_ins_to_show(account, question)
    return render(request, "account/taken_back.html", context)


def _answer(request: HttpRequest, account: Account, question: questioned.Question) -> None:
    ticked = set(request.POST.getlist("remove"))
    kept = [int(pk) for pk in request.POST.getlist("listed") if pk.isdecimal() and len(pk) < 20 and pk not in ticked]
    stored: dict[str, Any] = request.session[TAKEN_BACK]
    answered = questioned.answer(request, account.pk, stored["stamp"], question, kept)
    if answered is None:
        messages.error(request, CHANGED)
        return
    request.session[TAKEN_BACK] = {"account": answered.pk, "stamp": answered.get_session_auth_hash()}
    messages.success(request, "Your choice was saved. Everything that you ticked was removed.")


def _taken_back(request: HttpRequest) -> tuple[Account | None, questioned.Question | None]:
    """Return the account that this browser took back, and the question about it until that is answered.

    Return neither if the account's password or sessions have changed since.
    """
    kept: dict[str, Any] = request.session.get(TAKEN_BACK, {})
    account = Account.objects.filter(pk=kept["account"]).first() if kept else None
    if account is None or not is_current(kept["stamp"], account):
        return None, None
    asked: dict[str, Any] = kept.get("asked", {})
    question = questioned.Question(datetime.fromisoformat(asked["since"]), asked["newest"]) if asked else None
    return account, question


def _keep(request: HttpRequest, account: Account) -> None:
    try:
        closing.keep(account.pk, request, stamp=request.session[TAKEN_BACK]["stamp"])
    except (closing.Gone, closing.Outdated):
        messages.error(
            request, "The account could not be kept, because it was deleted or changed. Sign in to check it."
        )
    else:
        messages.success(request, "Your account stays. Choose a new password to sign in to it.")


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
    """Show what would be removed; a POST mails the code, or checks it. Opening the page changes nothing."""
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
    """GET /account/undone/: what has happened, and the next steps."""
    return render(request, "accounts/undone.html")


def _page(request: HttpRequest, event: SecurityEvent, token: str, form: CodeForm, **more: Any) -> HttpResponse:
    sent = undoing.was_sent(request, event)
    page = {"event": event, "says": sentence(event), "token": token, "form": form, "sent": sent} | more
    return render(request, "accounts/undo.html", page)


def _send(request: HttpRequest, event: SecurityEvent, token: str) -> HttpResponse:
    try:
        undoing.send_code(request, event)
    except RateLimited:
        return _page(request, event, token, CodeForm(), sent=True, no_more=True)
    return HttpResponseRedirect(f"{reverse('account_undo')}?{urlencode({'event': token})}")


def _undo(request: HttpRequest, event: SecurityEvent, form: Any) -> bool:
    """Remove the factor; return False and add an error to the form if refused. Raises RateLimited."""
    # Counted before the code is checked, so that parallel guesses count too.
    rate = Rate("undo, address", settings.GUESSES_PER_ADDRESS_PER_MINUTE, MINUTE)
    with guesses.Guess((rate, (usage.address(request),))) as guess:
        try:
            undoing.undo(request, event, form.cleaned_data["code"])
        except undoing.UndoRefused as refused:
            guess.is_wrong()
            form.add_error("code", str(refused))
            return False
    if request.user.pk == event.account_id:
        logout(request)
    return True
