"""The plan page with invitations, a family and seats; and what each of its buttons does, for whom."""

import re
from typing import Any

import pytest
from django.core import mail
from django.test import Client as Browser

from accounts.models import Account, Family, Invitation, Outbox, Plan
from accounts.plans import invitations, members
from tests.accounts.plans.factories import family_of, make_operator, make_plan, organization_of, subscribe
from tests.factories import PASSWORD, make_account

pytestmark = pytest.mark.django_db
Captured = Any


def signed_in_as(account: Account) -> Browser:
    browser = Browser()
    response = browser.post("/account/login/", {"login": account.email, "password": PASSWORD})
    assert response.status_code == 302, response.content
    return browser


@pytest.fixture
def owner(db: None) -> Account:
    return make_account("grace@example.com", given_name="Grace", family_name="Hopper")


@pytest.fixture
def family(owner: Account) -> Family:
    return family_of(owner)


@pytest.fixture
def as_owner(owner: Account) -> Browser:
    return signed_in_as(owner)


def page(browser: Browser) -> str:
    response = browser.get("/account/plan")
    assert response.status_code == 200
    return response.content.decode()


def said(response: Any) -> str:
    """What the plan page says after a step that leads there."""
    assert response.redirect_chain == [("/account/plan", 302)]
    (sentence,) = re.findall(r'<li class="alert alert--\w+">(.*?)</li>', response.content.decode())
    return str(sentence)


def step(browser: Browser, path: str, **values: str) -> str:
    return said(browser.post(f"/account/plan/{path}", values, follow=True))


# --- The whole way ---


def test_an_invitation_is_sent_and_accepted(
    as_owner: Browser,
    family: Family,
    pro: Plan,
    person: Account,
    signed_in: Browser,
    django_capture_on_commit_callbacks: Captured,
) -> None:
    subscribe(family, pro)
    assert "No paid plan" in page(signed_in)
    with django_capture_on_commit_callbacks(execute=True):
        assert "ada@example.com has been invited" in step(as_owner, "family/invite", email="Ada@Example.com")
    assert [message.to for message in mail.outbox] == [["ada@example.com"]]
    assert "Invited, open until" in page(as_owner)
    row = Invitation.objects.get()
    assert "grace@example.com has invited you to their family" in page(signed_in)
    assert "share its plan" in step(signed_in, f"invitations/{row.pk}/accept")
    text = page(signed_in)
    assert "invites you" not in text
    assert text.count("Grace’s family (grace@example.com)") == 3  # through whom, and in the list
    assert "Ada Lovelace" in page(as_owner)
    member = family.members.get(account=person)
    question = as_owner.get(f"/account/plan/family/members/{member.pk}/remove").content.decode()
    assert "immediately" in question
    assert "no longer in your family" in step(as_owner, f"family/members/{member.pk}/remove")
    assert "No paid plan" in page(signed_in)


def test_a_seat_is_offered_taken_and_given_back(signed_in: Browser, person: Account, pro: Plan) -> None:
    acme = organization_of(name="Acme <b>")
    subscribe(acme, pro)
    row = invitations.invite(acme, person.email, make_operator("op@example.com"))
    text = page(signed_in)
    assert "Acme &lt;b&gt; offers you a seat" in text
    assert "op@example.com" not in text
    step(signed_in, f"invitations/{row.pk}/accept")
    assert "Your seat at Acme" in page(signed_in)
    assert "immediately" in signed_in.get(f"/account/plan/organizations/{acme.pk}/leave").content.decode()
    assert "You have left Acme" in step(signed_in, f"organizations/{acme.pk}/leave")
    assert "No paid plan" in page(signed_in)


@pytest.mark.parametrize("how", ["declined", "withdrawn"])
def test_an_invitation_that_was_declined_or_withdrawn_is_no_longer_open(
    how: str, signed_in: Browser, person: Account, family: Family, owner: Account, as_owner: Browser
) -> None:
    row = invitations.invite(family, person.email, owner)
    browser, path = (
        (signed_in, "invitations/{}/decline") if how == "declined" else (as_owner, "family/invitations/{}/withdraw")
    )
    assert how in step(browser, path.format(row.pk))
    assert "invites you" not in page(signed_in)
    assert person.email not in page(as_owner)
    assert "no longer open" in step(signed_in, f"invitations/{row.pk}/accept")


def test_leaving_a_family(signed_in: Browser, person: Account, family: Family) -> None:
    members.add_member(family, person)
    assert "You have left Grace’s family (grace@example.com)" in step(signed_in, f"families/{family.pk}/leave")
    assert signed_in.post(f"/account/plan/families/{family.pk}/leave").status_code == 404


# --- What the pages say ---


def test_the_owner_is_first_and_has_no_button(as_owner: Browser, family: Family, person: Account) -> None:
    members.add_member(family, person)
    text = page(as_owner)
    assert text.index("Grace Hopper") < text.index("Ada Lovelace")
    assert text.count("/remove") == 1
    assert "2 of 6 places taken" in text
    assert "Shared with you" not in text


