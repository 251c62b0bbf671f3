"""Admin pages of app review; Django's autodiscovery imports this module."""

from devportal.review.admin.case_admin import ReviewCaseAdmin
from devportal.review.admin.other_pages import CannedReplyAdmin
from devportal.review.admin.project_admin import ProjectAdmin
from devportal.review.admin.review_admin import AppReviewAdmin

__all__ = [
    "AppReviewAdmin",
    "CannedReplyAdmin",
    "ProjectAdmin",
    "ReviewCaseAdmin",
]
