"""What operators do with people: each act has a page that names its consequence, and stands in the audit."""

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.test import Client as Browser
from django.test import RequestFactory

from accounts.admin.people import _delete, _give_roles, _set_active
from accounts.models import Account
from accounts.roles import is_operator, is_reviewer, set_roles
from core.admin.actions import ActionRefused
from devportal.console.models import AuditEvent
from oidc.models import TokenFamily
from tests.devportal.admin.conftest import World, last_event, make_staff
from tests.exports import unzipped
from tests.factories import PASSWORD, make_account, make_project


def act(browser: Browser, row: Account, name: str, **form: Any) -> Any:
    return browser.post(f"/admin/accounts/account/{row.pk}/do/{name}/", form, follow=True)


def test_deactivating_ends_everything_and_says_why(
    as_operator: Browser, operator: Account, world: World, client: Browser
) -> None:
    assert client.get("/account/").status_code == 200
    response = act(as_operator, world.person, "deactivate", reason="Sold as stolen goods")
    assert "can no longer sign in" in response.content.decode().replace("&#x27;", "'")
    assert not Account.objects.get(pk=world.person.pk).is_active
    assert not TokenFamily.objects.filter(revoked_at=None).exists()
    assert client.get("/account/").status_code == 302
    event = last_event()
    assert (event.action, event.actor, event.target) == (
        "account.deactivated",
        operator,
        f"account:{world.person.pk}",
    )
    assert (event.before, event.after) == ({"is_active": True}, {"is_active": False})
    assert event.details == {"reason": "Sold as stolen goods"}
    assert "not possible now" in act(as_operator, world.person, "deactivate", reason="Again").content.decode()
    assert AuditEvent.objects.filter(action="account.deactivated").count() == 1
    act(as_operator, world.person, "activate")
    assert Account.objects.get(pk=world.person.pk).is_active
    assert last_event().action == "account.activated"
    assert not TokenFamily.objects.filter(revoked_at=None).exists()


@pytest.mark.parametrize("reason", [None, "", " \n\t", "\x00", "x" * 2001, "\U0001f419" * 2001])
def test_a_reason_is_required(as_operator: Browser, person: Account, reason: str | None) -> None:
    response = act(as_operator, person, "deactivate", **({} if reason is None else {"reason": reason}))
    assert response.status_code == 200
    person.refresh_from_db()
    assert person.is_active


def test_an_export_is_the_persons_own(as_operator: Browser, operator: Account, world: World) -> None:
    response = act(as_operator, world.person, "export")
    assert response["Content-Type"] == "application/zip"
    assert "attachment" in response["Content-Disposition"]
    assert "no-store" in response["Cache-Control"]
    document = json.loads(unzipped(b"".join(response.streaming_content))["your-data.json"])
    assert document["profile"]["email"] == world.person.email
    assert document["connected_apps"][0]["app"] == "Beacon"
    assert (last_event().action, last_event().actor) == ("account.exported", operator)


def test_the_last_owner_of_a_project_is_not_deleted(as_operator: Browser, world: World) -> None:
    response = act(as_operator, world.person, "delete", reason="Asked us to")
    assert "Lighthouse" in response.content.decode()
    assert Account.objects.filter(pk=world.person.pk).exists()
    assert not AuditEvent.objects.filter(action="account.deleted").exists()


def test_a_deletion_leaves_no_name_in_the_admin(as_operator: Browser, operator: Account) -> None:
    person = make_account("gone@example.com", given_name="Gwendolyn")
    form = {"given_name": "Gwen", "family_name": "Away"}
    as_operator.post(f"/admin/accounts/account/{person.pk}/change/", form)
    key = person.pk
    response = act(as_operator, person, "delete", reason="Asked us to")
    assert response.redirect_chain[-1][0] == "/admin/accounts/account/"
    assert not Account.objects.filter(pk=key).exists()
    assert not EmailAddress.objects.filter(email="gone@example.com").exists()
    actions = list(AuditEvent.objects.filter(target=f"account:{key}").values_list("action", flat=True).order_by("pk"))
    assert actions == ["admin.changed", "account.deleted"]
    told = json.dumps(list(AuditEvent.objects.values()), default=str)
    for word in ("gone@example.com", "Gwendolyn", "Gwen", "Away"):
        assert word not in told
    assert not LogEntry.objects.exists()


