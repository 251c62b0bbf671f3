"""The limit of people is the project's: more clients, deleted ones and other hosts give no further places."""

from typing import Any

import pytest
from django.test import Client as Browser

from accounts.models import Account
from core import clock
from oidc.authorization import consent, user_cap
from oidc.clients.registration import create_client, delete_client
from oidc.errors import UserCapExceeded
from oidc.models import Client, Connection, Project, ProjectMember, TakenPlace
from oidc.projects import members
from oidc.projects.people import people_counted
from oidc.projects.roles import Role
from tests.factories import REDIRECT_URI, as_reviewed, make_account, make_client, make_project
from tests.relying_party import RelyingParty, answer_of, sign_in

CAP = 3
FOREIGN = "https://elsewhere.test/callback"


@pytest.fixture(autouse=True)
def small_limit(settings: Any) -> None:
    settings.UNVERIFIED_APP_PEOPLE = CAP


@pytest.fixture
def owner(db: None) -> Account:
    return make_account("owner@example.com")


@pytest.fixture
def project(owner: Account) -> Project:
    return make_project(owner)


def join(client: Client, *people: Account, count: int = 0) -> list[Account]:
    joined = [*people, *(make_account() for _ in range(count))]
    for person in joined:
        consent.record_consent(person, client, ["openid"])
    return joined


def is_refused(person: Account, client: Client, redirect_uri: str = "") -> bool:
    """Return whether a person is refused by a client; both questions that the service asks have the same answer."""
    outside = "elsewhere.test" if redirect_uri else ""
    is_full = user_cap.is_user_cap_reached(person, client, outside)
    try:
        consent.record_consent(person, client, ["openid"], redirect_uri=redirect_uri)
    except UserCapExceeded:
        assert is_full
        return True
    assert not is_full
    return False


# --- More clients ---


def test_people_are_counted_over_all_unreviewed_apps_of_a_project(project: Project) -> None:
    apps = [make_client(project, name=f"App {letter}") for letter in "abcd"]
    for app in apps[:CAP]:
        join(app, count=1)
    assert people_counted(project) == CAP
    assert all(is_refused(make_account(), app) for app in apps)


def test_a_person_takes_one_place_in_a_project_however_many_of_its_apps_they_use(project: Project) -> None:
    apps = [make_client(project, name=f"App {letter}") for letter in "abcd"]
    people = join(apps[0], count=CAP)
    for app in apps[1:]:
        join(app, *people)
    assert people_counted(project) == CAP
    assert is_refused(make_account(), apps[-1])


def test_other_projects_have_their_own_limit(project: Project) -> None:
    join(make_client(project), count=CAP)
    assert not is_refused(make_account(), make_client(make_project(name="Elsewhere")))


def test_the_page_of_a_full_project_comes_before_consent(project: Project, db: None) -> None:
    join(make_client(project), count=CAP)
    fresh = RelyingParty(make_client(project, name="Fresh"), sign_in(Browser(), make_account()))
    response = fresh.authorize()
    assert response.status_code == 403
    assert "Fresh can’t take more people yet" in response.content.decode()
    assert answer_of(fresh.authorize(prompt="none"))["error"] == "consent_required"


# --- Deleting ---


def test_deleting_and_recreating_a_client_frees_no_place(project: Project, owner: Account) -> None:
    for _ in range(2):
        app = create_client(project, owner, "Orbit Notes", "spa", [REDIRECT_URI])
        join(app, count=1)
        delete_client(app, owner)
    app = create_client(project, owner, "Orbit Notes", "spa", [REDIRECT_URI])
    assert people_counted(project) == CAP - 1
    assert not is_refused(make_account(), app)
    assert is_refused(make_account(), app)


def test_owners_of_a_deleted_client_take_no_place_of_its_people(project: Project, owner: Account) -> None:
    """Otherwise each deletion would free as many places as the project has owners who use the app."""
    app, owners = make_client(project), [owner, *(make_account() for _ in range(2))]
    for account in owners[1:]:
        ProjectMember.objects.create(project=project, account=account, role=ProjectMember.Role.OWNER)
    join(app, *owners, count=CAP)
    delete_client(app, owner)
    assert people_counted(project) == CAP
    assert is_refused(make_account(), make_client(project))


def test_people_of_a_deleted_client_come_back_to_its_successor(project: Project, owner: Account) -> None:
    app = make_client(project)
    people = join(app, count=CAP)
    delete_client(app, owner)
    successor = make_client(project)
    assert not any(is_refused(person, successor) for person in people)
    assert people_counted(project) == CAP
    assert is_refused(make_account(), successor)


def test_deleting_an_app_twice_counts_its_people_once(project: Project, owner: Account) -> None:
    people = [make_account() for _ in range(CAP - 1)]
    for _ in range(3):
        app = make_client(project)
        join(app, *people)
        delete_client(app, owner)
    assert people_counted(project) == CAP - 1


def test_removing_the_app_and_deleting_it_frees_no_place(project: Project, owner: Account) -> None:
    app = make_client(project)
    join(app, count=CAP)
    for row in Connection.objects.filter(client=app):
        consent.remove_consent(row)
    delete_client(app, owner)
    assert is_refused(make_account(), make_client(project))


