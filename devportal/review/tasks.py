"""Periodic tasks of app review."""

from core.tasks import periodic_task
from devportal.review import alerts, case_triggers, second_approval


@periodic_task(3600)
def open_re_reviews() -> int:
    """Open cases for verified apps that were reviewed more than RE_REVIEW_DAYS ago; return how many were opened."""
    return case_triggers.open_due_re_reviews()


@periodic_task(3600)
def open_second_approvals() -> int:
    """Open cases for apps that have many people by now and a sensitive scope by one approval; return how many."""
    return second_approval.open_due_second_approvals()


@periodic_task(600)
def announce_submissions() -> int:
    """Mail the reviewers what was submitted for review since the last time; return how many submissions."""
    return alerts.announce_submissions()


@periodic_task(3600)
def announce_late_reviews() -> int:
    """Mail the reviewers what has begun to wait for longer than REVIEW_TARGET_DAYS; return how many submissions."""
    return alerts.announce_late_reviews()


@periodic_task(600)
def announce_cases() -> int:
    """Mail the reviewers which cases were opened since the last time; return how many."""
    return alerts.announce_cases()


@periodic_task(3600)
def announce_late_cases() -> int:
    """Mail the reviewers which cases have been open for longer than CASE_TARGET_DAYS; return how many."""
    return alerts.announce_late_cases()
