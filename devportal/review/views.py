"""Developers' pages of app review: branding, submission, previews and appeals."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.debug import sensitive_post_parameters

from accounts.entrance.staff import lacks_second_factor
from accounts.sessions.authentication import account_of
from core.changed_meanwhile import ChangedMeanwhile
from core.limits.middleware import limited_by_person, limited_mailing
from core.storage.stored_files import image_response, read_file
from devportal.console.access import Membership, get_client, get_membership
from devportal.console.navigation import console_page, redirect_to_client, render_page
from devportal.review.cases import cases
from devportal.review.decisions import appeals
from devportal.review.decisions.appeals import AppealOffer
from devportal.review.models import AppReview, ReviewEntry
from devportal.review.rules import snapshots, workflow
from devportal.review.rules.reasons import reason_texts
from devportal.review.rules.timeline import MAX_TEXT_LENGTH, answered_points, points_of, timeline
from devportal.review.rules.workflow import IllegalReviewStep, IncompleteSubmission, ReviewNotAllowed, is_member
from devportal.review.submission import consent_preview, developer_actions, logos, requirements
from devportal.review.submission.forms import AnswerForm, BrandingForm, DraftForm, ReviewForm
from devportal.review.submission.requirements import REVIEW_PAGE, Requirement
from oidc.models import Client, ProjectMember
from oidc.projects.roles import Role, lock_for_change

# Entries that developers have to respond to.
UNWELCOME = (
    ReviewEntry.Kind.CHANGES_REQUESTED,
    ReviewEntry.Kind.REJECTED,
    ReviewEntry.Kind.APPROVAL_WITHDRAWN,
)
NOT_SENT = "It is saved as a draft, but not submitted yet. This is missing:"
NOTHING_SENT = "Nothing is saved or submitted yet. Fix these first:"
NOTHING_SAVED = "Nothing is saved yet. Fix these first:"
SUBMITTED_AGAIN = "The app was submitted again after you opened the page, so nothing is withdrawn yet."
MEANWHILE = "Something changed while you submitted it. Check the list of what is missing, and submit it again."


@limited_by_person
@console_page("GET", "HEAD", "POST")
def branding(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """…/branding: what people see of the app, with a preview. Each form names its step."""
    at_least = Role.DEVELOPER if request.method == "POST" else Role.VIEWER
    membership, client = get_client(request, project_id, client_id, at_least)
    form = _branding_form(client, *((request.POST, request.FILES) if request.method == "POST" else ()))
    if request.POST.get("step") == "save" and form.is_valid():
        try:
            if _is_saved(form, membership, client):
                return _saved(request, client, "branding")
        except (IllegalReviewStep, ReviewNotAllowed) as refused:
            messages.error(request, str(refused))
            return redirect_to_client(client, "branding")
    return _branding_page(request, membership, client, form)


def _branding_form(client: Client, *given: Any) -> BrandingForm:
    return BrandingForm(*given, snapshot=snapshots.working_snapshot_of(client, snapshots.open_review(client)))


def _branding_page(request: HttpRequest, membership: Membership, client: Client, form: BrandingForm) -> HttpResponse:
    under_way = snapshots.open_review(client)
    asked = snapshots.working_snapshot_of(client, under_way)
    return render_page(
        request,
        "review/branding.html",
        membership,
        client,
        review=under_way,
        may_edit=membership.may_edit and not (under_way and under_way.is_frozen),
        asked=asked,
        logo=logos.logo_path(client, asked["logo"]),
        form=form,
        refused=NOTHING_SAVED,
        summary=error_summary(form, (), client) if request.POST.get("step") == "save" else [],
        previews=consent_preview.consent_previews(client, form.over(asked), membership.account),
    )


@limited_mailing
@limited_by_person
@sensitive_post_parameters("test_login", "test_password", "test_note")
@console_page("GET", "HEAD", "POST")
def review(request: HttpRequest, project_id: str, client_id: str) -> HttpResponse:
    """…/review: state, checklist, submission and timeline of a review. Each form names its step.

    `?scope=` ticks a scope, unsaved.
    """
    at_least = Role.DEVELOPER if request.method == "POST" else Role.VIEWER
    membership, client = get_client(request, project_id, client_id, at_least)
    if request.method != "POST":
        return _page(request, membership, client)
    take = STEPS.get(request.POST.get("step", ""))
    if take is None:
        return redirect_to_client(client, "review")
    try:
        return take(request, membership, client)
    except (IllegalReviewStep, ReviewNotAllowed) as refused:
        messages.error(request, str(refused))
        return redirect_to_client(client, "review")


def _page(
    request: HttpRequest,
    membership: Membership,
    client: Client,
    form: ReviewForm | None = None,
    answer: AnswerForm | None = None,
    *,
    refused: str = "",
) -> HttpResponse:
    """Render the page. If `refused` says why the submission failed, everything that is missing is marked."""
    under_way = snapshots.open_review(client)
    asked, points = snapshots.working_snapshot_of(client, under_way), points_of(under_way)
    wanted = request.GET.get("scope", "")
    form = form or ReviewForm(client=client, snapshot=asked, points=points, wanted=wanted)
    items = requirements.submission_requirements(client, form.over(asked), points)
    missing = requirements.missing_among(items)
    lacking = missing if refused else []
    form.mark_missing(lacking)
    form.ask_for_the_password_again()
    summary = error_summary(form, lacking, client) or ([Line(MEANWHILE)] if refused else [])
    entries = [(entry, reason_texts(entry.reasons), answered_points(entry)) for entry in timeline(client)]
    may_edit = membership.may_edit and not (under_way and under_way.is_frozen)
    return render_page(
        request,
        "review/review.html",
        membership,
        client,
        review=under_way,
        sent_at=_sent_at(entry for entry, *_ in entries),
        may_edit=may_edit,
        asked=asked,
        form=form,
        answer=answer or AnswerForm(),
        missing=_linked(missing, client, may_edit),
        advice=_linked([item for item in items if not item.blocks and not item.done], client, may_edit),
        done=[item for item in items if item.done],
        refused=refused or NOTHING_SAVED,
        summary=summary,
        entries=entries,
        answers=_answers(under_way, [entry for entry, *_ in entries]),
        appeal=appeals.offer_for_client(client),
        not_reviewed=[snapshots.label_of(scope) for scope in cases.unreviewed_scopes(client)],
        people_before_review=settings.UNVERIFIED_APP_PEOPLE,
    )


# --- The summary of what prevents a submission ---

# Pages of the whole project. The other pages belong to the client.
PROJECT_PAGES = frozenset({"console:domains"})


@dataclass(frozen=True)
class Line:
    """One thing to fix: the text, and the link to its place. Without a link it concerns the whole form."""

    text: str
    href: str = ""


def address_of(item: Requirement, client: Client) -> str:
    """Return the URL at which an item is fixed: a field of the page Review, or another page of the console."""
    section = f"#id_{item.field}" if item.field else ""
    if item.url_name == REVIEW_PAGE:
        return section or "#ask"
    project = client.project.public_id
    page = reverse(item.url_name, args=[project] if item.url_name in PROJECT_PAGES else [project, client.client_id])
    return page + section


def _linked(items: Iterable[Requirement], client: Client, may_edit: bool) -> list[tuple[Requirement, str]]:
    """Return items with the URLs of their fixes. Members who can't edit have no fields."""
    return [(item, address_of(item, client) if may_edit or not item.field else "") for item in items]


