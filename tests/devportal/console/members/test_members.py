"""The members page: inviting, renewing, withdrawing, roles, removal; for owners, within bounds."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account, Outbox
from devportal.console import members as console_members
from oidc.clients.secrets import create_secret
from oidc.models import Client, Project, ProjectInvitation, ProjectMember
from oidc.projects import invitations
from tests.factories import make_account, make_client, make_key

Role = ProjectMember.Role


def text_of(response: Any) -> str:
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def at(project: Project, path: str = "team") -> str:
    return f"/console/p/{project.public_id}/{path}"


def seat(project: Project, account: Account) -> ProjectMember:
    return ProjectMember.objects.get(project=project, account=account)


def invite(browser: Browser, project: Project, email: str = "ines@example.com", role: str = "viewer") -> Any:
    return browser.post(at(project), {"email": email, "role": role})


def test_members_are_shown_to_all_and_invitations_to_owners(
    as_owner: Browser, as_viewer: Browser, project: Project, owner: Account
) -> None:
    invitations.invite(project, "ines@example.com", "viewer", owner)
    for browser in (as_owner, as_viewer):
        text = text_of(browser.get(at(project)))
        assert all(f"{name}@example.com" in text for name in ("olga", "dan", "vera"))
    assert "ines@example.com" in text_of(as_owner.get(at(project)))
    for_viewers = text_of(as_viewer.get(at(project)))
    assert "ines@example.com" not in for_viewers
    assert "Invite" not in for_viewers
    assert not re.search(rf"{at(project, 'team/')}\d", for_viewers)


def test_an_owner_invites(as_owner: Browser, project: Project) -> None:
    response = invite(as_owner, project, " Ines@Example.com ", "developer")
    assert response["Location"] == at(project)
    row = ProjectInvitation.objects.get()
    assert (row.email, row.role) == ("ines@example.com", "developer")
    assert Outbox.objects.get().to == "ines@example.com"
    assert "ines@example.com is invited" in text_of(as_owner.get(at(project)))


def test_known_and_unknown_addresses_look_the_same(as_owner: Browser, project: Project, outsider: Account) -> None:
    pages = []
    for address in (outsider.email, "nobody@example.com"):
        invite(as_owner, project, address)
        pages.append(text_of(as_owner.get(at(project))).replace(address, "…").split("is invited")[0].split("<main")[1])
        ProjectInvitation.objects.all().delete()
    assert pages[0] == pages[1]


@pytest.mark.parametrize(
    "email",
    [
        "",
        "a@b",
        "a@example.com, b@example.com",
        "a@example.com\nBcc: x@example.com",
        "x" * 250 + "@example.com",
        "\uff41@example.com",  # a wide letter
        "<script>@example.com",
    ],
)
def test_an_invalid_email_address_shows_an_error_at_the_field(as_owner: Browser, project: Project, email: str) -> None:
    text = text_of(invite(as_owner, project, email))
    assert 'class="field__errors"' in text
    assert not ProjectInvitation.objects.exists()
    assert not Outbox.objects.exists()


@pytest.mark.parametrize("role", ["", "Owner", "owner\x00"])
def test_an_unknown_role_is_rejected(as_owner: Browser, project: Project, role: str) -> None:
    response = invite(as_owner, project, role=role)
    assert response.status_code in (200, 400)
    assert not ProjectInvitation.objects.exists()


def test_an_invitation_that_gets_another_role_says_so(as_owner: Browser, project: Project) -> None:
    url = at(project)
    as_owner.post(url, {"email": "grace@example.com", "role": "viewer"})
    page = text_of(as_owner.post(url, {"email": "grace@example.com", "role": "viewer"}, follow=True))
    assert "with another role" not in page
    page = text_of(as_owner.post(url, {"email": "grace@example.com", "role": "developer"}, follow=True))
    assert "There was an open invitation with another role. The role is now developer." in page


def test_a_member_is_not_invited(as_owner: Browser, project: Project) -> None:
    assert "dan@example.com is already a member" in text_of(invite(as_owner, project, "Dan@example.com"))


def test_too_many_invitations_show_an_error(as_owner: Browser, project: Project, settings: Any) -> None:
    settings.INVITATIONS_PER_HOUR = 1
    invite(as_owner, project)
    assert "many invitations in one hour" in text_of(invite(as_owner, project, "more@example.com"))
    settings.INVITATIONS_PER_HOUR, settings.MEMBERS_PER_PROJECT = 20, 4
    assert "at most 4 members" in text_of(invite(as_owner, project, "more@example.com"))


def test_an_invitation_is_renewed_and_withdrawn(
    as_owner: Browser, project: Project, owner: Account, later: Any
) -> None:
    row = invitations.invite(project, "ines@example.com", "developer", owner)
    later(8 * 24 * 3600)
    assert "Expired" in text_of(as_owner.get(at(project)))
    as_owner.post(at(project, f"invitations/{row.pk}/renew"), {"role": "owner"})
    row.refresh_from_db()
    assert (row.is_open, row.role) == (True, "developer")
    assert Outbox.objects.count() == 2
    as_owner.post(at(project, f"invitations/{row.pk}/withdraw"))
    row.refresh_from_db()
    assert not row.is_open
    assert "is withdrawn" in text_of(as_owner.get(at(project)))


def test_an_invitation_answered_meanwhile_shows_a_message(as_owner: Browser, project: Project, owner: Account) -> None:
    ines = make_account("ines@example.com")
    row = invitations.invite(project, ines.email, "viewer", owner)
    invitations.accept(row.pk, ines)
    for act in ("renew", "withdraw"):
        as_owner.post(at(project, f"invitations/{row.pk}/{act}"))
        assert "This changed in the meantime" in text_of(as_owner.get(at(project)))
    assert seat(project, ines).role == Role.VIEWER


@pytest.mark.parametrize("other", ["withdraw", "decline", "other role"])
def test_a_renewal_at_the_moment_of_another_change_undoes_nothing(
    other: str, as_owner: Browser, project: Project, owner: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    nina = make_account("nina@example.com")
    row = invitations.invite(project, nina.email, "owner", owner)
    changes: dict[str, Callable[[], Any]] = {
        "withdraw": lambda: invitations.withdraw(row, owner),
        "decline": lambda: invitations.decline(row.pk, nina),
        "other role": lambda: invitations.invite(project, nina.email, "viewer", owner),
    }
    find = console_members._invitation

    def find_before_the_change(*args: Any) -> ProjectInvitation:
        found = find(*args)
        changes[other]()
        return found

    monkeypatch.setattr(console_members, "_invitation", find_before_the_change)
    text = as_owner.post(at(project, f"invitations/{row.pk}/renew"), follow=True).content.decode()
    row.refresh_from_db()
    if other == "other role":
        assert (row.is_open, row.role) == (True, "viewer")
    else:
        assert not row.is_open
        assert "This changed in the meantime." in text


def test_an_owner_changes_a_role(as_owner: Browser, project: Project, developer: Account, owner: Account) -> None:
    url = at(project, f"team/{seat(project, developer).pk}")
    assert 'value="developer" checked' in text_of(as_owner.get(url))
    assert as_owner.post(url, {"role": "viewer", "account": owner.pk, "project": 1})["Location"] == at(project)
    assert seat(project, developer).role == Role.VIEWER
    assert "dan@example.com is now a viewer" in text_of(as_owner.get(at(project)))


@pytest.mark.parametrize("role", ["", "OWNER"])
def test_invalid_roles_are_rejected(as_owner: Browser, project: Project, developer: Account, role: str) -> None:
    text = text_of(as_owner.post(at(project, f"team/{seat(project, developer).pk}"), {"role": role}))
    assert 'class="field__errors"' in text
    assert seat(project, developer).role == Role.DEVELOPER


def test_the_last_owner_sees_what_to_do_first(as_owner: Browser, project: Project, owner: Account) -> None:
    own = seat(project, owner)
    for path, data in ((f"team/{own.pk}", {"role": "viewer"}), (f"team/{own.pk}/remove", {})):
        response = as_owner.post(at(project, path), data, follow=True)
        assert "Make someone else an owner first" in text_of(response)
    assert seat(project, owner).role == Role.OWNER


def test_removed_members_lose_access_and_their_keys(
    as_owner: Browser, as_developer: Browser, project: Project, developer: Account
) -> None:
    key, _ = make_key(project, developer)
    as_owner.post(at(project, f"team/{seat(project, developer).pk}/remove"))
    key.refresh_from_db()
    assert key.revoked_at is not None
    assert as_developer.get(at(project)).status_code == 404
    assert "their API keys here have ended" in text_of(as_owner.get(at(project)))


def test_the_new_email_address_of_a_former_member_is_not_shown(
    as_owner: Browser, project: Project, developer: Account
) -> None:
    key, _ = make_key(project, developer)
    web = make_client(project, type=Client.Type.WEB)
    secret, _ = create_secret(web, developer)
    as_owner.post(at(project, f"team/{seat(project, developer).pk}/remove"))
    Account.objects.filter(pk=developer.pk).update(email="private@example.org")
    settings = at(project, f"clients/{web.client_id}/")
    keys = at(project, "keys")
    for path in (keys, f"{keys}/{key.public_id}/revoke", settings, f"{settings}secrets/{secret.pk}/end"):
        text = text_of(as_owner.get(path))
        assert "private@example.org" not in text
        assert "omeone who is no longer a member" in text
    assert key.masked not in text_of(as_owner.get(f"{keys}?q=private"))


def test_an_owner_may_remove_themselves_while_another_one_stays(
    as_owner: Browser, project: Project, owner: Account, developer: Account
) -> None:
    ProjectMember.objects.filter(project=project, account=developer).update(role=Role.OWNER)
    assert as_owner.post(at(project, f"team/{seat(project, owner).pk}/remove"))["Location"] == "/console/"
    assert as_owner.get("/console/").status_code == 200


def test_a_member_of_another_project_is_not_reached(as_owner: Browser, project: Project, outsider: Account) -> None:
    stranger = ProjectMember.objects.get(account=outsider)
    assert as_owner.get(at(project, f"team/{stranger.pk}")).status_code == 404
    assert as_owner.post(at(project, f"team/{stranger.pk}"), {"role": "viewer"}).status_code == 404
    assert as_owner.post(at(project, f"team/{stranger.pk}/remove")).status_code == 404
    stranger.refresh_from_db()
    assert stranger.role == Role.OWNER
