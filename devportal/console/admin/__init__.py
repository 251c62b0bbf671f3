"""Admin pages of reviews, projects, audit trail and sign-in log; Django's autodiscovery imports this module."""

from devportal.console.admin.log_admin import AuditEventAdmin, SignInEventAdmin
from devportal.console.admin.project_admin import ProjectAdmin
from devportal.console.admin.review_admin import AppReviewAdmin

__all__ = ["AppReviewAdmin", "AuditEventAdmin", "ProjectAdmin", "SignInEventAdmin"]
