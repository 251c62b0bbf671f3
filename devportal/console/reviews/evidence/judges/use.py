"""Judges of how an app is used: people, sign-ins, calls, and scopes."""

from api.views import endpoints_with_scope
from devportal.console.reviews.evidence.facts import Detail, Finding, detail, failed, passed, warned
from devportal.console.reviews.evidence.gathered import Gathered
from devportal.console.reviews.evidence.texts import Code
from devportal.console.reviews.evidence.usage import DAYS, MAX_SIGN_INS, UNUSED_DAYS
from devportal.console.reviews.snapshots import REVIEWED_SCOPES

FEW = 20  # steps or calls: of fewer, a share says nothing
MANY_REFUSED = 0.5
SOME_ERRORS, MANY_ERRORS = 0.05, 0.5
MAX_SHOWN = 5


def judge_people(found: Gathered) -> Finding:
    """How many people ever authorized the app."""
    usage = found.usage
    if not usage.people:
        return warned(Code.NO_PEOPLE)
    return passed(Code.MANY_PEOPLE if usage.people_is_more else Code.PEOPLE, count=usage.people)


def judge_sign_ins(found: Gathered) -> Finding:
    """How sign-ins to the app ended lately, as far as the log goes back."""
    usage = found.usage
    steps = usage.sign_ins + usage.cancelled + usage.refused
    if not steps:
        return warned(Code.NO_SIGN_INS)
    count = MAX_SIGN_INS if usage.sign_ins_is_more else steps
    worst = sorted(usage.refusals.items(), key=lambda pair: (-pair[1], pair[0]))[:MAX_SHOWN]
    details = [detail(Code.REFUSALS, error=error, number=number) for error, number in worst]
    outcomes = {"signed_in": usage.sign_ins, "cancelled": usage.cancelled, "refused": usage.refused}
    if steps >= FEW and usage.refused > MANY_REFUSED * steps:
        return warned(Code.MOST_SIGN_INS_REFUSED, *details, count=count, **outcomes)
    code = Code.SIGN_INS_OF_NEWEST if usage.sign_ins_is_more else Code.SIGN_INS
    return passed(code, *details, count=count, **outcomes)


def judge_calls(found: Gathered) -> Finding:
    """How many calls of the API went well in the last 30 days."""
    usage = found.usage
    if usage.error_rate is None:
        return passed(Code.NO_CALLS, days=DAYS)
    calls = {"count": usage.calls, "days": DAYS, "errors": usage.errors, "percent": 100 * usage.error_rate}
    if usage.calls >= FEW and usage.error_rate >= MANY_ERRORS:
        return failed(Code.MOST_CALLS_FAIL, **calls)
    if usage.calls >= FEW and usage.error_rate >= SOME_ERRORS:
        return warned(Code.CALLS, **calls)
    return passed(Code.CALLS, **calls)


def judge_scopes(found: Gathered) -> Finding:
    """Whether what is asked for, or held, is of any use to the app."""
    asked, held = found.asked["scopes"], found.client.approved_scopes.split()
    wanted = [scope for scope in REVIEWED_SCOPES if scope in asked or scope in held]
    if not wanted:
        return passed(Code.NO_SCOPES)
    details = [_use_of(scope, found) for scope in wanted]
    unused = [scope for scope in wanted if scope in held and not _calls_with(scope, found) and _is_long_held(found)]
    if unused:
        return warned(Code.SCOPES_UNUSED, *details, days=UNUSED_DAYS, scopes=unused)
    untried = [scope for scope in wanted if scope not in held]
    if untried and not found.usage.people:
        return warned(Code.SCOPES_NEVER_TRIED, *details, scopes=untried)
    dropped = [scope for scope in wanted if scope not in asked]
    if dropped:
        return passed(Code.SCOPES_DROPPED, *details, scopes=dropped)
    return passed(Code.SCOPES_ASKED_FOR if untried else Code.SCOPES_USED, *details)


def _is_long_held(found: Gathered) -> bool:
    since = found.client.verified_at
    return since is None or (found.now - since).days >= UNUSED_DAYS


def _calls_with(scope: str, found: Gathered) -> int:
    return sum(found.usage.calls_by_endpoint.get(name, 0) for name in endpoints_with_scope(scope))


def _use_of(scope: str, found: Gathered) -> Detail:
    return detail(
        Code.SCOPE_HELD if scope in found.client.approved_scopes.split() else Code.SCOPE_NOT_HELD,
        scope=scope,
        granted=found.usage.granted.get(scope, 0),
        calls=_calls_with(scope, found),
        endpoints=[f"/v1/{name}" for name in endpoints_with_scope(scope)],
        days=UNUSED_DAYS,
    )
