"""Operators' pages: the catalogue, groups, invitations, and steps as buttons with the history beside them."""

import re
from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import (
    Account,
    Family,
    FamilyMember,
    Feature,
    Invitation,
    Organization,
    Outbox,
    Plan,
    Subscription,
)
from accounts.plans import holders, resolution
from core import clock
from devportal.console.models import AuditEvent
from oidc.models import AppPage
from tests.accounts.plans.factories import ahead, family_of, organization_of, subscribe
from tests.factories import make_account, make_client

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator(client: Browser) -> Browser:
    account = make_account("op@example.com", is_staff=True, is_superuser=True)
    client.force_login(account, backend="allauth.account.auth_backends.AuthenticationBackend")
    return client


def change_page(browser: Browser, row: Subscription) -> str:
    response = browser.get(f"/admin/accounts/subscription/{row.pk}/change/")
    assert response.status_code == 200
    return response.content.decode()


def buttons(text: str) -> set[str]:
    return set(re.findall(r'name="to" value="(\w+)"', text))


def press(browser: Browser, row: Subscription, to: str, **values: str) -> str:
    response = browser.post(f"/admin/accounts/subscription/{row.pk}/step", {"to": to, **values}, follow=True)
    assert response.status_code == 200
    row.refresh_from_db()
    return response.content.decode()


@pytest.mark.parametrize(
    ("state", "legal"),
    [
        ("Trial", {"Active", "Expired"}),
        ("Active", {"PastDue", "CancelledPeriodActive"}),
        ("PastDue", {"Active", "Cancelled", "Expired"}),
        ("CancelledPeriodActive", {"Active", "Cancelled"}),
        ("Cancelled", {"free"}),
        ("free", {"Trial", "Active"}),
    ],
)
def test_legal_steps_have_buttons(operator: Browser, person: Account, pro: Plan, state: str, legal: set[str]) -> None:
    row = subscribe(person, pro, state, read_only_until=ahead(1000))
    assert buttons(change_page(operator, row)) == legal


def test_a_button_takes_the_step_and_adds_it_to_the_history(operator: Browser, person: Account, pro: Plan) -> None:
    row = subscribe(person, pro, "Trial", trial_end=ahead(1000))
    text = press(operator, row, "Active", note="paid by letter", period_end="2031-01-01 12:00")
    assert row.state == "Active"
    assert row.period_end is not None
    assert row.period_end.isoformat() == "2031-01-01T12:00:00+00:00"
    assert "paid by letter" in text
    last = row.events.last()
    assert last is not None
    assert (last.by, last.actor) == ("operator", Account.objects.get(email="op@example.com"))


def test_an_illegal_step_shows_an_error(operator: Browser, person: Account, pro: Plan) -> None:
    row = subscribe(person, pro, "Active")
    assert "A subscription can&#x27;t change from Active to Expired" in press(operator, row, "Expired")
    assert "trial_end" in press(operator, row, "PastDue", trial_end="tomorrow")
    assert row.state == "Active"


def test_ending_the_window_and_dates_alone(operator: Browser, person: Account, pro: Plan) -> None:
    row = subscribe(person, pro, "Expired", read_only_until=ahead(1000))
    press(operator, row, "", read_only_until="2031-01-01 12:00")
    assert row.state == "Expired"
    assert row.read_only_until is not None
    assert row.read_only_until.year == 2031
    press(operator, row, "free")
    assert row.state == "free"


def test_an_operator_gives_a_plan(operator: Browser, person: Account, pro: Plan) -> None:
    values = {"account": str(person.pk), "plan": str(pro.pk), "state": "Active", "addons": "{}"}
    text = operator.get("/admin/accounts/subscription/add/").content.decode()
    assert 'value="PastDue"' not in text
    both = operator.post("/admin/accounts/subscription/add/", values | {"family": str(family_of(person).pk)})
    assert both.status_code == 200
    assert not Subscription.objects.exists()
    response = operator.post("/admin/accounts/subscription/add/", values)
    assert response.status_code == 302, response.content.decode()
    row = Subscription.objects.get()
    assert (row.account, row.state, row.events.get().by) == (person, "Active", "operator")
    assert f"/admin/accounts/subscription/{row.pk}/" not in response.content.decode()


def formset(prefix: str, **row: str) -> dict[str, str]:
    management = {"TOTAL_FORMS": "1", "INITIAL_FORMS": "0", "MIN_NUM_FORMS": "0", "MAX_NUM_FORMS": "1000"}
    return {f"{prefix}-{name}": value for name, value in management.items()} | {
        f"{prefix}-0-{name}": value for name, value in row.items()
    }


def test_a_plan_is_made_and_answers_know_it(operator: Browser, person: Account) -> None:
    feature = Feature.objects.create(name="storage", unit="GB")
    values = {"plan_id": "free", "display_name": "Nothing", "rank": "0", "apps_others": "notes", "cache_max_age": "60"}
    row = {"feature": str(feature.pk), "status": "granted_with_limit", "limit": "5", "unit": ""}
    response = operator.post("/admin/accounts/plan/add/", values | formset("entitlements", **row))
    assert response.status_code == 302, response.content.decode()
    answer = resolution.resolve_plan(person).answer
    assert (answer["plan_display_name"], answer["apps"]) == ("Nothing", ["notes"])
    assert answer["entitlements"]["storage"] == {"status": "granted_with_limit", "limit": 5, "unit": "GB"}


