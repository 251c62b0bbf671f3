"""Judges of who stands behind an app, what happened before, and what people reported."""

from datetime import timedelta

from devportal.console.models import AppReport, ReviewCase, ReviewEntry
from devportal.console.reviews.evidence.facts import Detail, Finding, detail, failed, passed, warned
from devportal.console.reviews.evidence.gathered import Gathered, Part, Person, Setback
from devportal.console.reviews.evidence.texts import Code

Kind = ReviewEntry.Kind
YOUNG = timedelta(days=30)  # an account or a project that is younger says little
RECENT = timedelta(days=365)
MANY_REPORTS = 3  # people who reported the app in the last year
MAX_SHOWN = 10


def judge_accounts(found: Gathered) -> Finding:
    """How long the people behind the app have had their accounts: present and former owners, and submitters."""
    details = [_behind(person) for person in found.people]
    if any(person.created_at is None for person in found.people):
        return failed(Code.SUBMITTER_DELETED, *details)
    young = [person.email for person in found.people if person.created_at and found.now - person.created_at < YOUNG]
    if young:
        return warned(Code.ACCOUNTS_YOUNG, *details, people=young)
    return passed(Code.ACCOUNTS_OLD, *details)


def _behind(person: Person) -> Detail:
    email, since = person.email, person.created_at
    if since is None:
        return detail(Code.ACCOUNT_DELETED)
    if person.part == Part.FORMER_OWNER:
        return detail(Code.FORMER_OWNER, email=email, since=since, until=person.until)
    if person.part == Part.OWNER:
        return detail(Code.OWNER, email=email, since=since)
    code = Code.SUBMITTER if person.part == Part.SUBMITTER else Code.EARLIER_SUBMITTER
    return detail(code, email=email, since=since)


def judge_project(found: Gathered) -> Finding:
    """How old the project is."""
    since = found.client.project.created_at
    if found.now - since < YOUNG:
        return warned(Code.PROJECT_YOUNG, since=since)
    return passed(Code.PROJECT_OLD, since=since)


def _here(setback: Setback) -> Detail:
    kind, at = Kind(setback.kind), setback.at
    if setback.app:
        return detail(Code.SETBACK_OF_APP, client=setback.client, kind=kind, at=at, app=setback.app)
    return detail(Code.SETBACK_OF_PROJECT, client=setback.client, kind=kind, at=at)


def _elsewhere(setback: Setback) -> Detail:
    kind, at, client, project = Kind(setback.kind), setback.at, setback.client, setback.project
    if setback.app:
        return detail(Code.SETBACK_OF_OTHER_APP, client=client, kind=kind, at=at, app=setback.app, project=project)
    return detail(Code.SETBACK_OF_OTHER_PROJECT, client=client, kind=kind, at=at, project=project)


def judge_setbacks(found: Gathered) -> Finding:
    """Rejections, withdrawn approvals and suspensions of this project and its apps."""
    details = [_here(row) for row in found.setbacks[:MAX_SHOWN]]
    if found.client.project.is_suspended:
        return failed(Code.PROJECT_SUSPENDED, *details)
    grave = [row for row in found.setbacks if row.kind != Kind.REJECTED and found.now - row.at < RECENT]
    if grave:
        return failed(Code.SETBACK_LATELY, *details, kind=Kind(grave[0].kind), at=grave[0].at)
    if found.setbacks:
        return warned(Code.SETBACKS, *details, count=len(found.setbacks))
    return passed(Code.NO_SETBACKS)


def judge_other_apps(found: Gathered) -> Finding:
    """What became of the other projects of people who own or owned this one, or submitted apps of it."""
    others = found.others
    details = [
        _number_of_apps(found),
        *(detail(Code.SUSPENDED_PROJECT, project=name) for name in others.suspended[:MAX_SHOWN]),
        *(_elsewhere(row) for row in others.setbacks[:MAX_SHOWN]),
    ]
    if others.suspended:
        return failed(Code.OTHER_PROJECT_SUSPENDED, *details)
    if any(row.kind != Kind.REJECTED and found.now - row.at < RECENT for row in others.setbacks):
        return failed(Code.OTHER_PROJECT_SETBACK_LATELY, *details)
    if others.setbacks:
        return warned(Code.OTHER_PROJECT_SETBACK, *details)
    if not others.apps:
        return passed(Code.NO_OTHER_APPS)
    return passed(Code.OTHER_APPS_FINE, *details)


def _number_of_apps(found: Gathered) -> Detail:
    apps = found.others.apps
    if not apps:
        return detail(Code.NO_OTHER_APP)
    code = Code.MANY_OTHER_APPS if found.others.is_more else Code.OTHER_APPS
    return detail(code, count=len(apps), reviewed=sum(app.is_verified for app in apps))


def judge_reports(found: Gathered) -> Finding:
    """What people reported about the app, and which cases about it are open."""
    kinds = (ReviewCase.Kind.REPORT, ReviewCase.Kind.DOMAIN_LOST)
    open_now = [case for case in found.cases if case.is_open and case.kind in kinds]
    acted = [
        case for case in found.cases if case.had_effect and case.kind in kinds and found.now - case.opened_at < RECENT
    ]
    reports = sum(found.reports.values())
    reasons = [(AppReport.Reason(reason), number) for reason, number in sorted(found.reports.items())]
    details = [
        *(detail(Code.REPORTS_FOR, reason=reason, number=number) for reason, number in reasons),
        *(
            detail(Code.CASE_OPEN, kind=ReviewCase.Kind(case.kind), since=case.opened_at)
            for case in open_now[:MAX_SHOWN]
        ),
        *(
            detail(Code.CASE_ACTED_ON, kind=ReviewCase.Kind(case.kind), since=case.opened_at)
            for case in acted[:MAX_SHOWN]
        ),
    ]
    if reports >= MANY_REPORTS and open_now:
        return failed(Code.MANY_REPORTS, *details, count=reports)
    if open_now:
        return warned(Code.CASES_OPEN, *details, count=len(open_now))
    if acted or reports:
        return warned(Code.CASES_CLOSED, *details)
    return passed(Code.NO_REPORTS)
