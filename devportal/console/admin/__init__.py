"""The admin's pages of what the console knows; Django finds them here."""

from devportal.console.admin.desk import AppReviewAdmin
from devportal.console.admin.projects import ProjectAdmin
from devportal.console.admin.trails import AuditEventAdmin, SignInEventAdmin

__all__ = ["AppReviewAdmin", "AuditEventAdmin", "ProjectAdmin", "SignInEventAdmin"]
