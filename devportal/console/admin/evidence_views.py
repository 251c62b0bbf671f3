"""Two pages beside the one of a review: the way out to a developer's address, and looking at the pages again."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from accounts.authentication import account_of
from devportal.console.models import AppReview
from devportal.console.reviews.evidence.addresses import UnknownAddress, find_destination
from devportal.console.reviews.evidence.page_check_requests import look_again
from devportal.console.reviews.workflow import may_decide
from devportal.lib.admin.model_admin import ReadOnlyModelAdmin
from devportal.lib.ratelimit.limits import Throttled


class EvidenceViews(ReadOnlyModelAdmin[AppReview]):
    """The two pages, for the admin of reviews."""

    def get_urls(self) -> list[URLPattern]:
        leave, again = map(self.admin_site.admin_view, (self.leave_view, self.look_again_view))
        return [
            path("<int:pk>/leave/", leave, name="console_appreview_leave"),
            path("<int:pk>/look-again/", again, name="console_appreview_look_again"),
            *super().get_urls(),
        ]

    def _review(self, request: HttpRequest, pk: int) -> AppReview:
        review = self.get_object(request, str(pk))
        if review is None:
            raise Http404
        if not self.has_view_permission(request, review):
            raise PermissionDenied
        return review

    def leave_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """GET ?to=…: an address of the submission, whole, with a link to it; 404 for any other address."""
        review = self._review(request, pk)
        try:
            destination = find_destination(review, request.GET.get("to", ""))
        except UnknownAddress as error:
            raise Http404 from error
        context: dict[str, Any] = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": "Leave the admin",
            "review": review,
            "destination": destination,
        }
        return TemplateResponse(request, "admin/console/leave.html", context)

    def look_again_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """POST: have the pages of the submission looked at anew."""
        review = self._review(request, pk)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not may_decide(account_of(request), review.client.project, review):
            messages.error(request, "Others decide on this app, and look at its pages.")
        else:
            self._look_again(request, review)
        return redirect(reverse("admin:console_appreview_change", args=[review.pk]))

    def _look_again(self, request: HttpRequest, review: AppReview) -> None:
        try:
            begun = look_again(review)
        except Throttled as refusal:
            messages.error(request, f"The pages were just checked. Try again in {refusal.retry_after} seconds.")
            return
        if begun:
            messages.success(request, "The pages are being checked. Reload this page in 30 seconds.")
        else:
            messages.error(request, "The submission is no longer stored, so there is nothing to check.")