def error_summary(form: DraftForm, lacking: Iterable[Requirement], client: Client) -> list[Line]:
    """Return the errors of the page in the order of its fields, then the items missing on other pages."""
    lines = [Line(str(error)) for error in form.non_field_errors()]
    for field in form:
        lines += [Line(f"{field.label}: {error}", f"#{field.id_for_label}") for error in field.errors]
    elsewhere = (item for item in lacking if item.field not in form.fields)
    return [*lines, *(Line(f"{item.title}: {item.help}", address_of(item, client)) for item in elsewhere)]


def _sent_at(entries: Iterable[ReviewEntry]) -> datetime | None:
    """Return when the app was last sent to the reviewers, or None if the timeline no longer says so."""
    sent = (ReviewEntry.Kind.SUBMITTED, ReviewEntry.Kind.RESUBMITTED, ReviewEntry.Kind.APPEALED)
    return max((entry.at for entry in entries if entry.kind in sent), default=None)


def _answers(under_way: AppReview | None, entries: list[ReviewEntry]) -> list[tuple[ReviewEntry, list[str]]]:
    """Return the reviewers' latest entries with the texts of their reasons, while the developers have to respond."""
    if under_way is not None and under_way.is_frozen:
        return []
    aside = (ReviewEntry.Kind.COMMENT, ReviewEntry.Kind.ASSIGNED)
    steps = [entry for entry in entries if entry.client_id and entry.kind not in aside]
    if not steps or steps[-1].kind not in UNWELCOME:
        return []
    return [(steps[-1], reason_texts(steps[-1].reasons))]


