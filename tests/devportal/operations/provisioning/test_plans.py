"""Plans, subscriptions, families and organizations in the provision file."""

from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from accounts.models import (
    Account,
    Family,
    Feature,
    Organization,
    Plan,
    PlanEntitlement,
    Subscription,
    SubscriptionEvent,
)
from accounts.models.plans import State
from accounts.plans import resolution
from tests.devportal.operations.provisioning.test_provision import provision
from tests.factories import make_account

pytestmark = pytest.mark.django_db

PLANS = """
[[plans]]
id = "free"
display_name = "Nothing much"
apps = ["notes"]

[[plans]]
id = "pro"
display_name = "Pro"
rank = 10
apps = ["notes", "calendar"]
cache_max_age = 60
listed = false

[plans.entitlements.storage]
status = "granted_with_limit"
limit = 1.5
unit = "TB"

[plans.entitlements.history]
display_name = "History of changes"
status = "granted"

[plans.entitlements.fax]
status = "denied"
"""
PEOPLE = """
[[people]]
email = "ada@example.com"

[people.subscription]
plan = "pro"
state = "Trial"
trial_end = 2031-01-01T00:00:00Z
read_only_until = 2031-02-01T00:00:00+01:00
addons = {extra = {quantity = 2}}

[[people]]
email = "grace@example.com"

[[people]]
email = "linus@example.com"
"""
GROUPS = """
[[families]]
owner = "Grace@example.com"
members = ["linus@example.com"]

[families.subscription]
plan = "pro"
state = "Active"

[[organizations]]
name = "Acme"
members = ["ada@example.com", "linus@example.com"]

[organizations.subscription]
plan = "free"
state = "PastDue"
"""
# The order of sections in the file doesn't matter: people come before groups here, and plans last.
FILE = GROUPS + PEOPLE + PLANS


def rows() -> list[Any]:
    models = (Plan, Feature, PlanEntitlement, Subscription, SubscriptionEvent, Family, Organization)
    return [list(model._default_manager.order_by("pk").values()) for model in models]


def answer(name: str) -> dict[str, Any]:
    return resolution.resolve_plan(Account.objects.get(email=f"{name}@example.com")).answer


def test_declared_plans_are_created_once(tmp_path: Path) -> None:
    result = provision(tmp_path, FILE)
    assert list(result) == ["issuer", "base_url", "people", "projects", "apis"]
    assert result["people"][0] == {"email": "ada@example.com", "password": None}
    ada = answer("ada")
    assert (ada["plan_id"], ada["source"], ada["state"], ada["cache_max_age"]) == ("pro", "own", "Trial", 60)
    assert not Plan.objects.get(plan_id="pro").is_listed
    assert ada["addons"] == {"extra": {"quantity": 2}}
    assert ada["entitlements"] == {
        "fax": {"status": "denied", "limit": None, "unit": None},
        "history": {"status": "granted", "limit": None, "unit": None},
        "storage": {"status": "granted_with_limit", "limit": 1.5, "unit": "TB"},
    }
    assert dict(Feature.objects.values_list("name", "display_name")) == {
        "fax": "", "history": "History of changes", "storage": "",
    }  # fmt: skip
    assert [answer(name)["source"] for name in ("grace", "linus")] == ["family", "family"]
    subscription = Subscription.objects.get(account__email="ada@example.com")
    assert subscription.read_only_until is not None
    assert subscription.read_only_until.isoformat() == "2031-01-31T23:00:00+00:00"
    free = resolution.resolve_plan(make_account()).answer
    assert (free["plan_id"], free["plan_display_name"], free["apps"]) == ("free", "Nothing much", ["notes"])
    assert (free["source"], free["state"], free["cache_max_age"]) == ("free", "free", 300)
    before = rows()
    provision(tmp_path, FILE)
    assert rows() == before


