"""Admin pages of reviews, cases, projects, logs and periodic tasks; Django's autodiscovery imports this module."""

from devportal.console.admin.canned_reply_admin import CannedReplyAdmin
from devportal.console.admin.case_admin import ReviewCaseAdmin
from devportal.console.admin.log_admin import AuditEventAdmin, SignInEventAdmin
from devportal.console.admin.project_admin import ProjectAdmin
from devportal.console.admin.review_admin import AppReviewAdmin
from devportal.console.admin.task_admin import TaskRunAdmin

__all__ = [
    "AppReviewAdmin",
    "AuditEventAdmin",
    "CannedReplyAdmin",
    "ProjectAdmin",
    "ReviewCaseAdmin",
    "SignInEventAdmin",
    "TaskRunAdmin",
]
