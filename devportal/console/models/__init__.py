from devportal.console.models.audit import AuditEvent
from devportal.console.models.forms import SentForm
from devportal.console.models.reviews import AppReview, ReviewEntry
from devportal.console.models.signins import SignInEvent

__all__ = ["AppReview", "AuditEvent", "ReviewEntry", "SentForm", "SignInEvent"]