def test_a_member_sees_neither_other_members_nor_invitations(
    signed_in: Browser, person: Account, family: Family, owner: Account
) -> None:
    members.add_member(family, person)
    members.add_member(family, make_account("third@example.com"))
    invitations.invite(family, "fourth@example.com", owner)
    text = page(signed_in)
    assert "third@example.com" not in text
    assert "fourth@example.com" not in text


def test_errors_are_shown_at_the_field(as_owner: Browser, family: Family, person: Account, settings: Any) -> None:
    members.add_member(family, person)
    for address, words in (
        ("", "This field is required"),
        ("nobody", "Enter a valid email address"),
        ("ada@example.com", "ada@example.com is already a member"),
    ):
        response = as_owner.post("/account/plan/family/invite", {"email": address})
        assert response.status_code == 200
        assert words in response.content.decode()
        assert 'aria-invalid="true"' in response.content.decode()
    settings.FAMILY_MEMBERS = 2
    assert "Your family is full" in page(as_owner)
    response = as_owner.post("/account/plan/family/invite", {"email": "x@example.com"})
    assert "up to 2 people" in response.content.decode()
    assert not Invitation.objects.exists()


def test_known_and_unknown_addresses_look_the_same(as_owner: Browser, family: Family, person: Account) -> None:
    known = step(as_owner, "family/invite", email=person.email)
    unknown = step(as_owner, "family/invite", email="nobody@example.com")
    assert known.replace(person.email, "nobody@example.com") == unknown


# --- Who may not: tests/security/test_crawl.py has the rest ---

STEPS = (
    "invitations/{invitation}/accept",
    "invitations/{invitation}/decline",
    "family/invite",
    "family/invitations/{invitation}/withdraw",
    "family/members/{member}/remove",
    "families/{family}/leave",
    "organizations/{organization}/leave",
)


@pytest.fixture
def paths(family: Family, owner: Account, person: Account) -> list[str]:
    members.add_member(family, person)
    keys = {
        "invitation": invitations.invite(family, "invited@example.com", owner).pk,
        "member": family.members.get(account=person).pk,
        "family": family.pk,
        "organization": organization_of(person).pk,
    }
    return [f"/account/plan/{path.format(**keys)}" for path in STEPS]


def test_the_owner_stays(as_owner: Browser, family: Family, owner: Account) -> None:
    own = family.members.get(account=owner)
    for path in (f"family/members/{own.pk}/remove", f"families/{family.pk}/leave"):
        assert as_owner.post(f"/account/plan/{path}").status_code == 404
        assert as_owner.get(f"/account/plan/{path}").status_code == 404
    assert family.members.count() == 1


def test_missing_objects_are_404(as_owner: Browser, family: Family) -> None:
    for path in STEPS:
        if path != "family/invite":
            for key in ("0", "9" * 30):
                keys = dict.fromkeys(("invitation", "member", "family", "organization"), key)
                assert as_owner.post(f"/account/plan/{path.format(**keys)}").status_code == 404, path


def test_with_an_external_plan_source_groups_have_no_effect(as_owner: Browser, paths: list[str], settings: Any) -> None:
    settings.PLAN_SOURCE_URL = "https://billing.example.com/"
    for path in paths:
        assert as_owner.post(path, {"email": "x@example.com"}).status_code == 404


# --- The account's home, and the owner's mail ---


def test_the_home_page_shows_an_invitation(family: Family, owner: Account, person: Account) -> None:
    row = invitations.invite(family, person.email, owner)
    browser = signed_in_as(person)
    home = browser.get("/account/").content.decode()
    assert "grace@example.com has invited you to their family" in home
    assert f'action="/account/plan/invitations/{row.pk}/accept"' in home
    browser.post(f"/account/plan/invitations/{row.pk}/accept")
    assert "has invited you" not in browser.get("/account/").content.decode()


def test_the_owner_gets_one_mail_when_someone_accepts(family: Family, owner: Account, person: Account) -> None:
    row = invitations.invite(family, person.email, owner)
    for _ in range(2):
        invitations.accept(row.pk, person)
    [joined] = Outbox.objects.filter(to=owner.email, subject__contains="Someone joined your family")
    assert f"{person.email} has accepted your invitation" in joined.body


def test_a_seat_of_an_organization_sends_no_such_mail(person: Account) -> None:
    acme, operator = organization_of(name="Acme"), make_operator()
    row = invitations.invite(acme, person.email, operator)
    invitations.accept(row.pk, person)
    assert not Outbox.objects.filter(subject__contains="joined").exists()


def test_the_plan_page_names_apps_in_words(owner: Account) -> None:
    subscribe(owner, make_plan("pro", apps=["shared_notes"]), "Active")
    text = page(signed_in_as(owner))
    assert "Shared notes" in text
    assert "shared_notes" not in text