# --- The steps ---


def _developing(membership: Membership) -> AbstractContextManager[ProjectMember]:
    """Lock the project for a developer's step, before the step locks the client."""
    return lock_for_change(membership.project, membership.account, Role.DEVELOPER)


def _form(client: Client, *given: Any) -> ReviewForm:
    """Return the form of the open review, bound to the `given` data."""
    under_way = snapshots.open_review(client)
    asked = snapshots.working_snapshot_of(client, under_way)
    return ReviewForm(*given, client=client, snapshot=asked, points=points_of(under_way))


def _is_saved(form: BrandingForm | ReviewForm, membership: Membership, client: Client) -> bool:
    """Save the valid form, or add the error to it. After a change by someone else, it can be sent again."""
    try:
        with _developing(membership):
            developer_actions.save_submission(client, membership.account, **form.changes)
    except ChangedMeanwhile as error:
        form.show_over(snapshots.draft_digest(snapshots.working_snapshot(client)))
        form.add_error(None, error)
    except ValidationError as error:
        form.add_error(None, error)
    return form.is_valid()


def _save(request: HttpRequest, membership: Membership, client: Client) -> HttpResponse:
    form = _form(client, request.POST)
    sends = request.POST.get("step") == "send"
    if form.is_valid() and _is_saved(form, membership, client):
        return _send(request, membership, client) if sends else _saved(request, client, "review")
    return _page(request, membership, client, form, refused=NOTHING_SENT if sends else "")


def _send(request: HttpRequest, membership: Membership, client: Client) -> HttpResponse:
    """Submit the saved draft. If something is missing, show the page with the saved values and marks."""
    try:
        with _developing(membership):
            developer_actions.send_submission(client, membership.account)
    except workflow.IncompleteSubmission:
        # Saving has changed the client's row.
        now = get_client(request, client.project.public_id, client.client_id, Role.DEVELOPER)
        return _page(request, *now, refused=NOT_SENT)
    messages.success(request, "Submitted for review. You will get a notice when the reviewers respond.")
    return redirect_to_client(client, "review")


def _saved(request: HttpRequest, client: Client, page: str) -> HttpResponse:
    if client.is_verified:
        messages.success(request, "Saved as a draft. People see the reviewed values until reviewers approve the draft.")
    else:
        messages.success(request, "Saved.")
    return redirect_to_client(client, page)


def _preview(request: HttpRequest, membership: Membership, client: Client) -> HttpResponse:
    return _page(request, membership, client, _form(client, request.POST))


def _start_over(request: HttpRequest, membership: Membership, client: Client) -> HttpResponse:
    with _developing(membership):
        developer_actions.start_over(client, membership.account, request.POST.get("seen", ""))
    messages.success(request, "The changes since the last review are discarded.")
    return redirect_to_client(client, "review")


def _withdraw(request: HttpRequest, membership: Membership, client: Client) -> HttpResponse:
    with _developing(membership):
        under_way = _under_way(client)
        if request.POST.get("submission", under_way.submission) != under_way.submission:
            raise workflow.IllegalReviewStep(SUBMITTED_AGAIN)
        developer_actions.withdraw(under_way, membership.account)
    messages.success(request, "Withdrawn. You can now edit it and submit it again.")
    return redirect_to_client(client, "review")


