"""Pages on which developers appeal, and answer what reviewers ask beside a review (docs/review.md#appeals)."""

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from devportal.console.access import Membership, get_client, get_membership
from devportal.console.reviews import appeals
from devportal.console.reviews.appeals import AppealOffer
from devportal.console.reviews.timeline import MAX_TEXT_LENGTH
from devportal.console.reviews.workflow import IllegalReviewStep, IncompleteSubmission, ReviewNotAllowed
from devportal.console.shortcuts import console_page, render_page
from devportal.lib.ratelimit.forms import limited_mailing
from oidc.models import Client
from oidc.projects.roles import Role, lock_for_change

SENT = "Your appeal is sent. You get a mail when it is answered."


class AppealForm(forms.Form):
    """Why a decision should be another one."""

    text = forms.CharField(
        label="What the reviewers should see differently, and why",
        max_length=MAX_TEXT_LENGTH,
        error_messages={"required": "Write what the reviewers should see differently, and why."},
        widget=forms.Textarea(attrs={"rows": 5}),
    )

    use_required_attribute = False


@limited_mailing
@console_page("GET", "HEAD", "POST")
def review_appeal(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """…/review/appeal: an appeal against a rejection, or against an approval that was withdrawn."""
    membership, client = get_client(request, project_id, client_id, Role.DEVELOPER)
    back = reverse("console:review", args=[project_id, client_id])
    return _appeal(request, membership, client, appeals.offer_for_client(client), back)


@limited_mailing
@console_page("GET", "HEAD", "POST")
def project_appeal(request: HttpRequest, project_id: str) -> HttpResponse:
    """…/appeal: an appeal against the suspension of a project."""
    membership = get_membership(request, project_id, Role.DEVELOPER)
    back = reverse("console:project", args=[project_id])
    return _appeal(request, membership, None, appeals.offer_for_project(membership.project), back)


def _appeal(
    request: HttpRequest, membership: Membership, client: Client | None, offer: AppealOffer | None, back: str
) -> HttpResponse:
    form = AppealForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            _send(membership, client, offer, form.cleaned_data["text"])
        except IncompleteSubmission as incomplete:
            form.add_error("text", str(incomplete))
        except (IllegalReviewStep, ReviewNotAllowed) as refused:
            messages.error(request, str(refused))
            return HttpResponseRedirect(back)
        else:
            messages.success(request, SENT)
            return HttpResponseRedirect(back)
    if offer is None or offer.case is not None or offer.again_at is not None:
        messages.error(request, "There is nothing to appeal against at the moment.")
        return HttpResponseRedirect(back)
    return render_page(request, "console/appeal.html", membership, client, form=form, appeal=offer, back=back)


def _send(membership: Membership, client: Client | None, offer: AppealOffer | None, text: str) -> None:
    """Appeal against what was offered; each step looks again whether that still stands."""
    actor = membership.account
    with lock_for_change(membership.project, actor, Role.DEVELOPER):
        if client is None:
            appeals.appeal_suspension(membership.project, actor, text)
        elif offer is not None and offer.is_rejection and offer.entry is not None and offer.entry.review is not None:
            appeals.appeal_rejection(offer.entry.review, actor, text)
        else:
            appeals.appeal_withdrawal(client, actor, text)
