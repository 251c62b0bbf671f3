"""Cases: what reviewers have to check outside of reviews, and what opens one (docs/review.md#cases)."""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Exists, Max, OuterRef, Q, QuerySet
from django.dispatch import receiver

from accounts.models import Account
from core import clock
from core.tasks import sum_of_each
from devportal.console.notices.kinds import NoticeKind
from devportal.console.notices.raising import notify
from devportal.review.models import AppReview, InternalNote, ReviewCase, ReviewEntry
from devportal.review.rules.conflicts import Conflict, conflict_of, message_of
from devportal.review.rules.snapshots import open_review
from devportal.review.rules.timeline import clean_text, record_entry, required_text
from devportal.review.rules.workflow import (
    IllegalReviewStep,
    IncompleteSubmission,
    ReviewNotAllowed,
    lock_rights,
    may_be_given,
    require_reviewer,
)
from oidc.apis.scopes import scopes_of_account_api
from oidc.clients.lookup import lock_client
from oidc.domains.claims import apps_on
from oidc.domains.results import Change, snapshot
from oidc.models import ApiScope, Client, Project, ProjectDomain
from oidc.projects.roles import Gone, report_project_event
from oidc.signals import client_type_changed, domain_changed, owner_added, scope_needs_review

Kind = ReviewCase.Kind
Event = ReviewCase.Event
SCOPE_REVIEW = Kind.SCOPE_REVIEW
Outcome = ReviewCase.Outcome
Side = ReviewEntry.Side
# The maximum numbers of characters and events in a case. The oldest ones beyond are dropped.
MAX_CASE_TEXT = 20_000
MAX_EVENTS = 200
# How often opening a case is tried while other requests open or close the same one.
_ATTEMPTS = 5
# The kinds of entries that hold the decision that a case is about. The author of the decision may not work on the case.
_DECISIONS: dict[str, str] = {
    Kind.APPEAL: ReviewEntry.Kind.APPROVAL_WITHDRAWN,
    Kind.SECOND_APPROVAL: ReviewEntry.Kind.APPROVED,
}


# --- Opening ---


@dataclass(frozen=True)
class Noted:
    """An event in a case, noted by the service, with the parameters of its text."""

    event: ReviewCase.Event
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return the form stored in `ReviewCase.events`."""
        return {"code": self.event.value, "parameters": dict(self.parameters)}


def open_case(
    kind: str,
    project: Project,
    client: Client | None = None,
    *,
    text: str = "",
    noted: Noted | None = None,
    actor: Account | None = None,
) -> ReviewCase:
    """Open a case on an app or a whole project. If one of that kind is already open, add the text and event to it.

    Of simultaneous calls, one opens the case and the others add to it. `actor` is None if the service opens it. Takes
    part in the caller's transaction, if there is one. Raises IncompleteSubmission if the text is too long.
    """
    said, case_of = clean_text(text), {"kind": kind, "project": project, "client": client}
    for _ in range(_ATTEMPTS):
        with transaction.atomic():
            case = _open_cases(kind, project, client).select_for_update().first()
            if case is not None:
                return _add(case, said, noted, actor)
            try:
                with transaction.atomic():
                    return _create(case_of, said, noted, actor)
            except IntegrityError:
                continue  # another request has just opened it
    raise IllegalReviewStep("Someone else is changing this right now. Try again.")


def _open_cases(kind: str, project: Project, client: Client | None) -> Any:
    return ReviewCase.objects.filter(project=project, client=client, kind=kind, closed_at=None)


def open_case_of(kind: str, project: Project, client: Client | None = None) -> ReviewCase | None:
    """Return the open case of a kind on an app or a whole project, or None."""
    found: ReviewCase | None = _open_cases(kind, project, client).first()
    return found


def _create(case_of: dict[str, Any], said: str, noted: Noted | None, actor: Account | None) -> ReviewCase:
    events = [noted.as_json()] if noted else []
    case = ReviewCase.objects.create(**case_of, text=said, events=events, opened_at=clock.now(), opened_by=actor)
    _report("opened", case, actor)
    return case


def _add(case: ReviewCase, said: str, noted: Noted | None, actor: Account | None) -> ReviewCase:
    before = case.text, case.events
    if said:
        case.text = f"{case.text}\n\n{said}".strip()[-MAX_CASE_TEXT:]
    if noted:
        # An event that happens again is listed once, as the newest, so that repeating it hides no other.
        others = [event for event in case.events if event != noted.as_json()]
        case.events = _newest(case, [*others, noted.as_json()])
    if (case.text, case.events) != before:
        case.save(update_fields=["text", "events"])
        _report("added", case, actor)
    return case


def _newest(case: ReviewCase, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the newest events, after a note that says so if there were more.

    The scopes of a case have to be decided on, so none is left out. There are no more than the service has.
    """
    if len(events) <= MAX_EVENTS or case.kind == SCOPE_REVIEW:
        return events
    return [Noted(Event.EARLIER_LEFT_OUT).as_json(), *events[1 - MAX_EVENTS :]]


