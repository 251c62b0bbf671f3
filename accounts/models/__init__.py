from accounts.models.outbox import Outbox
from accounts.models.people import Account, DataExport, FileToDelete, PairwiseSubject
from accounts.models.plans import (
    BillingEvent,
    Catalogue,
    Family,
    FamilyMember,
    Feature,
    Invitation,
    Organization,
    OrganizationMember,
    Plan,
    PlanEntitlement,
    Subscription,
    SubscriptionEvent,
)
from accounts.models.security import AccountRecovery, AddressChange, SecurityEvent, WrongCodes

__all__ = [
    "Account",
    "AccountRecovery",
    "AddressChange",
    "BillingEvent",
    "Catalogue",
    "DataExport",
    "Family",
    "FamilyMember",
    "Feature",
    "FileToDelete",
    "Invitation",
    "Organization",
    "OrganizationMember",
    "Outbox",
    "PairwiseSubject",
    "Plan",
    "PlanEntitlement",
    "SecurityEvent",
    "Subscription",
    "SubscriptionEvent",
    "WrongCodes",
]
