"""What people see: their plan page, the export."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account, Feature, Plan
from accounts.models.plans import State
from accounts.plans import catalogue, lifecycle, members, resolution
from accounts.plans.lifecycle import STATE_TEXTS
from accounts.profile.sources import SourceFailed
from tests.accounts.plans.factories import TEST, ahead, family_of, make_plan, organization_of, subscribe
from tests.accounts.plans.test_sources import GOOD, source_saying
from tests.exports import exported
from tests.factories import make_account

pytestmark = pytest.mark.django_db


def page(browser: Browser) -> str:
    response = browser.get("/account/plan")
    assert response.status_code == 200
    assert "no-store" in response["Cache-Control"]
    return response.content.decode()


SHOWN: list[tuple[Callable[[Account, Plan], object], tuple[str, ...]]] = [
    (lambda person, pro: None, ("Free", "No paid plan", "Not included")),
    (lambda person, pro: subscribe(make_account(), pro), ("No paid plan",)),
    (
        lambda person, pro: subscribe(person, pro, "Trial", trial_end=ahead(10**6), addons={"fax": {"quantity": 3}}),
        (
            "Pro",
            '<dd class="break">You</dd>',
            "The trial ends",
            "<time",
            "Up to 200 GB",
            "Notes, Calendar",
            "Fax \N{MULTIPLICATION SIGN} 3",
        ),
    ),
    (lambda person, pro: subscribe(family_of(person), pro), ("Your family",)),
    (
        lambda person, pro: subscribe(organization_of(person, name="Acme <b>&"), pro, "PastDue"),
        ("Your seat at Acme &lt;b&gt;&amp;", "A payment is overdue"),
    ),
    (
        lambda person, pro: subscribe(person, pro, "Expired", read_only_until=ahead(1000)),
        ("You can still read", "the free plan begins"),
    ),
]


@pytest.mark.parametrize(("subscribed", "words"), SHOWN)
def test_the_page_shows_the_plan_and_through_whom(
    subscribed: Callable[[Account, Plan], object],
    words: tuple[str, ...],
    signed_in: Browser,
    person: Account,
    pro: Plan,
) -> None:
    subscribed(person, pro)
    text = page(signed_in)
    assert [word for word in words if word not in text] == []


def test_a_family_member(signed_in: Browser, person: Account, pro: Plan) -> None:
    owner = make_account("grace@example.com", given_name="Grace")
    subscribe(family_of(owner, person), pro, "Active", period_end=ahead(10**6))
    text = page(signed_in)
    assert "Grace’s family (grace@example.com)" in text
    Account.objects.filter(pk=owner.pk).update(given_name="")
    assert "The family of grace@example.com" in page(signed_in)
    assert "Paid until" in text


def test_a_plan_source_that_is_down_shows_a_message(
    signed_in: Browser, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken:
        def plan_and_use(self, account: Account) -> Any:
            raise SourceFailed("down")

    settings.PLAN_SOURCE_URL = "https://billing.example.com/"
    monkeypatch.setattr(resolution, "_source", Broken())
    response = signed_in.get("/account/plan")
    assert response.status_code == 502
    assert "show your plan at the moment" in response.content.decode()


def test_a_plan_from_elsewhere(signed_in: Browser, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.PLAN_SOURCE_URL = "https://billing.example.com/"
    monkeypatch.setattr(resolution, "_source", source_saying(GOOD | {"source": "family"}))
    text = page(signed_in)
    assert "A family that you belong to" in text
    assert "Up to 1.5 TB" in text
    assert "Other plans" not in text  # the other service knows


def test_usage_is_shown_if_the_source_returns_it(
    signed_in: Browser, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PLAN_SOURCE_URL, settings.PLANS_URL = "https://billing.example.com/", "https://example.com/plans"
    said = GOOD["entitlements"]["storage"] | {"used": 0.25}
    monkeypatch.setattr(resolution, "_source", source_saying(GOOD | {"entitlements": {"storage": said}}))
    text = page(signed_in)
    assert "0.25 of 1.5 TB used" in text
    assert 'max="1.5" value="0.25"' in text
    assert 'href="https://example.com/plans"' in text


def test_features_have_names_and_other_plans_are_told(
    signed_in: Browser, person: Account, pro: Plan, settings: Any
) -> None:
    Feature.objects.filter(name="storage").update(display_name="Room for your files")
    make_plan("team", rank=20, storage=("granted_with_limit", 2000, "GB"))
    make_plan("staff", rank=30)
    Plan.objects.filter(plan_id="staff").update(is_listed=False)
    catalogue.bump_version()
    subscribe(person, pro)
    settings.SUPPORT_EMAIL = "help@example.com"
    text = page(signed_in)
    assert "Room for your files" in text
    assert "Room for your files: 2,000 GB" in text
    assert "Team" in text
    assert "Staff" not in text
    assert "mailto:help@example.com" in text


def test_the_export_holds_it(signed_in: Browser, person: Account, pro: Plan) -> None:
    operator = make_account("op@example.com")
    row = subscribe(person, pro, "Trial", trial_end=ahead(10**6))
    lifecycle.transition(row, "Active", lifecycle.Actor("operator", operator, "a favour"))
    family_of(make_account("grace@example.com"), person)
    organization_of(person)
    held = exported(person)
    plan = held["plan"]
    assert plan["subscription"]["plan"] == "pro"
    assert [step["to"] for step in plan["subscription"]["history"]] == ["Trial", "Active"]
    assert plan["families"][0]["owner"] == "grace@example.com"
    assert plan["organizations"][0]["name"] == "Acme"
    assert "op@example.com" not in json.dumps(held)


def test_a_person_with_everything_can_be_deleted(person: Account, pro: Plan) -> None:
    subscribe(person, pro)
    subscribe(family_of(person), pro)
    organization_of(person)
    person.delete()


def test_the_owner_stays_a_member() -> None:
    owner, other = make_account(), make_account()
    family = family_of(owner, other)
    members.set_members(family, [])
    assert [member.account for member in family.members.all()] == [owner]
    make_plan("x")
    assert lifecycle.start_subscription(family, "Active", TEST, plan=Plan.objects.get()).holder == family


def test_every_state_has_its_texts() -> None:
    assert set(STATE_TEXTS) == set(State.values)
    assert all(texts.status and texts.meaning for texts in STATE_TEXTS.values())
