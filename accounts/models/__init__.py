from accounts.models.exports import DataExport, FileToDelete
from accounts.models.groups import Family, FamilyMember, Invitation, Organization, OrganizationMember
from accounts.models.outbox import Outbox
from accounts.models.people import Account, PairwiseSubject
from accounts.models.plans import Catalogue, Feature, Plan, PlanEntitlement
from accounts.models.security import AccountRecovery, AddressChange, SecurityEvent, WrongCodes
from accounts.models.subscriptions import BillingEvent, Subscription, SubscriptionEvent

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