def test_a_deleted_account_counts_once_in_each_project(project: Project, owner: Account) -> None:
    first, second = make_client(project), make_client(project, name="Second")
    elsewhere = make_client(make_project(name="Elsewhere"))
    (person,) = join(first, count=1)
    join(second, person)
    join(elsewhere, person)
    person.delete()
    assert (people_counted(project), people_counted(elsewhere.project)) == (1, 1)
    for app in (first, second):
        delete_client(app, owner)
    assert people_counted(project) == 1
    assert not TakenPlace.objects.exclude(account=None).exists(), "nobody is named"


def test_an_account_that_is_deleted_after_its_app_counts_once(project: Project, owner: Account) -> None:
    app = make_client(project)
    (person,) = join(app, count=1)
    delete_client(app, owner)
    join(make_client(project), person)
    person.delete()
    assert people_counted(project) == 1


def test_a_reviewed_app_that_is_deleted_leaves_no_places(project: Project, owner: Account) -> None:
    app = make_client(project, **as_reviewed())
    join(app, count=CAP + 2)
    delete_client(app, owner)
    assert people_counted(project) == 0


# --- Review and its end ---


def test_a_review_frees_the_places_of_its_app(project: Project) -> None:
    reviewed, other = make_client(project), make_client(project, name="Other")
    people = join(reviewed, count=CAP)
    assert is_refused(make_account(), other)
    Client.objects.filter(pk=reviewed.pk).update(**as_reviewed())
    assert people_counted(project) == 0
    join(other, people[0], *[make_account() for _ in range(CAP - 1)])
    assert is_refused(make_account(), other)


def test_an_app_that_loses_its_review_brings_its_people_back_into_the_count(project: Project) -> None:
    app, other = make_client(project, **as_reviewed()), make_client(project, name="Other")
    people = join(app, count=CAP + 2)
    (elsewhere,) = join(other, count=1)
    Client.objects.filter(pk=app.pk).update(verified_at=None)
    app.refresh_from_db()
    assert people_counted(project) == CAP + 3
    assert all(is_refused(make_account(), one) for one in (app, other))
    assert not any(is_refused(person, app) for person in people), "existing users keep access"
    assert not is_refused(elsewhere, other)


def test_existing_users_of_several_full_apps_keep_access(project: Project) -> None:
    """As it may be after an upgrade: each client had its own count before."""
    apps = [make_client(project, name=f"App {letter}") for letter in "ab"]
    people = [[make_account() for _ in range(CAP)] for _ in apps]
    now = clock.now()
    for app, group in zip(apps, people, strict=True):
        for person in group:
            Connection.objects.create(
                account=person, client=app, scopes="openid", first_authorized_at=now, last_authorized_at=now
            )
    assert people_counted(project) == 2 * CAP
    for app, group in zip(apps, people, strict=True):
        assert not any(is_refused(person, app) for person in group)
        assert is_refused(make_account(), app)


def test_people_who_come_through_a_host_outside_of_a_review_count_in_the_project(project: Project) -> None:
    reviewed = make_client(project, redirect_uris=f"{REDIRECT_URI} {FOREIGN}", **as_reviewed())
    other = make_client(project, name="Other")
    join(other, count=CAP - 1)
    assert not is_refused(make_account(), reviewed, FOREIGN)
    assert is_refused(make_account(), reviewed, FOREIGN)
    assert is_refused(make_account(), other)
    assert not is_refused(make_account(), reviewed), "at home it has no limit"


def test_many_reviewed_apps_with_other_hosts_give_no_further_places(project: Project) -> None:
    apps = [make_client(project, redirect_uris=f"{REDIRECT_URI} {FOREIGN}", **as_reviewed()) for _ in range(CAP + 1)]
    assert [is_refused(make_account(), app, FOREIGN) for app in apps] == [False] * CAP + [True]


# --- Owners ---


def test_owners_take_no_place_and_are_never_refused(project: Project, owner: Account) -> None:
    app = make_client(project)
    join(app, owner, count=CAP)
    assert people_counted(project) == CAP
    assert not is_refused(owner, make_client(project, name="Other"))


def test_a_former_owner_counts_after_a_transfer_and_keeps_access(project: Project, owner: Account) -> None:
    app = make_client(project)
    heir = make_account("heir@example.com")
    member = ProjectMember.objects.create(project=project, account=heir, role=Role.DEVELOPER)
    join(app, owner, heir, count=CAP - 1)
    assert people_counted(project) == CAP
    members.transfer_ownership(project, member, owner)
    assert people_counted(project) == CAP, "the former owner counts, the new one does not"
    assert not is_refused(owner, app)
    members.leave_project(project, owner)
    assert people_counted(project) == CAP


def test_an_owner_who_used_a_deleted_client_counts_after_a_transfer(project: Project, owner: Account) -> None:
    app = make_client(project)
    join(app, owner)
    delete_client(app, owner)
    assert people_counted(project) == 0
    member = ProjectMember.objects.create(project=project, account=make_account(), role=Role.DEVELOPER)
    members.transfer_ownership(project, member, owner)
    assert people_counted(project) == 1


def test_people_who_joined_outside_of_a_review_count_after_removal_and_deletion(
    project: Project, owner: Account
) -> None:
    reviewed = make_client(project, redirect_uris=f"{REDIRECT_URI} {FOREIGN}", **as_reviewed())
    people = [make_account() for _ in range(CAP)]
    rows = [consent.record_consent(one, reviewed, ["openid"], redirect_uri=FOREIGN) for one in people]
    consent.remove_consent(rows[0])
    people[1].delete()
    assert people_counted(project) == CAP
    delete_client(reviewed, owner)
    assert people_counted(project) == CAP
    assert is_refused(make_account(), make_client(project))