def _report(what: str, case: ReviewCase, actor: Account | None, **details: Any) -> None:
    target = case.client.client_id if case.client else ""
    known = {"case": case.pk, "kind": case.kind, **details}
    # Only reviewers and operators read these events (devportal/console/activity.py).
    report_project_event(f"review_case.{what}", case.project, actor, target, details=known)


# --- Who may ---


def decided_against(case: ReviewCase) -> set[int]:
    """Return the primary keys of the reviewers who made the decisions that a case is about.

    An appeal is about a suspension, or about everything that was withdrawn since the last approval. A second approval
    is about the first one.
    """
    if case.kind not in _DECISIONS:
        return set()
    kind = _DECISIONS[case.kind] if case.client_id else ReviewEntry.Kind.SUSPENDED
    entries = ReviewEntry.objects.filter(project=case.project_id, client=case.client_id, at__lte=case.opened_at)
    found = entries.filter(kind=kind).order_by("-pk")
    if kind == ReviewEntry.Kind.APPROVAL_WITHDRAWN:
        approved = entries.filter(kind=ReviewEntry.Kind.APPROVED).order_by("-pk").values_list("pk", flat=True).first()
        found = found.filter(pk__gt=approved or 0)
    else:
        found = found[:1]
    return set(found.values_list("author", flat=True)) - {None}  # without reviewers whose account is deleted


def case_conflict(account: Account, case: ReviewCase, conflict: str | None = None) -> str:
    """Return why this reviewer may not work on the case, as a code of conflicts.py; "" if they may.

    `conflict` is their conflict of interest in the project (conflicts.py), if it is already known.
    """
    known = conflict_of(account, case.project) if conflict is None else conflict
    if known:
        return known
    if account.pk not in decided_against(case):
        return ""
    return Conflict.APPEALED if case.kind == Kind.APPEAL else Conflict.APPROVED


def require_case_worker(account: Account, case: ReviewCase) -> None:
    """Raise ReviewNotAllowed unless this person may work on the case.

    Reviewers without a conflict of interest in the project may, except on an appeal against their own decision.
    """
    require_reviewer(account, case.project)
    if conflict := case_conflict(account, case, ""):
        raise ReviewNotAllowed(message_of(conflict))


def _begin(case: ReviewCase, actor: Account) -> ReviewCase:
    """Lock the project, the actor, the app and the case, in this order. Raises ReviewNotAllowed, IllegalReviewStep."""
    actor = lock_rights(case.project_id, actor)
    client = lock_client(case.client_id) if case.client_id else None
    row = ReviewCase.objects.select_for_update(of=("self",)).select_related("project").filter(pk=case.pk).first()
    if row is None:
        raise IllegalReviewStep("This case is no longer there.")
    if client is not None:
        row.client, row.project = client, client.project
    require_case_worker(actor, row)
    if not row.is_open:
        raise IllegalReviewStep("This case is already closed.")
    return row


# --- Working on it ---


@transaction.atomic
def assign_case(case: ReviewCase, actor: Account, assignee: Account | None) -> ReviewCase:
    """Assign a case to a reviewer, or to nobody. Raises ReviewNotAllowed (for actor or assignee), IllegalReviewStep."""
    row = _begin(case, actor)
    if assignee is not None:
        may = may_be_given(assignee, row.project) and assignee.pk not in decided_against(row)
        if not may:
            raise ReviewNotAllowed(f"{assignee} can't work on this case.")
    if row.assignee_id != (assignee.pk if assignee else None):
        row.assignee = assignee
        row.save(update_fields=["assignee"])
        _report("assigned", row, actor)
    return row


