"""Operators' pages; Django finds them here."""

from accounts.admin.groups import FamilyAdmin, OrganizationAdmin
from accounts.admin.people import AccountAdmin
from accounts.admin.plans import FeatureAdmin, PlanAdmin
from accounts.admin.subscriptions import SubscriptionAdmin

__all__ = ["AccountAdmin", "FamilyAdmin", "FeatureAdmin", "OrganizationAdmin", "PlanAdmin", "SubscriptionAdmin"]
