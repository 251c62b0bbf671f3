"""The admin's pages of the console's own tables; Django finds them here."""

from devportal.console.admin.trails import AuditEventAdmin, SignInEventAdmin

__all__ = ["AuditEventAdmin", "SignInEventAdmin"]
