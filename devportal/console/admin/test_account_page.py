"""The admin page that shows the assigned reviewer the test account of a review (docs/review.md#the-test-account)."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from accounts.authentication import account_of
from devportal.console.reviews import test_accounts
from devportal.lib.encryption import Unreadable

NOT_YOURS = "The test account is shown to the assignee alone, while the app is with the reviewers."
UNREADABLE = "The test account can't be read any more. Ask the developers to type it again."


def test_account_view(model_admin: Any, request: HttpRequest, pk: int) -> HttpResponse:
    """GET: whether one is stored. POST: show it, to the assignee."""
    review = model_admin.get_object(request, str(pk))
    if review is None:
        raise Http404
    if request.method not in ("GET", "HEAD", "POST") or not model_admin.has_view_permission(request, review):
        raise PermissionDenied
    account = None
    if request.method == "POST":
        try:
            account = test_accounts.test_account_for(review, account_of(request))
            refusal = "" if account else NOT_YOURS
        except Unreadable:
            refusal = UNREADABLE
        if refusal:
            messages.error(request, refusal)
            return redirect("admin:console_appreview_change", review.pk)
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": "Test account",
        "original": review,
        "review": review,
        "account": account,
    }
    response = TemplateResponse(request, "admin/console/test_account.html", context)
    response["Cache-Control"] = "no-store"
    return response
