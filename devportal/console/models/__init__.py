from devportal.console.models.audit import AuditEvent
from devportal.console.models.idempotency import IdempotencyToken
from devportal.console.models.reviews import AppReview, ReviewEntry
from devportal.console.models.sign_in_log import SignInEvent
from devportal.console.models.task_runs import TaskRun

__all__ = ["AppReview", "AuditEvent", "IdempotencyToken", "ReviewEntry", "SignInEvent", "TaskRun"]
