"""The page that takes an address back with the code from the mail about its change; nobody has to be signed in."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts import address_changes
from devportal.lib.ratelimit import Rate, hit, keys, undo_hit

MINUTE = 60


class TakeBackForm(forms.Form):
    """The old address, and the code that was mailed there."""

    email = forms.EmailField(
        label="Your old e-mail address",
        max_length=254,
        help_text="The one that our mail about the change went to.",
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )
    code = forms.CharField(
        label="Code from that mail",
        max_length=40,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "autocapitalize": "characters"}),
    )


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def take_back(request: HttpRequest) -> HttpResponse:
    """/account/address/take-back: a form, and what follows from it."""
    form = TakeBackForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and _act(request, form):
        return HttpResponseRedirect(reverse("account_address_taken_back"))
    page = {"form": form, "days": settings.ADDRESS_REVERSAL_DAYS}
    return render(request, "account/take_back.html", page)


def _act(request: HttpRequest, form: Any) -> bool:
    """Take the address back; return False if that was refused, which the form says. Raises RateLimited."""
    # Before it is looked at, so that guesses made at once count too.
    guess = Rate("take-back, address", settings.GUESSES_PER_ADDRESS_PER_MINUTE, MINUTE)
    hit(guess, keys.address(request))
    try:
        account = address_changes.take_back(request, form.cleaned_data["email"], form.cleaned_data["code"])
    except address_changes.TakeBackRefused as refused:
        form.add_error(None, str(refused))
        return False
    undo_hit(guess, keys.address(request))
    if request.user.pk == account.pk:
        logout(request)
    return True


@never_cache
@require_safe
def taken_back(request: HttpRequest) -> HttpResponse:
    """GET /account/address/taken-back: what has happened, and what to do now."""
    return render(request, "account/taken_back.html")