@transaction.atomic
def add_note(case: ReviewCase, actor: Account, note: str) -> InternalNote:
    """Write an internal note on an open or closed case.

    Raises ReviewNotAllowed, IncompleteSubmission.
    """
    require_case_worker(lock_rights(case.project_id, actor), case)
    written = InternalNote.objects.create(case=case, author=actor, at=clock.now(), text=required_text(note))
    _report("noted", case, actor)
    return written


@transaction.atomic
def ask_developers(case: ReviewCase, actor: Account, text: str) -> ReviewEntry:
    """Write to the developers about a case. They get a notice and see the text in the app's timeline.

    Raises ReviewNotAllowed, IllegalReviewStep, IncompleteSubmission.
    """
    row = _begin(case, actor)
    said = required_text(text)
    name = row.client.name if row.client else row.project.name
    kind = ReviewEntry.Kind.COMMENT
    return record_entry(kind, Side.REVIEWER, actor, row.project, row.client, text=said, details={"name": name})


def content_of(case: ReviewCase) -> str:
    """Return a digest of what people and the service have said in a case, which tells whether something was added."""
    newest = case.reports.aggregate(at=Max("at"))["at"]
    said = json.dumps([case.text, case.events, str(newest)], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:32]


def require_content(case: ReviewCase, seen: str) -> None:
    """Raise IllegalReviewStep if something was added to a case after the reviewer opened it (see `content_of`)."""
    if seen and seen != content_of(case):
        raise IllegalReviewStep("Something was added to this case after you opened it. Read the case again first.")


@transaction.atomic
def close_case(
    case: ReviewCase, actor: Account, outcome: str, text: str = "", *, for_developers: str = "", seen: str = ""
) -> ReviewCase:
    """Close a case. `text` says what was found or done. If the case is an appeal, the developers read it.

    `seen` is the content that the reviewer saw (`content_of`); with "", additions since then are not looked for.

    A re-review that found everything in order renews the approval from now on, and developers read `for_developers`. A
    case about scopes can't be closed before a review has decided on them, or their approval was withdrawn. Raises
    ReviewNotAllowed, IllegalReviewStep, IncompleteSubmission.
    """
    row = _begin(case, actor)
    require_content(row, seen)
    said, told = clean_text(text), clean_text(for_developers)
    if scopes := undecided_scopes(row):
        raise IllegalReviewStep(f"Reviewers have to decide on {', '.join(scopes)} first.")
    if outcome not in Outcome.values:
        raise IncompleteSubmission("Choose an outcome.")
    if not said and (row.kind == Kind.APPEAL or outcome == Outcome.ACTED):
        raise IncompleteSubmission("Write down what you found and did.")
    _close(row, actor, outcome, said)
    if row.kind == Kind.RE_REVIEW and outcome == Outcome.IN_ORDER and row.client and row.client.is_verified:
        _renew(row.client, actor, told)
    if row.kind == Kind.SECOND_APPROVAL and outcome == Outcome.IN_ORDER and row.client:
        _confirm_approval(row.client)
    if row.kind == Kind.APPEAL:
        answered = NoticeKind.APPEAL_ANSWERED if row.client else NoticeKind.SUSPENSION_APPEAL_ANSWERED
        notify(row.project, answered, client=row.client, details={"text": row.outcome_text})
    return row


def settle(client: Client, actor: Account, outcome: str, noted: Noted, *kinds: str) -> None:
    """Close an app's open cases of these kinds after a step of a review has settled them. The client is locked."""
    for row in ReviewCase.objects.select_for_update().filter(client=client, kind__in=kinds, closed_at=None):
        row.client, row.project = client, client.project
        row.events = [*row.events, noted.as_json()]
        _close(row, actor, outcome, "")


def _close(row: ReviewCase, actor: Account, outcome: str, text: str) -> None:
    row.closed_at, row.closed_by = clock.now(), actor
    row.outcome, row.outcome_text = outcome, text
    row.save(update_fields=["closed_at", "closed_by", "outcome", "outcome_text", "events"])
    _report("closed", row, actor, outcome=outcome)


