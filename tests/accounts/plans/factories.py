"""Functions that create plans, subscriptions and groups for tests."""

from datetime import datetime, timedelta
from typing import Any

from accounts.models import Account, Family, Feature, Organization, Plan, PlanEntitlement, Subscription
from accounts.plans import lifecycle, members
from accounts.plans.lifecycle import Actor, Holder
from accounts.roles import set_roles
from core import clock
from tests.factories import make_account

TEST = Actor("test")


def make_plan(
    plan_id: str, *, rank: int = 0, apps: list[str] | None = None, age: int = 300, **entitlements: Any
) -> Plan:
    """Return a plan; each entitlement is given as `feature=(status, limit, unit)`."""
    plan = Plan.objects.create(
        plan_id=plan_id, display_name=plan_id.capitalize(), rank=rank, apps=apps or [], cache_max_age=age
    )
    for name, (status, limit, unit) in entitlements.items():
        feature, _ = Feature.objects.get_or_create(name=name)
        PlanEntitlement.objects.create(plan=plan, feature=feature, status=status, limit=limit, unit=unit)
    return plan


def subscribe(holder: Holder, plan: Plan, state: str = "Active", **details: Any) -> Subscription:
    return lifecycle.declare_subscription(holder, state, TEST, plan=plan, **details)


def family_of(owner: Account, *others: Account) -> Family:
    family = members.get_or_create_family(owner)
    for other in others:
        members.add_member(family, other)
    return family


def organization_of(*people: Account, name: str = "Acme") -> Organization:
    organization = Organization.objects.create(name=name)
    members.set_members(organization, people)
    return organization


def ahead(seconds: float) -> datetime:
    return clock.now() + timedelta(seconds=seconds)


def make_operator(email: str | None = None) -> Account:
    """Return someone who may invite to organizations."""
    account = make_account(email)
    set_roles(account, ["operator"])
    return account
