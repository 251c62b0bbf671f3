"""Judges of who stands behind an app, what happened before, and what people reported."""

from datetime import timedelta

from devportal.console.models import ReviewCase, ReviewEntry
from devportal.console.reviews.evidence.facts import Detail, Finding, failed, passed, warned
from devportal.console.reviews.evidence.gathered import Gathered, Setback
from devportal.console.reviews.evidence.words import day, listed, many

Kind = ReviewEntry.Kind
YOUNG = timedelta(days=30)  # an account or a project that is younger says little
RECENT = timedelta(days=365)
MANY_REPORTS = 3  # people who reported the app in the last year
MAX_SHOWN = 10


def judge_accounts(found: Gathered) -> Finding:
    """How long the people behind the app have had their accounts: present and former owners, and submitters."""
    details = tuple(
        Detail(f"{person.email}, {person.part}: since {day(person.created_at)}" if person.email else "Account deleted")
        for person in found.people
    )
    if any(person.created_at is None for person in found.people):
        return failed("The account that submitted it is gone.", *details)
    young = [person.email for person in found.people if person.created_at and found.now - person.created_at < YOUNG]
    if young:
        return warned(f"Younger than 30 days: {listed(young)}.", *details)
    return passed("All older than 30 days.", *details)


def judge_project(found: Gathered) -> Finding:
    """How old the project is."""
    since = found.client.project.created_at
    if found.now - since < YOUNG:
        return warned(f"Made on {day(since)}, less than 30 days ago.")
    return passed(f"Made on {day(since)}.")


def _told(setback: Setback, with_project: bool = False) -> Detail:
    about = setback.app or "the whole project"
    where = f" ({setback.project})" if with_project else ""
    return Detail(f"{Kind(setback.kind).label}, {day(setback.at)}: {about}{where}", client=setback.client)


def judge_setbacks(found: Gathered) -> Finding:
    """Rejections, withdrawn approvals and suspensions of this project and its apps."""
    details = tuple(map(_told, found.setbacks[:MAX_SHOWN]))
    if found.client.project.is_suspended:
        return failed("The project is suspended.", *details)
    grave = [row for row in found.setbacks if row.kind != Kind.REJECTED and found.now - row.at < RECENT]
    if grave:
        return failed(f"{Kind(grave[0].kind).label} on {day(grave[0].at)}, less than a year ago.", *details)
    if found.setbacks:
        return warned(f"{many(len(found.setbacks), 'entry', 'entries')} to look at.", *details)
    return passed("Nothing in this project was rejected, withdrawn or suspended.")


def judge_other_apps(found: Gathered) -> Finding:
    """What became of the other projects of people who own or owned this one, or submitted apps of it."""
    others = found.others
    count = f"{many(len(others.apps), 'app')}{' or more' if others.is_more else ''}"
    reviewed = sum(app.is_verified for app in others.apps)
    details = (
        Detail(f"{count} beside this one, {reviewed} reviewed") if others.apps else Detail("No other app"),
        *(Detail(f"Suspended now: the project {name}") for name in others.suspended[:MAX_SHOWN]),
        *(_told(row, with_project=True) for row in others.setbacks[:MAX_SHOWN]),
    )
    if others.suspended:
        return failed("Another project of these people is suspended.", *details)
    if any(row.kind != Kind.REJECTED and found.now - row.at < RECENT for row in others.setbacks):
        return failed("Another project of these people lost an approval or was suspended in the last year.", *details)
    if others.setbacks:
        return warned("Another project of these people had a rejection, a withdrawal or a suspension.", *details)
    if not others.apps:
        return passed("These people have no other app.")
    return passed(f"{count} beside this one, and nothing against them.", Detail(f"{reviewed} reviewed"))


def judge_reports(found: Gathered) -> Finding:
    """What people reported about the app, and what the desk has open about it."""
    kinds = (ReviewCase.Kind.REPORT, ReviewCase.Kind.DOMAIN_LOST)
    open_now = [case for case in found.cases if case.is_open and case.kind in kinds]
    acted = [
        case for case in found.cases if case.had_effect and case.kind in kinds and found.now - case.opened_at < RECENT
    ]
    reports = sum(found.reports.values())
    details = (
        *(Detail(f"{reason}: {count}") for reason, count in sorted(found.reports.items())),
        *(Detail(f"Open: {case.label}, since {day(case.opened_at)}") for case in open_now[:MAX_SHOWN]),
        *(Detail(f"Something was done: {case.label}, {day(case.opened_at)}") for case in acted[:MAX_SHOWN]),
    )
    if reports >= MANY_REPORTS and open_now:
        return failed(f"{many(reports, 'report')} by people in the last year, and a case is open.", *details)
    if open_now:
        return warned(f"{many(len(open_now), 'case')} open.", *details)
    if acted or reports:
        return warned("People reported it in the last year; the cases are closed.", *details)
    return passed("Nobody reported it in the last year, and no case is open.")