def _confirm_approval(client: Client) -> None:
    """Store the second approval with the latest approved review."""
    approved = AppReview.objects.filter(client=client, status=AppReview.Status.APPROVED)
    if (last := approved.order_by("-number").first()) is not None:
        last.second_approval_at = clock.now()
        last.save(update_fields=["second_approval_at"])


def _renew(client: Client, actor: Account, text: str) -> None:
    client.last_reviewed_at = clock.now()
    client.save(update_fields=["last_reviewed_at"])
    kind, details = ReviewEntry.Kind.RENEWED, {"name": client.name}
    record_entry(kind, Side.REVIEWER, actor, client.project, client, text=text, details=details)


CHANGED = ReviewCase.Kind.CHANGED


@receiver(client_type_changed)
def note_type_change(sender: Any, client: Client, before: str, actor: Account | None, **kwargs: Any) -> None:
    """Open a case when the type of a reviewed app changes, unless an operator's provisioning file changed it."""
    if actor is None or not client.is_verified or client.first_party:
        return
    noted = Noted(Event.TYPE_CHANGED, {"before": before, "after": client.type})
    open_case(CHANGED, client.project, client, noted=noted)


@receiver(owner_added)
def note_new_owner(sender: Any, project: Project, transferred: bool, **kwargs: Any) -> None:
    """Open a case of a project with a reviewed app when it gets another owner. The text names nobody.

    So does a project with an app under review: a reviewer who has opened its page can approve it without seeing them.
    """
    under_review = AppReview.objects.filter(client=OuterRef("pk"), status__in=AppReview.FROZEN)
    apps = Client.objects.filter(project=project, first_party=False)
    if not apps.filter(Q(verified_at__isnull=False) | Exists(under_review)).exists():
        return
    open_case(CHANGED, project, noted=Noted(Event.PROJECT_TRANSFERRED if transferred else Event.OWNER_ADDED))


@receiver(scope_needs_review)
def note_scope_that_needs_review(sender: Any, scope: str, clients: Iterable[Client], **kwargs: Any) -> None:
    """Open a case for each app that has a scope which became sensitive or started to need an approval.

    The app keeps the scope until a review decides on it or a reviewer withdraws it. The case of an app whose project is
    deleted waits until someone restores the project. First-party apps are left to the operator. Runs in the
    transaction of the change.
    """
    for client in sorted(clients, key=lambda client: client.pk):
        with transaction.atomic():
            _note_scope(client.pk, scope)


def _note_scope(client_pk: int, scope: str) -> None:
    try:
        client = lock_client(client_pk, with_project=True)
    except Gone:
        return
    case = open_case_of(SCOPE_REVIEW, client.project, client)
    if client.first_party or (case and scope in _scopes_of(case)):
        return
    open_case(SCOPE_REVIEW, client.project, client, noted=Noted(Event.SCOPE_NEEDS_REVIEW, {"scope": scope}))
    review = open_review(client)
    if review is not None and not review.is_frozen and scope not in review.snapshot["scopes"]:
        # The draft was started without the scope. Without it, an approval of the draft would take the scope away.
        review.snapshot["scopes"][scope] = ""
        review.save(update_fields=["snapshot"])
    notify(client.project, NoticeKind.SCOPE_REVIEW_DUE, client=client, details={"scope": scope})


def _scopes_of(case: ReviewCase) -> list[str]:
    noted = (event["parameters"] for event in case.events if event["code"] == Event.SCOPE_NEEDS_REVIEW)
    return list(dict.fromkeys(parameters["scope"] for parameters in noted))


def undecided_scopes(case: ReviewCase, decided: Collection[str] = ()) -> list[str]:
    """Return the scopes of a case that its app still has, that still need a review, and that are not in `decided`."""
    if case.kind != SCOPE_REVIEW or case.client is None:
        return []
    held = case.client.approved_scopes.split()
    left = [scope for scope in _scopes_of(case) if scope in held and scope not in decided]
    # The registry of this process may not have the change yet that opened the case.
    reviewed = ApiScope.objects.filter(Q(needs_approval=True) | Q(sensitive=True), name__in=left)
    names = set(reviewed.values_list("name", flat=True))
    return [scope for scope in left if scope in names]


