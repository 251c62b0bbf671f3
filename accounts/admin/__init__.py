"""Admin pages of people, plans and mail; Django's autodiscovery imports this module."""

from accounts.admin.mail import OutboxAdmin
from accounts.admin.people import AccountAdmin
from accounts.admin.plans import (
    FamilyAdmin,
    FeatureAdmin,
    InvitationAdmin,
    OrganizationAdmin,
    OrganizationMemberAdmin,
    PlanAdmin,
    SubscriptionAdmin,
)

__all__ = [
    "AccountAdmin",
    "FamilyAdmin",
    "FeatureAdmin",
    "InvitationAdmin",
    "OrganizationAdmin",
    "OrganizationMemberAdmin",
    "OutboxAdmin",
    "PlanAdmin",
    "SubscriptionAdmin",
]