def test_undeclared_plans_stay_and_declared_ones_are_updated(tmp_path: Path) -> None:
    provision(tmp_path, FILE)
    provision(
        tmp_path,
        """
[[plans]]
id = "pro"
display_name = "Professional"
[plans.entitlements.storage]
status = "granted"

[[people]]
email = "ada@example.com"
[people.subscription]
plan = "pro"
state = "Cancelled"

[[families]]
owner = "grace@example.com"
members = []

[[organizations]]
name = "Acme"
""",
    )
    plan = Plan.objects.get(plan_id="pro")
    assert (plan.display_name, plan.rank, plan.cache_max_age) == ("Professional", 10, 60)
    ada = answer("ada")
    assert (ada["state"], ada["read_only"], ada["addons"]) == ("PastDue", False, None)
    subscription = Subscription.objects.get(account__email="ada@example.com")
    assert (subscription.state, subscription.addons) == ("Cancelled", {"extra": {"quantity": 2}})
    assert subscription.read_only_until is not None
    assert plan.entitlements.get().status == "granted"
    assert Feature.objects.count() == 3
    assert [member.account.email for member in Family.objects.get().members.all()] == ["grace@example.com"]
    assert Organization.objects.get().members.count() == 2


@pytest.mark.parametrize("state", State.values)
def test_any_state_can_be_declared(tmp_path: Path, state: str) -> None:
    provision(tmp_path, FILE.replace('state = "Trial"', f'state = "{state}"'))
    assert Subscription.objects.get(account__email="ada@example.com").state == state
    provision(tmp_path, FILE)
    assert Subscription.objects.get(account__email="ada@example.com").state == "Trial"


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('id = "pro"', 'id = "a plan"', "plans[1].id"),
        ("rank = 10", 'rank = "10"', "plans[1].rank"),
        ("rank = 10", "rank = 99999999999", "plans[1].rank"),
        ("cache_max_age = 60", "cache_max_age = -1", "plans[1].cache_max_age"),
        ('"calendar"]', '"notes"]', "plans[1].apps"),
        ('"calendar"]', '"a b"]', "plans[1].apps[1]"),
        ('display_name = "Pro"', "", "plans[1].display_name"),
        ('status = "denied"', 'status = "maybe"', "plans[1].entitlements.fax.status"),
        ('status = "denied"', 'status = "denied"\nmore = 1', "plans[1].entitlements.fax.more"),
        ("limit = 1.5\n", "", "plans[1].entitlements.storage.limit"),
        ("limit = 1.5", "limit = nan", "plans[1].entitlements.storage.limit"),
        ("limit = 1.5", f"limit = 1{'0' * 400}", "plans[1].entitlements.storage.limit"),
        ("limit = 1.5", 'limit = "5"', "plans[1].entitlements.storage.limit"),
        ("plans.entitlements.fax", 'plans.entitlements."\\u0000"', "plans[1].entitlements"),
        ('plan = "pro"\nstate = "Trial"', 'plan = "gold"\nstate = "Trial"', "people[0].subscription.plan"),
        ('state = "Trial"', 'state = "trial"', "people[0].subscription.state"),
        ("2031-01-01T00:00:00Z", "2031-01-01T00:00:00", "people[0].subscription.trial_end"),
        ("quantity = 2", "quantity = 0", "people[0].subscription.addons.extra"),
        ("{extra = {quantity = 2}}", "[]", "people[0].subscription.addons"),
        ('owner = "Grace@example.com"', 'owner = "nobody@example.com"', "families[0].owner"),
        ('members = ["linus', 'members = ["nobody', "families[0].members[0]"),
        ('"linus@example.com"]\n\n[org', '"nobody@example.com"]\n\n[org', "organizations[0].members[1]"),
        ('name = "Acme"', 'name = "Acme"\nowner = "ada@example.com"', "organizations[0].owner"),
        ('plan = "free"', 'plan = "gold"', "organizations[0].subscription.plan"),
    ],
)
def test_a_bad_file_is_refused_by_key(tmp_path: Path, old: str, new: str, key: str) -> None:
    assert old in FILE
    with pytest.raises(CommandError) as refused:
        provision(tmp_path, FILE.replace(old, new))
    assert key in str(refused.value)
    assert not Plan.objects.exists()
    assert not Account.objects.exists()
