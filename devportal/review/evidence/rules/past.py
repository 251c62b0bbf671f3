"""Rules about the owners of an app, its past, reports, and how it is used."""

from collections import Counter
from datetime import timedelta

from api.endpoint import endpoints_with_scope
from devportal.review.evidence.facts import Code, Detail, Finding, detail, failed, passed, warned
from devportal.review.evidence.gathered import Gathered, Part, Person, ScopeUsage, Setback
from devportal.review.evidence.usage import DAYS, MAX_SIGN_INS, UNUSED_DAYS
from devportal.review.models import AppReport, ReviewCase, ReviewEntry
from devportal.review.rules.snapshots import held_since, reviewed_scopes
from oidc.apis.registry import current_registry

Kind = ReviewEntry.Kind
YOUNG = timedelta(days=30)  # younger accounts and projects get a warning
RECENT = timedelta(days=365)
# People with the same part in the project, such as owners. It is half of what the evidence lists, so that nobody can be
# pushed out of the list without a warning.
MANY_OF_ONE_PART = 10
_MANY_OF_PART = {
    Part.OWNER: Code.MANY_OWNERS,
    Part.FORMER_OWNER: Code.MANY_FORMER_OWNERS,
    Part.EARLIER_SUBMITTER: Code.MANY_SUBMITTERS,
}
MANY_REPORTS = 3  # people who reported the app in the last year
MAX_SHOWN = 10


def check_accounts(found: Gathered) -> Finding:
    """Check how old the accounts of the people behind the app are: present and former owners, and submitters."""
    details = [_behind(person) for person in found.people]
    if any(person.created_at is None for person in found.people):
        return failed(Code.SUBMITTER_DELETED, *details)
    counts = Counter(person.part for person in found.people)
    if many := next((part for part in _MANY_OF_PART if counts[part] >= MANY_OF_ONE_PART), None):
        return warned(_MANY_OF_PART[many], *details, count=counts[many])
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


def check_project(found: Gathered) -> Finding:
    """Check how old the project is."""
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


def check_setbacks(found: Gathered) -> Finding:
    """Check for rejections, withdrawn approvals and suspensions of this project and its apps."""
    details = [_here(row) for row in found.setbacks[:MAX_SHOWN]]
    if found.client.project.is_suspended:
        return failed(Code.PROJECT_SUSPENDED, *details)
    grave = [row for row in found.setbacks if row.kind != Kind.REJECTED and found.now - row.at < RECENT]
    if grave:
        return failed(Code.SETBACK_LATELY, *details, kind=Kind(grave[0].kind), at=grave[0].at)
    if found.setbacks:
        return warned(Code.SETBACKS, *details, count=len(found.setbacks))
    return passed(Code.NO_SETBACKS)


def check_other_apps(found: Gathered) -> Finding:
    """Check the other projects of people who own or owned this one, or submitted apps of it."""
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


def check_reports(found: Gathered) -> Finding:
    """Check for people's reports and open cases about the app."""
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
        *(detail(Code.DELETED_APP_REPORTED, at=at) for at in found.reported_and_deleted[:MAX_SHOWN]),
    ]
    if reports >= MANY_REPORTS and open_now:
        return failed(Code.MANY_REPORTS, *details, count=reports)
    if open_now:
        return warned(Code.CASES_OPEN, *details, count=len(open_now))
    if found.reported_and_deleted:
        return warned(Code.DELETED_APPS_REPORTED, *details)
    if acted or reports:
        return warned(Code.CASES_CLOSED, *details)
    return passed(Code.NO_REPORTS)


FEW = 20  # steps or calls; with fewer, a percentage is not meaningful
MANY_REFUSED = 0.5
SOME_ERRORS, MANY_ERRORS = 0.05, 0.5
MAX_REFUSALS_SHOWN = 5


def check_people(found: Gathered) -> Finding:
    """Count the people who ever authorized the app."""
    usage = found.usage
    if not usage.people:
        return warned(Code.NO_PEOPLE)
    return passed(Code.MANY_PEOPLE if usage.people_is_more else Code.PEOPLE, count=usage.people)


