"""Pages that undo a change with a code from the email about it: a new email address, or a new factor."""

from datetime import datetime
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse, reverse_lazy
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.activity.recording import event_by_token, sentence
from accounts.entrance import guesses
from accounts.mail.codes import MailboxCode
from accounts.models import Account
from accounts.recovery import address_changes, closing, questioned, undoing
from accounts.sessions.browser_sessions import is_current
from accounts.views.mailbox import CodeForm, CodePage
from core.email_addresses import EmailAddressField
from core.limits import Rate, usage
from core.limits.middleware import limited_by_address

MINUTE = 60
CHANGED = "Nothing was removed, because the account was changed meanwhile. Sign in to check it."
TAKEN_BACK = "taken_back"  # session key in a browser that has just taken an account back


class TakeBackForm(CodeForm):
    """The old email address, and the code that was mailed there."""

    email = EmailAddressField(
        label="Your old email address",
        max_length=254,
        help_text="The email address to which we sent the email about the change.",
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )


@limited_by_address
class TakeBackView(CodePage):
    """/account/address/take-back: the form that takes the email address back."""

    form_class = TakeBackForm
    refused_field = None
    template_name = "accounts/take_back.html"
    success_url = reverse_lazy("account_address_taken_back")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(days=settings.ADDRESS_REVERSAL_DAYS, **kwargs)

    def limits(self) -> tuple[guesses.Limit, ...]:
        rate = Rate("take-back, address", settings.GUESSES_PER_ADDRESS_PER_MINUTE, MINUTE)
        return ((rate, (usage.address(self.request),)),)

    def use_code(self, form: Any) -> None:
        email, code = form.cleaned_data["email"], form.cleaned_data["code"]
        account, question = address_changes.take_back(self.request, email, code)
        if self.request.user.pk == account.pk:
            logout(self.request)
        asked = {"since": question.since.isoformat(), "newest": question.newest}
        stamp = account.get_session_auth_hash()
        self.request.session[TAKEN_BACK] = {"account": account.pk, "stamp": stamp, "asked": asked}


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
    return render(request, "accounts/taken_back.html", context)


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


@limited_by_address
class UndoView(CodePage):
    """/account/undo/: shows what would be removed, and removes it. Opening the page changes nothing."""

    template_name = "accounts/undo.html"
    success_url = reverse_lazy("account_undone")

    def early_response(self) -> HttpResponse | None:
        request = self.request
        self.token = (request.POST if request.method == "POST" else request.GET).get("event", "")
        event = event_by_token(self.token)
        if event is None or not undoing.undoable(event):
            return render(request, self.template_name, {"event": None, "days": settings.ADDRESS_REVERSAL_DAYS})
        self.event = event
        return None

    def mailbox_code(self) -> MailboxCode:
        return undoing.code_of(self.event)

    def page_url(self) -> str:
        return f"{self.request.path}?{urlencode({'event': self.token})}"

    def limits(self) -> tuple[guesses.Limit, ...]:
        rate = Rate("undo, address", settings.GUESSES_PER_ADDRESS_PER_MINUTE, MINUTE)
        return ((rate, (usage.address(self.request),)),)

    def use_code(self, form: Any) -> None:
        undoing.undo(self.request, self.event, form.cleaned_data["code"])
        if self.request.user.pk == self.event.account_id:
            logout(self.request)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(event=self.event, says=sentence(self.event), token=self.token, **kwargs)


@never_cache
@require_safe
def undone(request: HttpRequest) -> HttpResponse:
    """GET /account/undone/: what has happened, and the next steps."""
    return render(request, "accounts/undone.html")
