"""Admin page of one review: evidence, differences, previews, history and notes."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html_join
from django.utils.http import urlencode
from unfold.decorators import display

from accounts.models import Account
from accounts.sessions.authentication import account_of
from core.admin.actions import ActionForm, RowAction
from core.admin.theme import may_view
from devportal.review.admin import actions, other_pages
from devportal.review.admin.other_pages import EvidenceViews, logo_response, readable_row
from devportal.review.admin.review_queue import QueueChangeList, name_with_notes
from devportal.review.decisions import checklist, notes
from devportal.review.evidence.collecting import evidence_context, leaving_link
from devportal.review.evidence.glance import notes_of
from devportal.review.models import AppReview, ReviewEntry, ReviewRevision
from devportal.review.rules import reasons, snapshots, targets, timeline
from devportal.review.rules.conflicts import Conflict, conflict_of, message_of, review_conflict
from devportal.review.rules.snapshots import Snapshot, sent_snapshot
from devportal.review.rules.timeline import titled_answers
from devportal.review.submission import differences, second_approval
from devportal.review.submission.consent_preview import consent_previews
from devportal.review.submission.differences import PLACES, lines_of, reveal, type_label
from devportal.review.submission.live_app import live_app, live_project
from oidc.domains import search
from oidc.models import Client, Project, ProjectDomain


def live_context(
    request: HttpRequest,
    project: Project,
    client: Client | None,
    *,
    logo_url: str,
    with_people: bool,
    domains: Sequence[ProjectDomain] | None = None,
) -> dict[str, Any]:
    """Return the context of the partials `live_app.html` and `live_project.html`.

    `logo_url` is the URL at which reviewers find the app's logo, even if it has none. `with_people` adds owners, events
    and links, for reviewers without a conflict of interest. `domains` are those of the project, if already read.
    """
    context: dict[str, Any] = {
        "live": None,
        "live_project": None,
        "live_logo": logo_url if client is not None and client.logo else "",
        "live_links": _links(request, project, client) if with_people else [],
        "with_people": with_people,
    }
    if client is not None:
        return context | {"live": live_app(client, with_people=with_people, known=domains)}
    return context | {"live_project": live_project(project, with_people=with_people)}


def _links(request: HttpRequest, project: Project, client: Client | None) -> list[tuple[str, str]]:
    """Return links to the admin pages about an app and its project that this person may view."""
    found = [("oidc_client", "App", _change("oidc_client", client.pk))] if client is not None else []
    found += [
        ("oidc_project", "Project", _change("oidc_project", project.pk)),
        ("oidc_client", "Apps of the project", _list("oidc_client", project__id__exact=project.pk)),
        ("oidc_projectdomain", "Domains", _list("oidc_projectdomain", project__id__exact=project.pk)),
        ("console_auditevent", "Audit trail of the project", _list("console_auditevent", q=project.public_id)),
    ]
    return [(title, url) for model, title, url in found if may_view(model)(request)]


def _change(model: str, key: int) -> str:
    return reverse(f"admin:{model}_change", args=[key])


def _list(model: str, **query: Any) -> str:
    return f"{reverse(f'admin:{model}_changelist')}?{urlencode(query)}"


_ADDRESSES = ("home_page_url", "privacy_policy_url", "terms_url", "demo_url", "redirect_urls", "sign_out_urls")
_OF_SCOPES = ("scopes", PLACES)  # they have a separate section
# What a submission can be compared with: value of `against`, title, and heading of the earlier side.
APPROVED, REVISION = "approved", "revision"
_CHOICES = {
    APPROVED: ("Against what was approved", "What changed since the last approval", "Approved"),
    REVISION: ("Against the last revision", "What changed since the last revision", "Sent before"),
}
# The logo view's names for the logos of the submission, of what it is compared with, and of the app as people see it.
ASKED, BEFORE, PREVIOUS, CURRENT = "asked", "before", "previous", "current"
LOGOS = (ASKED, BEFORE, PREVIOUS, CURRENT)


def review_context(review: AppReview, account: Account, against: str = "", *, with_notes: bool) -> dict[str, Any]:
    """Return the context of the template `admin/review/review.html` that `account` may read.

    `against` is "approved" or "revision". Any other value, or one that does not apply, is replaced by a default.
    `with_notes`: whether this person may read internal notes, first approvals, people's reports and the owners' other
    apps (`notes.may_read_notes`).
    """
    client = review.client
    kept = differences.kept_revisions(review)
    revision = kept.get(review.revision)
    sent = sent_snapshot(review, revision)
    history = timeline.history_of(review, with_owners=with_notes)
    entries = _entries(client, account, with_notes)
    return {
        "title": reveal(str(review)),
        "review": review,
        "client": client,
        "project": client.project,
        "name": reveal(str(sent.get("name", ""))),
        "sent_at": revision.sent_at if revision else review.submitted_at,
        "evidence": evidence_context(review, may_decide=with_notes),
        "difference": _difference(review, sent, kept, against),
        "answers": _answers(revision),
        "scopes": _scopes(review, sent, entries),
        "previews": _previews(review, sent, account) if review.is_open else [],
        "asked": [
            _asked(review, sent, field, label) for field, label in snapshots.LABELS.items() if field not in _OF_SCOPES
        ],
        "checked": _checked(review),
        "second_approval": _second_approval(review, account) if with_notes else {},
        "history": history,
        "earlier": _titled(history.earlier),
        "measures": _titled(history.measures),
        "notes": notes.notes_on(review) if with_notes else [],
        "entries": timeline_context(entries),
    }


def _entries(client: Client, account: Account, with_notes: bool) -> list[ReviewEntry]:
    """Return the timeline entries that this reviewer may read."""
    return second_approval.without_undecided(timeline.timeline(client, for_reviewers=with_notes), account)


def _second_approval(review: AppReview, account: Account) -> dict[str, Any]:
    """Return the context of the partial `second_approval.html`; {} if the review can't be decided on.

    `first` is the first reviewer's decision, shown only to reviewers who have decided themselves.
    """
    is_needed = review.status == AppReview.Status.IN_REVIEW and second_approval.needs_second_approval(review)
    first = second_approval.first_approval(review) if is_needed else None
    shown = first if first is not None and account.pk in second_approval.deciders(review) else None
    is_own = shown is not None and shown.by.pk == account.pk
    return {
        "is_needed": is_needed,
        "scopes": snapshots.sensitive_among(review.snapshot["scopes"]),
        "has_first": first is not None,
        "first": shown,
        "is_own": is_own,
    }


# --- Logos ---


def logo_name(review: AppReview, which: str) -> str:
    """Return the stored name of one of LOGOS, or "" if there is none."""
    if which == CURRENT:
        return str(review.client.logo.name or "")
    if which == BEFORE:
        return _logo_of(review.baseline)
    kept = differences.kept_revisions(review)
    if which == PREVIOUS:
        previous = kept.get(review.revision - 1)
        return _logo_of(previous.snapshot) if previous else ""
    return _logo_of(sent_snapshot(review, kept.get(review.revision)))


def _logo_of(snapshot: Snapshot) -> str:
    return str(snapshot.get("logo") or "")


def _logo_url(review: AppReview, which: str) -> str:
    return reverse("admin:review_appreview_logo", args=[review.pk, which])


# --- The difference ---


def _difference(review: AppReview, sent: Snapshot, kept: Mapping[int, ReviewRevision], against: str) -> dict[str, Any]:
    """Return the difference that the page shows, and links to the other possible ones."""
    previous = kept.get(review.revision - 1)
    bases: dict[str, Snapshot] = {APPROVED: review.baseline} if review.baseline else {}
    bases |= {REVISION: previous.snapshot} if previous else {}
    chosen = against if against in bases else next(iter(bases), "")
    base = bases.get(chosen, {})
    which = PREVIOUS if chosen == REVISION else BEFORE
    changes = differences.field_changes(base, sent)
    _, heading, column = _CHOICES.get(chosen, ("", "What is requested: nothing was approved before", ""))
    return {
        "heading": heading,
        "column": column,
        "choices": [(name, _CHOICES[name][0], name == chosen) for name in bases],
        "rows": [_row(review, change, base, sent, which) for change in changes],
    }


def _row(
    review: AppReview, change: differences.FieldChange, base: Snapshot, sent: Snapshot, which: str
) -> dict[str, Any]:
    if change.name != "logo":
        return {"label": change.label, "change": change}
    urls = {
        "before": _logo_url(review, which) if _logo_of(base) else "",
        "after": _logo_url(review, ASKED) if _logo_of(sent) else "",
    }
    return {"label": change.label, "logos": urls}


def _answers(sent: ReviewRevision | None) -> list[tuple[str, str]]:
    """Return the reviewers' requests, and the developers' answers to them."""
    return [(title, reveal(text)) for title, text in titled_answers(sent.answers if sent else {})]


# --- The submission ---


def _asked(review: AppReview, sent: Snapshot, field: str, label: str) -> dict[str, Any]:
    value = sent.get(field)
    lines = [] if field == "logo" else lines_of(type_label(value) if field == "type" else value)
    return {
        "label": label,
        "logo": _logo_url(review, ASKED) if field == "logo" and value else "",
        "lines": [leaving_link(review, line if field in _ADDRESSES else "", reveal(line)) for line in lines],
    }


def _scopes(review: AppReview, sent: Snapshot, entries: Iterable[ReviewEntry]) -> list[dict[str, Any]]:
    """Return the requested scopes. `withdrawn_at` is when the approval was withdrawn, for scopes that the app lacks."""
    held = review.client.approved_scopes.split()
    kept = review.client.kept_scopes.split()
    withdrawn: dict[str, datetime | None] = {}
    for entry in entries:  # the oldest first
        if entry.kind in (ReviewEntry.Kind.APPROVED, ReviewEntry.Kind.APPROVAL_WITHDRAWN):
            at = entry.at if entry.kind == ReviewEntry.Kind.APPROVAL_WITHDRAWN else None
            withdrawn |= dict.fromkeys(entry.details.get("scopes", {}), at)
    places = sent.get(PLACES) or {}
    return [
        {
            "label": snapshots.label_of(scope),
            "is_sensitive": bool(snapshots.sensitive_among([scope])),
            "former_title": snapshots.former_title(sent, scope),
            "justification": reveal(justification),
            "place": reveal(str(places.get(scope, ""))),
            "is_held": scope in held,
            "is_kept": scope in kept,
            "withdrawn_at": None if scope in held else withdrawn.get(scope),
            "decision": review.decisions.get(scope),
        }
        for scope, justification in sent.get("scopes", {}).items()
    ]


def _previews(review: AppReview, sent: Snapshot, account: Account) -> list[dict[str, Any]]:
    """Return previews of the consent page now and after an approval, with logo URLs of the admin."""
    previews = consent_previews(review.client, sent, account)
    for page, which in zip(previews, (CURRENT, ASKED), strict=True):
        if page["client"]["logo_url"]:
            page["client"]["logo_url"] = _logo_url(review, which)
    return previews


def _checked(review: AppReview) -> dict[str, Any] | None:
    """Return the checklist items that the reviewer ticked for an approval, or None if there was no approval."""
    kept = review.checked
    if not kept or review.status != AppReview.Status.APPROVED:
        return None
    by = Account.objects.filter(pk=kept["by"]).first()
    return {"texts": checklist.texts_of(kept["codes"]), "by": by, "revision": kept["revision"]}


# --- Reasons ---


def _reason_title(code: str) -> str:
    known = {**reasons.SUSPENSION_REASONS, **reasons.REASONS}
    return known[code].title if code in known else code


def _titled(rows: Iterable[Any]) -> list[Any]:
    """Add the titles of the reasons to each row."""
    listed = list(rows)
    for row in listed:
        row.reason_titles = [_reason_title(code) for code in row.reasons]
    return listed


def timeline_context(entries: Iterable[Any]) -> list[Any]:
    """Return entries for the partial `review_timeline.html`, with titles of reasons and failed facts, and answers."""
    shown = _titled(entries)
    for entry in shown:
        entry.failing_titles = checklist.titles_of(entry.details.get("failing", []))
        entry.answered = [(title, reveal(text)) for title, text in timeline.answered_points(entry)]
    return shown


# --- The decision ---


def decide_context(request: HttpRequest, review: Any, steps: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the context of the partials `review_decide.html` and `review_bar.html`; `steps` are the open ones by name.

    Reviewers with a conflict of interest see the steps as disabled buttons, and no forms.
    """

    def among(group: Iterable[RowAction]) -> list[Mapping[str, Any]]:
        return [steps[action.name] for action in group if action.name in steps]

    decisions = [
        {
            **steps[action.name],
            "form": _form_on_page(action, request, review),
            "consequence": action.consequence_for(review),
            "is_dangerous": action.is_dangerous,
        }
        for action in actions.DECISIONS
        if action.name in steps and not review.conflict
    ]
    return {
        "decisions": decisions,
        "disabled": among((*actions.DECISIONS, *actions.AT_ONCE, *actions.OTHERS)) if review.conflict else [],
        "at_once": [] if review.conflict else among(actions.AT_ONCE),
        "others": [] if review.conflict else among(actions.OTHERS),
        "of_the_app": among(actions.OF_THE_APP),
    }


