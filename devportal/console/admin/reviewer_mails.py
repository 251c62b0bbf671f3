"""The page on which a reviewer chooses which mails the desk sends them."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from unfold.widgets import UnfoldBooleanSwitchWidget

from accounts.authentication import account_of
from devportal.console.reviews import recipients


class MyMailsForm(forms.Form):
    mails_new = forms.BooleanField(
        label="New submissions",
        help_text="What was sent or sent again, in one mail every ten minutes at most.",
        required=False,
        widget=UnfoldBooleanSwitchWidget,
    )
    mails_late = forms.BooleanField(
        label="Late submissions",
        help_text="What has begun to wait for longer than it should, in one mail an hour at most.",
        required=False,
        widget=UnfoldBooleanSwitchWidget,
    )
    mails_cases = forms.BooleanField(
        label="Cases",
        help_text="Reports, lost domains and other cases: when they are opened, and when they are late.",
        required=False,
        widget=UnfoldBooleanSwitchWidget,
    )


def my_mails(page: Any, request: HttpRequest) -> HttpResponse:
    """…/my-mails/: GET shows what the reviewer chose, POST stores it. `page` is the ModelAdmin of reviews."""
    if request.method not in ("GET", "HEAD", "POST"):
        return HttpResponseNotAllowed(["GET", "HEAD", "POST"])
    if not page.has_view_permission(request):
        raise PermissionDenied
    account, queue = account_of(request), reverse("admin:console_appreview_changelist")
    if request.method == "POST":
        form = MyMailsForm(request.POST)
        if form.is_valid():
            recipients.save_settings(account, **form.cleaned_data)
            messages.success(request, "Your choice is stored. It holds from the next mail on.")
            return redirect(queue)
    chosen = recipients.settings_of(account)
    form = MyMailsForm(initial={name: getattr(chosen, name) for name in MyMailsForm.base_fields})
    context = {
        **page.admin_site.each_context(request),
        "opts": page.opts,
        "title": "My mails",
        "form": form,
        "back_url": queue,
    }
    return TemplateResponse(request, "admin/console/my_mails.html", context)
