"""Other pages of reviewers: links to a developer's URLs, the test account, mail preferences and prepared replies."""

from functools import partial
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from unfold.widgets import UnfoldBooleanSwitchWidget

from accounts.sessions.authentication import account_of
from core.admin.model_admin import ReadOnlyModelAdmin, ServiceModelAdmin
from core.database.encryption import Unreadable
from core.limits.counters import Throttled, check_rate
from core.storage.stored_files import image_response, read_file
from core.tasks import queue_task
from devportal.review.decisions.canned_replies import PLACEHOLDERS, clean_reply
from devportal.review.evidence.gathered import UnknownAddress, find_destination
from devportal.review.evidence.tasks import check_pages
from devportal.review.models import AppReview, CannedReply, ReviewerSettings, ReviewRevision
from devportal.review.rules import notifications
from devportal.review.rules.workflow import IncompleteSubmission, may_decide
from devportal.review.submission import for_reviewers


def readable_row(model_admin: Any, request: HttpRequest, pk: Any, *methods: str) -> Any:
    """Return a row that this person may view. `methods` are the possible ones of the request, by default GET and HEAD.

    Raises Http404, PermissionDenied.
    """
    row = model_admin.get_object(request, str(pk))
    if row is None:
        raise Http404
    if request.method not in (methods or ("GET", "HEAD")) or not model_admin.has_view_permission(request, row):
        raise PermissionDenied
    return row


def logo_response(name: str) -> HttpResponse:
    """Return a stored logo for the admin. Raises Http404 for ""."""
    if not name:
        raise Http404
    return image_response(partial(read_file, name), "private, no-store")


class EvidenceViews(ReadOnlyModelAdmin[AppReview]):
    """Views of the review admin that open a URL of a submission and check its pages again."""

    def get_urls(self) -> list[URLPattern]:
        leave, again = map(self.admin_site.admin_view, (self.leave_view, self.check_again_view))
        return [
            path("<int:pk>/leave/", leave, name="review_appreview_leave"),
            path("<int:pk>/check-again/", again, name="review_appreview_check_again"),
            *super().get_urls(),
        ]

    def leave_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """GET ?to=…: show a URL of the submission in full, with a link to it. Any other URL gets 404."""
        review = readable_row(self, request, pk)
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
        return TemplateResponse(request, "admin/review/leave.html", context)

    def check_again_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """POST: check the pages of the submission again."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        review = readable_row(self, request, pk, "POST")
        revision = ReviewRevision.objects.filter(review=review, number=review.revision).first()
        if not may_decide(account_of(request), review.client.project, review):
            messages.error(request, "Other reviewers decide on this app and check its pages.")
        elif revision is None:
            messages.error(request, "The submission is not stored, so there is nothing to check.")
        else:
            _check_again(request, revision)
        return redirect(reverse("admin:review_appreview_change", args=[review.pk]))


CHECKS_PER_MINUTE = 2  # of the pages of one submission


def _check_again(request: HttpRequest, revision: ReviewRevision) -> None:
    try:
        check_rate("page-checks", str(revision.review_id), CHECKS_PER_MINUTE)
    except Throttled as refusal:
        messages.error(request, f"The pages were just checked. Try again in {refusal.retry_after} seconds.")
    else:
        queue_task(check_pages, revision.pk)
        messages.success(request, "The pages are being checked. Reload this page in 30 seconds.")


NOT_YOURS = "Only the assignee can see the test account, while the app is with the reviewers."
UNREADABLE = "The test account can no longer be read. Ask the developers to enter it again."


def test_account_view(model_admin: Any, request: HttpRequest, pk: int) -> HttpResponse:
    """GET: whether a test account is stored. POST: show it to the assignee."""
    review = readable_row(model_admin, request, pk, "GET", "HEAD", "POST")
    account = None
    if request.method == "POST":
        try:
            account = for_reviewers.test_account_for(review, account_of(request))
            refusal = "" if account else NOT_YOURS
        except Unreadable:
            refusal = UNREADABLE
        if refusal:
            messages.error(request, refusal)
            return redirect("admin:review_appreview_change", review.pk)
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": "Test account",
        "original": review,
        "review": review,
        "account": account,
    }
    response = TemplateResponse(request, "admin/review/test_account.html", context)
    response["Cache-Control"] = "no-store"
    return response


class MyMailsForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = ReviewerSettings
        fields = ("mails_new", "mails_late", "mails_cases")
        labels = {"mails_new": "New submissions", "mails_late": "Late submissions", "mails_cases": "Cases"}
        help_texts = {
            "mails_new": "Apps that were submitted or resubmitted, in at most one email every ten minutes.",
            "mails_late": "Apps that have waited longer than the target, in at most one email an hour.",
            "mails_cases": "Reports, lost domains and other cases, when they are opened and when they are late.",
        }
        widgets = dict.fromkeys(fields, UnfoldBooleanSwitchWidget)


def my_mails(page: Any, request: HttpRequest) -> HttpResponse:
    """…/my-mails/: GET shows the reviewer's choice, POST stores it. `page` is the ModelAdmin of reviews."""
    if request.method not in ("GET", "HEAD", "POST"):
        return HttpResponseNotAllowed(["GET", "HEAD", "POST"])
    if not page.has_view_permission(request):
        raise PermissionDenied
    queue = reverse("admin:review_appreview_changelist")
    chosen = notifications.settings_of(account_of(request))
    form = MyMailsForm(request.POST if request.method == "POST" else None, instance=chosen)
    if form.is_valid():
        form.save()
        messages.success(request, "Your choice is saved. It applies from the next email on.")
        return redirect(queue)
    context = {
        **page.admin_site.each_context(request),
        "opts": page.opts,
        "title": "My emails",
        "form": form,
        "back_url": queue,
    }
    return TemplateResponse(request, "admin/review/my_mails.html", context)


_FILLED_IN = "; ".join(f"{{{name}}} is {meaning}" for name, meaning in PLACEHOLDERS.items())


class CannedReplyForm(forms.ModelForm):  # type: ignore[type-arg]
    """A reply. Unknown placeholders are rejected."""

    class Meta:
        model = CannedReply
        fields = ("title", "text")
        help_texts = {
            "title": "Reviewers choose it by this; developers never read it.",
            "text": f"It is put in front of a note, which developers read. Filled in: {_FILLED_IN}.",
        }

    def clean_text(self) -> str:
        try:
            return clean_reply(self.cleaned_data["text"])
        except IncompleteSubmission as error:
            raise ValidationError(str(error)) from error


@admin.register(CannedReply)
class CannedReplyAdmin(ServiceModelAdmin[CannedReply]):
    """Admin of the texts that reviewers can begin a note with."""

    is_long = False
    form: Any = CannedReplyForm
    empty_text = "There is no canned reply yet. Reviewers can begin a note with one."
    list_display = ("title", "beginning")
    ordering = ("title",)

    @admin.display(description="text")
    def beginning(self, reply: CannedReply) -> str:
        return reply.text if len(reply.text) <= 100 else f"{reply.text[:100]}…"

    def deletion_consequence(self, row: CannedReply) -> str:
        return "Existing notes keep their text. The reply can no longer be chosen."