def _form_on_page(action: RowAction, request: HttpRequest, review: AppReview) -> ActionForm:
    """Return the empty form of an action, with ids that are unique on the page of the review."""
    form = action.form(request=request, row=review)
    form.auto_id = f"{action.name}_%s"
    return form


# The theme's color for each label and status.
LABEL_COLOURS = {"new": "info", "changed": "warning", "resubmitted": "primary", "appeal": "danger"}
TARGET_COLOURS = {"late": "danger", "soon": "warning", "due": ""}
STATUS_COLOURS = {"In review": "primary", "Approved": "success", "Rejected": "danger", "Changes requested": "warning"}


@admin.register(AppReview)
class AppReviewAdmin(EvidenceViews):
    """Admin of reviews, without drafts, which only their developers see."""

    list_display = ("app", "project", "kind", "at_a_glance", "age", "target", "assignee", "status_now")
    search_help_text = search.HELP
    link_filters = ("client",)
    row_actions = actions.REVIEW_ACTIONS
    list_before_template = "admin/review/lists.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[AppReview]:
        rows: QuerySet[AppReview] = super().get_queryset(request).exclude(status=AppReview.Status.DRAFT)
        account = account_of(request)
        return rows.select_related("client__project", "assignee").annotate(conflict=review_conflict(account.pk))

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> Any:
        return QueueChangeList

    def search_filter(self, term: str) -> Q:
        clients = search.find_clients(term)
        if "@" in term:  # people with a conflict of interest don't read who the developers are
            return Q(client__in=clients, conflict="")
        return Q(client__in=clients) | Q(status__in=AppReview.FROZEN, snapshot__name__icontains=term)

    def audit_target(self, row: AppReview) -> str:
        return str(row.client.client_id)

    def why_not(self, request: HttpRequest, action: RowAction, row: Any) -> str:
        if action in actions.OF_THE_APP:  # a conflict in one appeal does not concern these
            return message_of(conflict_of(account_of(request), row.client.project))
        return message_of(row.conflict)

    # --- The list ---

    @admin.display(description="app")
    def app(self, review: AppReview) -> str:
        return reveal(review.name or review.client.name)

    @admin.display(description="project")
    def project(self, review: Any) -> str:
        own = review.conflict in (Conflict.MEMBER, Conflict.TOOK_PART)
        note = "your own" if own else "not yours to decide" if review.conflict else ""
        return name_with_notes(review.client.project, note)

    @display(description="kind", label=LABEL_COLOURS)  # type: ignore[untyped-decorator]
    def kind(self, review: AppReview) -> str:
        return review.label

    @admin.display(description="waits for")
    def age(self, review: AppReview) -> str:
        if review.submitted_at is None or not review.is_frozen:
            return "-"
        return targets.age_in_words(review.submitted_at)

    @display(description="target", label=TARGET_COLOURS)  # type: ignore[untyped-decorator]
    def target(self, review: AppReview) -> Any:
        """How much of REVIEW_TARGET_DAYS is left, as a code for its color and a text."""
        if review.submitted_at is None or not review.is_frozen:
            return None
        left = targets.time_left(review.submitted_at)
        if left < timedelta(0):
            return "late", f"late by {targets.in_words(-left)}"
        return "soon" if left < targets.DAY else "due", f"due in {targets.in_words(left)}"

    @admin.display(description="at a glance")
    def at_a_glance(self, review: Any) -> str:
        """Return the requested scopes and, for reviewers who may decide, what the evidence says."""
        if review.status in AppReview.REDRAFTED:
            return "-"
        scopes = [str(scope) for scope in review.snapshot.get("scopes", {})]
        notes = notes_of(review) if review.is_frozen and not review.conflict else []
        lines = [f"Asks for {', '.join(scopes)}" if scopes else "Asks for no scope that needs a review", *notes]
        return format_html_join("", "<div>{}</div>", ((line,) for line in lines))

    @display(description="status", label=STATUS_COLOURS)  # type: ignore[untyped-decorator]
    def status_now(self, review: AppReview) -> str:
        return AppReview.Status(review.status).label

    # --- The page of one review ---

    def get_urls(self) -> list[URLPattern]:
        logo = self.admin_site.admin_view(self.logo_view)
        account = self.admin_site.admin_view(partial(other_pages.test_account_view, self))
        mails = self.admin_site.admin_view(partial(other_pages.my_mails, self))
        return [
            path("<int:pk>/logo/<slug:which>/", logo, name="review_appreview_logo"),
            path("<int:pk>/test-account/", account, name="review_appreview_test_account"),
            path("my-mails/", mails, name="review_appreview_my_mails"),
            *super().get_urls(),
        ]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """GET: the page of one review. Its forms are sent to the URLs of the actions, so there is no POST."""
        review = readable_row(self, request, object_id)
        steps = {step["name"]: step for step in self.available_actions(request, review)}
        note = steps.pop(actions.NOTE.name, None)
        against = request.GET.get("against", "")
        logo_url = reverse("admin:review_appreview_logo", args=[review.pk, CURRENT])
        page = review_context(review, account_of(request), against, with_notes=note is not None)
        live = {"logo_url": logo_url, "with_people": not review.conflict, "domains": page["evidence"]["domains"]}
        context = {
            **self.admin_site.each_context(request),
            **page,
            **live_context(request, review.client.project, review.client, **live),
            **decide_context(request, review, steps),
            "opts": self.opts,
            "original": review,
            "why_not": message_of(review.conflict),
            "waits": self.age(review),
            "note": note,
            "links": self._history(request, review),
        }
        return TemplateResponse(request, "admin/review/review.html", context)

    def logo_view(self, request: HttpRequest, pk: int, which: str) -> HttpResponse:
        """GET: a logo that was submitted for review, for reviewers only (docs/review.md#logos)."""
        if which not in LOGOS:
            raise Http404
        return logo_response(logo_name(readable_row(self, request, pk), which))
