"""Judges of how an app is used: people, sign-ins, calls, and scopes."""

from api.views import endpoints_with_scope
from devportal.console.reviews.evidence.facts import Detail, Finding, failed, passed, warned
from devportal.console.reviews.evidence.gathered import Gathered
from devportal.console.reviews.evidence.usage import DAYS, MAX_SIGN_INS, UNUSED_DAYS
from devportal.console.reviews.evidence.words import listed, many
from devportal.console.reviews.snapshots import REVIEWED_SCOPES

FEW = 20  # steps or calls: of fewer, a share says nothing
MANY_REFUSED = 0.5
SOME_ERRORS, MANY_ERRORS = 0.05, 0.5
MAX_SHOWN = 5


def judge_people(found: Gathered) -> Finding:
    """How many people ever authorized the app."""
    usage = found.usage
    if not usage.people:
        return warned("Nobody has authorized it yet, not even its developers.")
    count = f"{usage.people:,} or more people" if usage.people_is_more else many(usage.people, "person", "people")
    return passed(f"{count} ever authorized it.")


def judge_sign_ins(found: Gathered) -> Finding:
    """How sign-ins to the app ended lately, as far as the log goes back."""
    usage = found.usage
    steps = usage.sign_ins + usage.cancelled + usage.refused
    if not steps:
        return warned("The sign-in log has nothing about it.")
    span = f"Of the newest {MAX_SIGN_INS:,}" if usage.sign_ins_is_more else f"Of {many(steps, 'entry', 'entries')}"
    text = f"{span} in the log: {usage.sign_ins:,} signed in, {usage.cancelled:,} "
    text += f"cancelled, {usage.refused:,} refused."
    worst = sorted(usage.refusals.items(), key=lambda pair: (-pair[1], pair[0]))[:MAX_SHOWN]
    details = tuple(Detail(f"{error}: {count:,}") for error, count in worst)
    if steps >= FEW and usage.refused > MANY_REFUSED * steps:
        return warned(f"Most are refused. {text}", *details)
    return passed(text, *details)


def judge_calls(found: Gathered) -> Finding:
    """How many calls of the API went well in the last 30 days."""
    usage = found.usage
    if usage.error_rate is None:
        return passed(f"None in {DAYS} days.")
    text = f"{many(usage.calls, 'call')} in {DAYS} days, {usage.errors:,} of them errors "
    text += f"({100 * usage.error_rate:.1f} %)."
    if usage.calls >= FEW and usage.error_rate >= MANY_ERRORS:
        return failed(f"Most fail. {text}")
    if usage.calls >= FEW and usage.error_rate >= SOME_ERRORS:
        return warned(text)
    return passed(text)


def judge_scopes(found: Gathered) -> Finding:
    """Whether what is asked for, or held, is of any use to the app."""
    asked, held = found.asked["scopes"], found.client.approved_scopes.split()
    wanted = [scope for scope in REVIEWED_SCOPES if scope in asked or scope in held]
    if not wanted:
        return passed("It asks for nothing that needs approval.")
    details = tuple(Detail(_use_of(scope, found)) for scope in wanted)
    unused = [scope for scope in wanted if scope in held and not _calls_with(scope, found) and _is_long_held(found)]
    if unused:
        return warned(f"Held, and not used for {UNUSED_DAYS} days: {listed(unused)}.", *details)
    untried = [scope for scope in wanted if scope not in held]
    if untried and not found.usage.people:
        return warned(f"Asked for, although nobody has ever signed in: {listed(untried)}.", *details)
    dropped = [scope for scope in wanted if scope not in asked]
    if dropped:
        return passed(f"Held and not asked for any more, so an approval takes it away: {listed(dropped)}.", *details)
    return passed("What is held is used." if not untried else "Asked for by an app that people sign in to.", *details)


def _is_long_held(found: Gathered) -> bool:
    since = found.client.verified_at
    return since is None or (found.now - since).days >= UNUSED_DAYS


def _calls_with(scope: str, found: Gathered) -> int:
    return sum(found.usage.calls_by_endpoint.get(name, 0) for name in endpoints_with_scope(scope))


def _use_of(scope: str, found: Gathered) -> str:
    names = " and ".join(f"/v1/{name}" for name in endpoints_with_scope(scope)) or "no endpoint"
    state = "held" if scope in found.client.approved_scopes.split() else "not held"
    granted = found.usage.granted.get(scope, 0)
    calls = many(_calls_with(scope, found), "call")
    return f"{scope}: {state}, granted by {granted:,} of those people, {calls} to {names} in {UNUSED_DAYS} days"