def _answer(request: HttpRequest, membership: Membership, client: Client) -> HttpResponse:
    form = AnswerForm(request.POST)
    if not form.is_valid():
        return _page(request, membership, client, answer=form)
    with _developing(membership):
        developer_actions.answer(_under_way(client), membership.account, form.cleaned_data["text"])
    messages.success(request, "Your message is sent.")
    return redirect_to_client(client, "review")


def _under_way(client: Client) -> AppReview:
    found = snapshots.open_review(client)
    if found is None:
        raise workflow.IllegalReviewStep("There is no longer an open review.")
    return found


STEPS: Mapping[str, Callable[[HttpRequest, Membership, Client], HttpResponse]] = {
    "save": _save,
    "send": _save,
    "preview": _preview,
    "start_over": _start_over,
    "withdraw": _withdraw,
    "answer": _answer,
}


# --- For members and reviewers ---


def _for_members_and_reviewers(request: HttpRequest, project_id: str, client_id: str) -> Client:
    """Return a client for a member of its project or a reviewer. Raises Http404 for anyone else.

    Reviewers need two-step verification here, as for the admin, because they see values that are not reviewed
    (docs/accounts.md#staff).
    """
    if not workflow.may_review(account_of(request)) or lacks_second_factor(request):
        return get_client(request, project_id, client_id)[1]
    rows: Any = Client.objects.select_related("project")
    return cast(
        Client,
        get_object_or_404(rows, client_id=client_id, project__public_id=project_id, project__deleted_at=None),
    )


@console_page()
def review_preview(request: HttpRequest, project_id: str, client_id: str, number: int) -> HttpResponse:
    """…/review/preview/<number>: the consent page before and after a submission."""
    try:
        client = _for_members_and_reviewers(request, project_id, client_id)
    except Http404:
        if workflow.may_review(account_of(request)) and lacks_second_factor(request):
            back = urlencode({REDIRECT_FIELD_NAME: request.path})
            return HttpResponseRedirect(f"{reverse('staff_second_factor')}?{back}")
        raise
    found = get_object_or_404(AppReview, client=client, number=number)
    account, asked = account_of(request), found.snapshot
    if not is_member(account, client.project):  # reviewers see only what was submitted
        if found.status == AppReview.Status.DRAFT:
            raise Http404
        asked = snapshots.sent_snapshot(found, snapshots.latest_revision(found))
    previews = consent_preview.consent_previews(client, asked, account)
    context = {"app": client, "review": found, "name": asked["name"], "previews": previews}
    return render_page(request, "review/review_preview.html", **context)


@console_page()
def review_logo(request: HttpRequest, project_id: str, client_id: str, version: str) -> HttpResponse:
    """…/review/logo/<version>.webp: any logo, for members and for reviewers with two-step verification."""
    client = _for_members_and_reviewers(request, project_id, client_id)
    name = logos.find_logo(client, version)
    if name is None:
        raise Http404
    return image_response(partial(read_file, name), "private, no-cache")


SENT = "Your appeal is sent. You will get a notice when it is answered."


class AppealForm(forms.Form):
    """The reasons of an appeal."""

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
            _send_appeal(membership, client, offer, form.cleaned_data["text"])
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
    return render_page(request, "review/appeal.html", membership, client, form=form, appeal=offer, back=back)


def _send_appeal(membership: Membership, client: Client | None, offer: AppealOffer | None, text: str) -> None:
    """Send the appeal that was offered. Each step checks again that it is still possible."""
    actor = membership.account
    with lock_for_change(membership.project, actor, Role.DEVELOPER):
        if client is None:
            appeals.appeal_suspension(membership.project, actor, text)
        elif offer is not None and offer.is_rejection and offer.entry is not None and offer.entry.review is not None:
            appeals.appeal_rejection(offer.entry.review, actor, text)
        else:
            appeals.appeal_withdrawal(client, actor, text)