def check_sign_ins(found: Gathered) -> Finding:
    """Check the outcomes of sign-ins to the app, as far as the log goes back."""
    usage = found.usage
    steps = usage.sign_ins + usage.cancelled + usage.refused
    if not steps:
        return warned(Code.NO_SIGN_INS)
    count = MAX_SIGN_INS if usage.sign_ins_is_more else steps
    worst = sorted(usage.refusals.items(), key=lambda pair: (-pair[1], pair[0]))[:MAX_REFUSALS_SHOWN]
    details = [detail(Code.REFUSALS, error=error, number=number) for error, number in worst]
    outcomes = {"signed_in": usage.sign_ins, "cancelled": usage.cancelled, "refused": usage.refused}
    if steps >= FEW and usage.refused > MANY_REFUSED * steps:
        return warned(Code.MOST_SIGN_INS_REFUSED, *details, count=count, **outcomes)
    code = Code.SIGN_INS_OF_NEWEST if usage.sign_ins_is_more else Code.SIGN_INS
    return passed(code, *details, count=count, **outcomes)


def check_calls(found: Gathered) -> Finding:
    """Check the success of API requests in the last 30 days."""
    usage = found.usage
    if usage.error_rate is None:
        return passed(Code.NO_CALLS, days=DAYS)
    calls = {"count": usage.calls, "days": DAYS, "errors": usage.errors, "percent": 100 * usage.error_rate}
    if usage.calls >= FEW and usage.error_rate >= MANY_ERRORS:
        return failed(Code.MOST_CALLS_FAIL, **calls)
    if usage.calls >= FEW and usage.error_rate >= SOME_ERRORS:
        return warned(Code.CALLS, **calls)
    return passed(Code.CALLS, **calls)


def check_scopes(found: Gathered) -> Finding:
    """Check whether the app asks for and uses the scopes that it requests in the review or holds."""
    asked, held = found.asked["scopes"], found.client.approved_scopes.split()
    wanted = [scope for scope in reviewed_scopes() if scope in asked or scope in held]
    if not wanted:
        return passed(Code.NO_SCOPES)
    details = [_use_of(scope, found) for scope in wanted]
    if idle := [
        scope for scope in wanted if scope in held and _is_held_for(DAYS, found) and _use(scope, found).is_idle
    ]:
        return warned(Code.SCOPES_IDLE, *details, days=DAYS, scopes=idle)
    if unused := [scope for scope in wanted if scope in held and _is_unused(scope, found)]:
        return warned(Code.SCOPES_UNUSED, *details, days=UNUSED_DAYS, scopes=unused)
    untried = [scope for scope in wanted if scope not in held]
    if untried and not found.usage.people:
        return warned(Code.SCOPES_NEVER_TRIED, *details, scopes=untried)
    kept = held_since(found.client, found.asked)
    if dropped := [scope for scope in wanted if scope not in asked and scope not in kept]:
        return passed(Code.SCOPES_DROPPED, *details, scopes=dropped)
    return passed(Code.SCOPES_ASKED_FOR if untried else Code.SCOPES_USED, *details)


def _is_held_for(days: int, found: Gathered) -> bool:
    since = found.client.verified_at
    return since is None or (found.now - since).days >= days


def _is_unused(scope: str, found: Gathered) -> bool:
    """Return whether no call needed a scope of the API at `/v1`. Other APIs may check tokens without calling here."""
    is_counted = bool(endpoints_with_scope(scope))
    return is_counted and not _use(scope, found).calls and _is_held_for(UNUSED_DAYS, found)


def _use(scope: str, found: Gathered) -> ScopeUsage:
    return found.usage.scopes.get(scope, ScopeUsage())


def _use_of(scope: str, found: Gathered) -> Detail:
    use, known = _use(scope, found), endpoints_with_scope(scope)
    return detail(
        Code.SCOPE_HELD if scope in found.client.approved_scopes.split() else Code.SCOPE_NOT_HELD,
        scope=scope,
        granted=use.granted,
        asked=use.asked,
        refused=use.refused,
        calls=use.calls_lately,
        endpoints=[f"/v1/{name}" for name in known] or _name_of_api(scope),
        days=DAYS,
    )


def _name_of_api(scope: str) -> str:
    registry = current_registry()
    api = registry.apis.get(registry.scopes[scope].api) if scope in registry.scopes else None
    return api.name if api else "its API"