def test_operators_can_not_act_on_themselves(as_operator: Browser, operator: Account) -> None:
    for name in ("deactivate", "delete"):
        act(as_operator, operator, name, reason="Mistake")
    operator.refresh_from_db()
    assert operator.is_active


def test_an_operator_does_not_act_on_a_superuser(as_operator: Browser, superuser: Account) -> None:
    for name in ("deactivate", "delete", "roles"):
        act(as_operator, superuser, name, reason="Mistake", roles=[])
    superuser.refresh_from_db()
    assert superuser.is_active
    assert superuser.is_superuser


def test_only_superusers_can_give_roles(
    as_operator: Browser, as_superuser: Browser, superuser: Account, person: Account
) -> None:
    act(as_operator, person, "roles", roles=["operator"])
    person = Account.objects.get(pk=person.pk)
    assert not person.is_staff
    act(as_superuser, person, "roles", roles=["reviewer"])
    person = Account.objects.get(pk=person.pk)
    assert is_reviewer(person)
    assert not is_operator(person)
    event = last_event()
    assert (event.action, event.actor) == ("account.roles_changed", superuser)
    assert (event.before, event.after) == ({"roles": []}, {"roles": ["reviewer"]})
    act(as_superuser, person, "roles", roles=[])
    assert not Account.objects.get(pk=person.pk).is_staff
    act(as_superuser, person, "roles", roles=["king"])
    assert not Account.objects.get(pk=person.pk).is_staff


def test_removing_a_role_closes_the_admin_immediately(
    operator: Account, browser_of: Callable[[Account], Browser]
) -> None:
    browser = browser_of(operator)
    assert browser.get("/admin/accounts/account/").status_code == 200
    set_roles(operator, [])
    assert browser.get("/admin/accounts/account/").status_code == 302


def test_deactivated_accounts_have_no_roles(db: None) -> None:
    account = make_staff("off@example.com", "operator", "reviewer")
    account.is_active = False
    account.save()
    fresh = Account.objects.get(pk=account.pk)
    assert not is_operator(fresh)
    assert not fresh.has_perm("accounts.view_account")
    assert fresh.get_all_permissions() == set()


def test_people_without_roles_have_no_permissions(person: Account) -> None:
    person.is_staff = True
    person.save()
    assert not person.has_perm("accounts.view_account")
    assert not person.has_module_perms("accounts")


def test_read_only_fields_are_ignored_in_forms(as_operator: Browser, person: Account) -> None:
    before: dict[str, Any] = dict(Account.objects.values().get(pk=person.pk))
    form = {
        "given_name": "Augusta", "family_name": "King", "email": "x@example.com", "password": "x", "is_active": "",
        "email_verified": "", "is_staff": "on", "is_superuser": "on", "id": "1", "picture": "x", "last_login_0": "x",
    }  # fmt: skip
    assert as_operator.post(f"/admin/accounts/account/{person.pk}/change/", form).status_code == 302
    after: dict[str, Any] = dict(Account.objects.values().get(pk=person.pk))
    assert {name for name in after if after[name] != before[name]} == {"given_name", "family_name"}
    person.refresh_from_db()
    assert person.check_password(PASSWORD)
    assert as_operator.get(f"/admin/accounts/account/{person.pk}/password/").status_code in (302, 404)
    assert as_operator.get("/admin/accounts/account/add/").status_code == 403


def test_the_history_page_shows_the_audit_trail(as_operator: Browser, person: Account) -> None:
    act(as_operator, person, "deactivate", reason="Asked us to")
    response = as_operator.get(f"/admin/accounts/account/{person.pk}/history/", follow=True)
    assert response.redirect_chain[0][0].startswith("/admin/console/auditevent/?q=account%3A")
    assert "account.deactivated" in response.content.decode()