def test_a_plan_in_use_stays(operator: Browser, person: Account, pro: Plan, team: Plan) -> None:
    subscribe(person, pro)
    assert operator.get(f"/admin/accounts/plan/{pro.pk}/delete/").status_code == 403
    assert operator.post(f"/admin/accounts/plan/{team.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not Plan.objects.filter(pk=team.pk).exists()


def test_a_family_made_here_has_its_owner(operator: Browser, person: Account) -> None:
    response = operator.post("/admin/accounts/family/add/", {"owner": str(person.pk)} | formset("members", account=""))
    assert response.status_code == 302, response.content.decode()
    assert Family.objects.get().members.get().account == person


def test_a_seat_is_given_and_taken_back(operator: Browser, person: Account) -> None:
    operator.post("/admin/accounts/organization/add/", {"name": "Acme"})
    acme = Organization.objects.get()
    values = {"account": str(person.pk), "organization": str(acme.pk)}
    operator.post("/admin/accounts/organizationmember/add/", values)
    seat = acme.members.get()
    assert seat.account == person
    assert operator.get(f"/admin/accounts/organizationmember/?organization__id__exact={acme.pk}").status_code == 200
    assert "immediately" in operator.get(f"/admin/accounts/organizationmember/{seat.pk}/delete/").content.decode()
    operator.post(f"/admin/accounts/organizationmember/{seat.pk}/delete/", {"post": "yes"})
    assert not acme.members.exists()


def plan_form(**values: Any) -> dict[str, Any]:
    return {"display_name": "Pro", "rank": "1", "cache_max_age": "60"} | formset("entitlements") | values


def test_apps_of_all_plans_and_with_a_public_page_can_be_chosen(operator: Browser, pro: Plan, team: Plan) -> None:
    Plan.objects.filter(pk=team.pk).update(apps=["calendar"])
    client = make_client(name="Orbit Notes")
    AppPage.objects.create(client=client, slug="orbit-notes", published_at=clock.now())
    page = f"/admin/accounts/plan/{pro.pk}/change/"
    text = operator.get(page).content.decode()
    assert "Orbit Notes (orbit-notes)" in text
    assert (
        operator.post(page, plan_form(apps_known=["calendar", "orbit-notes"], apps_others="maps\nmaps")).status_code
        == 302
    )
    pro.refresh_from_db()
    assert pro.apps == ["calendar", "orbit-notes", "maps"]
    assert AuditEvent.objects.latest("pk").after["apps"] == str(pro.apps)


@pytest.mark.parametrize(
    "wrong", [{"apps_known": ["unknown"]}, {"apps_others": "two;words"}, {"apps_others": "x" * 5001}]
)
def test_other_values_are_refused(operator: Browser, pro: Plan, wrong: dict[str, Any]) -> None:
    before = pro.apps
    assert operator.post(f"/admin/accounts/plan/{pro.pk}/change/", plan_form(**wrong)).status_code == 200
    pro.refresh_from_db()
    assert pro.apps == before


def test_saving_a_plan_says_how_many_people_it_affects(operator: Browser, person: Account, pro: Plan) -> None:
    page = f"/admin/accounts/plan/{pro.pk}/change/"
    assert "0 people" in operator.get(page).content.decode()
    subscribe(person, pro)
    family = Family.objects.create(owner=make_account("owner@example.com"))
    for account in (family.owner, make_account("member@example.com"), person):
        FamilyMember.objects.create(family=family, account=account)
    subscribe(family, pro)
    assert holders.count_people(pro) == 3
    said = operator.post(page, plan_form(apps_others="notes"), follow=True).content.decode()
    assert "Affected: 3 people." in said
    Subscription.objects.update(state="Expired")
    assert holders.count_people(pro) == 0
    pro.plan_id = "free"
    assert holders.people_in_words(pro) == "0 people, and everyone without a subscription"


# --- Invitations to organizations ---


def invite(browser: Browser, organization: Organization, address: str) -> str:
    path = f"/admin/accounts/organization/{organization.pk}/do/invite/"
    response = browser.post(path, {"email": address}, follow=True)
    assert response.status_code == 200
    return response.content.decode()


def test_an_operator_invites_and_withdraws(operator: Browser, person: Account) -> None:
    acme = organization_of(person)
    assert "new@example.com is invited" in invite(operator, acme, "New@Example.com")
    row = Invitation.objects.get()
    assert (row.organization, row.email) == (acme, "new@example.com")
    mail = Outbox.objects.get()
    assert mail.to == "new@example.com"
    assert "Acme offers you a seat" in mail.body
    assert "op@example.com" not in mail.body + mail.subject
    assert "new@example.com" in operator.get("/admin/accounts/invitation/").content.decode()
    withdrawn = operator.post(f"/admin/accounts/invitation/{row.pk}/do/withdraw/", follow=True)
    assert withdrawn.status_code == 200
    assert not Invitation.objects.open().exists()
    assert f"{person.email} is already a member" in invite(operator, acme, person.email)
    assert Outbox.objects.get() == mail


@pytest.mark.parametrize(
    "address", ["", "x\x00@example.com", "x@example.com\r\nBcc: y@example.com", "x" * 300 + "@a.com"]
)
def test_an_invalid_email_address_shows_an_error(operator: Browser, person: Account, address: str) -> None:
    operator.raise_request_exception = False
    invite(operator, organization_of(person), address)
    assert not Outbox.objects.exists()
    assert not Invitation.objects.exists()
