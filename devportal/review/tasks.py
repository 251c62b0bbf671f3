"""Periodic tasks of app review."""

from core.tasks import periodic_task
from devportal.review.cases import cases
from devportal.review.decisions import alerts
from devportal.review.submission import second_approval


@periodic_task(3600)
def open_re_reviews() -> int:
    """Open cases for reviewed apps that were last reviewed more than RE_REVIEW_DAYS ago; return their number."""
    return cases.open_due_re_reviews()


@periodic_task(3600)
def open_second_approvals() -> int:
    """Open cases for apps that now have many people and a sensitive scope with one approval; return how many."""
    return second_approval.open_due_second_approvals()


@periodic_task(600)
def announce_submissions() -> int:
    """Mail the reviewers about new submissions; return their number."""
    return alerts.announce_submissions()


@periodic_task(3600)
def announce_late_reviews() -> int:
    """Mail the reviewers about submissions that have waited longer than REVIEW_TARGET_DAYS; return their number."""
    return alerts.announce_late_reviews()


@periodic_task(600)
def announce_cases() -> int:
    """Mail the reviewers about newly opened cases; return their number."""
    return alerts.announce_cases()


@periodic_task(3600)
def announce_late_cases() -> int:
    """Mail the reviewers about cases that have been open longer than CASE_TARGET_DAYS; return their number."""
    return alerts.announce_late_cases()
