"""The admin's pages of what the console knows; Django finds them here."""

from devportal.console.admin.log_admin import AuditEventAdmin, SignInEventAdmin
from devportal.console.admin.project_admin import ProjectAdmin
from devportal.console.admin.review_admin import AppReviewAdmin

__all__ = ["AppReviewAdmin", "AuditEventAdmin", "ProjectAdmin", "SignInEventAdmin"]