def unreviewed_scopes(client: Client) -> list[str]:
    """Return the scopes that the app has and that reviewers still have to decide on."""
    if {scope.name for scope in scopes_of_account_api()}.issuperset(client.approved_scopes.split()):
        return []  # these always needed a review
    case = open_case_of(SCOPE_REVIEW, client.project, client)
    if case is None:
        return []
    case.client = client
    return undecided_scopes(case)


def settle_scopes(client: Client, actor: Account, outcome: str, noted: Noted, decided: Collection[str] = ()) -> None:
    """Close the case about scopes if nothing is left to decide, given the scopes that a review has decided on."""
    case = open_case_of(SCOPE_REVIEW, client.project, client)
    if case is None:
        return
    case.client = client
    if not undecided_scopes(case, decided):
        settle(client, actor, outcome, noted, SCOPE_REVIEW)


DOMAIN_LOST = ReviewCase.Kind.DOMAIN_LOST
_EVENTS = {
    Change.LOST: Event.DOMAIN_LOST,
    Change.NARROWED: Event.DOMAIN_NARROWED,
    Change.REMOVED: Event.DOMAIN_REMOVED,
    Change.PROVEN: Event.DOMAIN_PROVEN,
    Change.REGAINED: Event.DOMAIN_PROVEN,
    Change.WIDENED: Event.DOMAIN_WIDENED,
}
_OPENS = (Change.LOST, Change.NARROWED, Change.REMOVED)


@receiver(domain_changed)
def note_change(sender: Any, project: Project, domain: ProjectDomain, change: Change, **kwargs: Any) -> None:
    """Open a case for each reviewed app on a domain that lost its proof or was removed, or add to its open case.

    A later proof of the domain is added to a case that is still open. Runs in the transaction of the change, with the
    project locked.
    """
    if change not in _EVENTS or domain.proven_at is None:
        return
    noted = Noted(_EVENTS[change], {"domain": domain.name})
    before = snapshot(domain)
    if change == Change.NARROWED:
        before.method = ProjectDomain.Method.DNS  # the proof that covered the subdomains as well
    for client in apps_on(before):
        if change in _OPENS or open_case_of(DOMAIN_LOST, project, client) is not None:
            open_case(DOMAIN_LOST, project, client, noted=noted)


RE_REVIEW = ReviewCase.Kind.RE_REVIEW
# The maximum number of cases that one run opens, oldest approvals first. The rest waits for the next day.
MOST_A_RUN = 500


def open_due_re_reviews() -> int:
    """Open a case for each reviewed app whose last review is older than RE_REVIEW_DAYS; return their number.

    Each case is opened in a separate transaction, with the notice to the developers. The service's own apps are left to
    the operator.
    """
    if not settings.RE_REVIEW_DAYS:
        return 0
    before = clock.now() - timedelta(days=settings.RE_REVIEW_DAYS)
    due = list(due_clients(before).values_list("pk", flat=True)[:MOST_A_RUN])
    return sum_of_each(due, lambda pk: _open(pk, before), "No re-review of app %d could be opened.")


def due_clients(before: datetime) -> "QuerySet[Client]":
    """Return the apps whose last review is older than `before` and that have no open case for it, oldest first.

    An app is verified by its first review, so the index of reviewed clients narrows the search.
    """
    is_open = ReviewCase.objects.filter(client=OuterRef("pk"), kind=RE_REVIEW, closed_at=None)
    rows: QuerySet[Client] = Client.objects.filter(
        ~Exists(is_open),
        verified_at__lt=before,
        last_reviewed_at__lt=before,
        first_party=False,
        project__deleted_at=None,
        project__suspended_at=None,
    )
    return rows.order_by("verified_at")


@transaction.atomic
def _open(client_pk: int, before: datetime) -> bool:
    try:
        client = lock_client(client_pk)
    except Gone:
        return False
    if not due_clients(before).filter(pk=client.pk).exists():
        return False  # reviewed, withdrawn or deleted in the meantime
    open_case(RE_REVIEW, client.project, client)
    notify(client.project, NoticeKind.RE_REVIEW_DUE, client=client)
    return True