def test_unknown_people_are_not_found(as_operator: Browser) -> None:
    for key in ("0", "999999", "x", "9" * 60, "1'--", "%F0%9F%90%99"):
        for end in ("do/deactivate/", "do/no-such/", "history/"):
            assert as_operator.post(f"/admin/accounts/account/{key}/{end}").status_code == 404
        assert as_operator.get(f"/admin/accounts/account/{key}/change/").status_code == 302


def test_a_member_may_be_deleted_once_the_project_has_another_owner(as_operator: Browser) -> None:
    person = make_account("leaver@example.com")
    project = make_project(person)
    project.members.create(account=make_account("heir@example.com"), role="owner")
    act(as_operator, person, "delete", reason="Asked us to")
    assert not Account.objects.filter(email="leaver@example.com").exists()


def _root(**fields: Any) -> Account:
    return make_account(is_staff=True, is_superuser=True, **fields)


def _permitted() -> Account:
    """Someone to whom a superuser gave more than a role, by Django's own tables."""
    account = make_staff("pam@example.com", "operator")
    account.user_permissions.add(Permission.objects.get(codename="change_group"))
    return account


ABOVE: list[Callable[[], Account]] = [
    _root,
    _permitted,
    lambda: make_staff("both@example.com", "operator", "reviewer"),
    lambda: make_staff("rev@example.com", "reviewer"),
    lambda: _root(is_active=False),
]


@pytest.mark.parametrize("make", ABOVE, ids=["superuser", "permitted", "both roles", "reviewer", "closed"])
def test_operators_can_not_change_accounts_with_more_permissions(
    make: Callable[[], Account], as_operator: Browser
) -> None:
    account = make()
    base = f"/admin/accounts/account/{account.pk}"
    before = Account.objects.filter(pk=account.pk).values().get()
    page = admin.site._registry[Account]
    assert as_operator.get(f"{base}/change/").status_code == 200, "they are only looked at"
    assert as_operator.post(f"{base}/change/", {"given_name": "Mallory", "family_name": "M"}).status_code == 403
    for one in page.row_actions:  # type: ignore[attr-defined]
        for method in ("get", "post"):
            form = {"reason": "Because", "roles": ["operator"]}
            assert getattr(as_operator, method)(f"{base}/do/{one.name}/", form).status_code == 403, one.name
    assert f"{base}/do/" not in as_operator.get(f"{base}/change/").content.decode()
    assert Account.objects.filter(pk=account.pk).values().get() == before
    assert not AuditEvent.objects.filter(action__startswith="account.", target=f"account:{account.pk}").exists()


def test_operators_can_change_equals_and_ordinary_accounts(as_operator: Browser) -> None:
    for account in (make_account(), make_staff("ola@example.com", "operator")):
        assert as_operator.get(f"/admin/accounts/account/{account.pk}/do/deactivate/").status_code == 200
        names = {"given_name": "Grace", "family_name": "Hopper"}
        assert as_operator.post(f"/admin/accounts/account/{account.pk}/change/", names).status_code == 302
        account.refresh_from_db()
        assert account.given_name == "Grace"


def test_an_operator_who_was_demoted_meanwhile_changes_nothing(operator: Account, person: Account) -> None:
    request = RequestFactory().post("/")
    request.user = operator
    set_roles(Account.objects.get(pk=operator.pk), [])
    form = SimpleNamespace(cleaned_data={"reason": "Because"})
    for change in (
        lambda: _set_active(request, person, False),
        lambda: _give_roles(request, person, None),
        lambda: _delete(request, person, form),
    ):
        with pytest.raises(ActionRefused):
            change()
    person.refresh_from_db()
    assert person.is_active
    assert not AuditEvent.objects.filter(target=f"account:{person.pk}").exists()
