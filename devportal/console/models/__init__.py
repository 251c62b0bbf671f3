from devportal.console.models.analytics import SignInDay, SignInHour
from devportal.console.models.audit import AuditEvent
from devportal.console.models.desk import AppReport, CannedReply, DeskNote, ReviewCase, ReviewerSettings
from devportal.console.models.idempotency import IdempotencyToken
from devportal.console.models.reviews import AppReview, ReviewEntry, ReviewRevision
from devportal.console.models.sign_in_log import SignInEvent
from devportal.console.models.task_runs import TaskRun

__all__ = [
    "AppReport",
    "AppReview",
    "AuditEvent",
    "CannedReply",
    "DeskNote",
    "IdempotencyToken",
    "ReviewCase",
    "ReviewEntry",
    "ReviewRevision",
    "ReviewerSettings",
    "SignInDay",
    "SignInEvent",
    "SignInHour",
    "TaskRun",
]
