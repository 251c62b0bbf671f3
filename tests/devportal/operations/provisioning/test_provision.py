"""`manage.py provision`: declared state, idempotent, and nothing changed by a bad file."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.core.management import call_command
from django.core.management.base import CommandError

from accounts.models import Account
from accounts.plans.invitations import InvitationNotFound
from api.keys import API_KEYS
from api.models import ApiKey
from core import clock
from devportal.console.models import AuditEvent
from devportal.review.rules.conflicts import Conflict, conflict_of
from oidc.models import Client, Project, ProjectMember
from oidc.projects import invitations, lifecycle
from oidc.tokens.authentication import authenticate_client
from tests.devportal.review.reviewing import make_reviewer
from tests.factories import make_account, make_project

pytestmark = pytest.mark.django_db

FILE = """
[[people]]
email = "Dana@example.com"
password = "a long password 1"
given_name = "Dana"

[[people]]
email = "robin@example.com"
roles = ["reviewer"]

[[projects]]
name = "Orbit"
owner = "dana@example.com"
members = [{email = "robin@example.com", role = "viewer"}]

[[projects.clients]]
name = "Web"
type = "web"
redirect_uris = ["http://localhost:3000/callback"]
approved_scopes = ["account.read"]

[[projects.clients]]
name = "Live"
type = "spa"
redirect_uris = ["http://localhost:3001/a", "http://localhost:3001/b"]
"""


KEY = """
[[projects.api_keys]]
name = "Nightly"
owner = "robin@example.com"
permissions = ["account.read"]
expires = 2031-01-01T00:00:00Z
"""


def optional(scopes: str) -> str:
    return FILE.replace('type = "spa"', f'type = "spa"\noptional_scopes = [{scopes}]')


PERSON = """
[[people]]
email = "sam@example.com"
"""


def provision(tmp_path: Path, text: str, *options: str) -> dict[str, Any]:
    file = tmp_path / "state.toml"
    file.write_text(text)
    out = StringIO()
    call_command("provision", str(file), "--json", *options, stdout=out)
    result: dict[str, Any] = json.loads(out.getvalue())
    return result


def test_it_creates_what_the_file_declares_in_its_order(tmp_path: Path) -> None:
    result = provision(tmp_path, FILE)
    assert list(result) == ["issuer", "base_url", "people", "projects", "apis"]
    assert result["issuer"] == "http://localhost:8000/"
    assert result["people"] == [
        {"email": "dana@example.com", "password": "a long password 1"},
        {"email": "robin@example.com", "password": None},
    ]
    (project,) = result["projects"]
    assert list(project) == ["id", "name", "clients", "api_keys"]
    web, live = project["clients"]
    assert (web["name"], live["name"]) == ("Web", "Live")
    assert live["client_secret"] is None
    assert live["redirect_uris"] == ["http://localhost:3001/a", "http://localhost:3001/b"]
    assert authenticate_client(None, web["client_id"], web["client_secret"]).client is not None
    dana, robin = Account.objects.order_by("email")
    assert dana.check_password("a long password 1")
    assert dana.email_verified
    assert not robin.has_usable_password()
    assert robin.is_staff
    assert not robin.is_superuser
    assert EmailAddress.objects.get(user=dana).primary
    assert {m.role for m in ProjectMember.objects.all()} == {"owner", "viewer"}


def test_a_second_run_shows_no_secret_and_only_rotates_it_when_asked(tmp_path: Path) -> None:
    first, second = provision(tmp_path, FILE), provision(tmp_path, FILE)
    secret = first["projects"][0]["clients"][0].pop("client_secret")
    assert second["projects"][0]["clients"][0].pop("client_secret") is None
    assert second == first
    assert (Account.objects.count(), Project.objects.count(), Client.objects.count()) == (2, 1, 2)
    rotated = provision(tmp_path, FILE, "--rotate-secrets")["projects"][0]["clients"][0]
    assert rotated["client_secret"] not in (None, secret)
    assert Client.objects.get(name="Web").secrets.filter(revoked_at=None).count() == 1


def test_undeclared_objects_stay(tmp_path: Path) -> None:
    provision(tmp_path, FILE)
    Client.objects.filter(name="Web").update(enabled=False)
    dana = Account.objects.get(email="dana@example.com")
    dana.set_password("changed since")
    dana.save()
    provision(tmp_path, FILE.replace('given_name = "Dana"', ""))
    dana.refresh_from_db()
    assert dana.given_name == "Dana"
    assert dana.check_password("changed since")
    client = Client.objects.get(name="Web")
    assert not client.enabled
    assert client.approved_scopes == "account.read"


def test_verifying_an_account_that_was_recovered_brings_no_password_back(tmp_path: Path) -> None:
    account = make_account("sam@example.com", verified=False, last_login=clock.now())
    account.set_unusable_password()
    account.save()
    provision(tmp_path, f'{PERSON}password = "a long password 2"\nemail_verified = true')
    account.refresh_from_db()
    assert account.email_verified
    assert not account.has_usable_password()


def test_a_deleted_project_of_the_same_name_is_not_the_declared_one(tmp_path: Path) -> None:
    provision(tmp_path, FILE)
    dana, old = Account.objects.get(email="dana@example.com"), Project.objects.get()
    lifecycle.delete_project(old, dana)
    new = lifecycle.create_project(dana, "Orbit")
    assert provision(tmp_path, FILE)["projects"][0]["id"] == new.public_id
    assert new.clients.count() == 2


MORE = """
[[projects.api_keys]]
name = "Nightly"
owner = "dana@example.com"
[[projects.clients]]
name = "Events"
type = "web"
redirect_uris = ["https://orbit.example.com/callback"]
backchannel_logout_uri = "https://orbit.example.com/logout"
events_url = "https://orbit.example.com/events"
"""


@pytest.mark.parametrize("option", ["", "--dry-run"])
def test_a_project_that_its_owner_has_deleted_is_not_called_in_place(tmp_path: Path, option: str) -> None:
    provision(tmp_path, FILE)
    lifecycle.delete_project(Project.objects.get(), Account.objects.get(email="dana@example.com"))
    out = StringIO()
    call_command("provision", str(tmp_path / "state.toml"), *filter(None, [option]), stdout=out)
    said = out.getvalue()
    assert "An owner has deleted the project Orbit" in said
    assert ("2 people, 0 projects, 0 clients and 0 APIs are in place." in said) == (option == "")


def test_a_deleted_project_gets_no_credentials_and_keeps_what_the_operator_declares(tmp_path: Path) -> None:
    provision(tmp_path, FILE)
    dana, project = Account.objects.get(email="dana@example.com"), Project.objects.get()
    lifecycle.delete_project(project, dana)
    declared = (
        FILE.replace('name = "Orbit"', 'name = "Orbit"\nsuspended = true\ndomains = ["orbit.example.com"]') + MORE
    )
    (shown,) = provision(tmp_path, declared, "--rotate-secrets")["projects"]
    assert shown["deleted"]
    assert [client["client_secret"] for client in shown["clients"]] == [None, None, None]
    assert shown["api_keys"] == [{"name": "Nightly", "key": None, "owner": "dana@example.com"}]
    assert not ApiKey.objects.exists()
    project.refresh_from_db()
    assert project.is_deleted
    # The owner can't end a suspension by deleting and restoring the project.
    assert project.is_suspended

    lifecycle.restore_project(project, dana)
    (shown,) = provision(tmp_path, declared)["projects"]
    assert "deleted" not in shown
    assert [bool(client["client_secret"]) for client in shown["clients"]] == [True, False, True]
    assert shown["api_keys"][0]["key"]


def test_an_owner_who_gets_another_role_counts_as_a_former_one(tmp_path: Path) -> None:
    """People who share a project with a former owner decide on no app of theirs for a year."""
    provision(tmp_path, FILE.replace('role = "viewer"', 'role = "owner"'))
    robin = ProjectMember.objects.get(account__email="robin@example.com")
    reviewer = make_reviewer()
    ProjectMember.objects.create(project=make_project(robin.account), account=reviewer, role="viewer")
    assert conflict_of(reviewer, robin.project) == Conflict.SHARED_PROJECT
    provision(tmp_path, FILE)
    assert ProjectMember.objects.get(pk=robin.pk).role == "viewer"
    assert conflict_of(reviewer, robin.project) == Conflict.SHARED_PROJECT


OWNER = '[[people]]\nemail = "dana@example.com"\n[[people]]\nemail = "robin@example.com"\n'
PROJECT = '[[projects]]\nname = "Orbit"\nowner = "dana@example.com"\n'
ROBIN = 'members = [{email = "robin@example.com", role = "viewer"}]\n'
CLIENT = '[[projects.clients]]\nname = "Web"\nredirect_uris = ["http://localhost:3000/callback"]\n'


@pytest.mark.parametrize(
    ("text", "where", "keys"),
    [
        # Each run would change the type twice, which ends the secrets and all authorizations.
        (f'{PROJECT}{CLIENT}type = "web"\n{CLIENT}type = "spa"', "projects[0].clients[1].name", "name"),
        # Each run would revoke both keys, and create them again.
        (
            f'{PROJECT}{ROBIN}api_keys = [{{name = "k", owner = "dana@example.com"}}, '
            '{name = "k", owner = "robin@example.com"}]',
            "projects[0].api_keys[1].name",
            "name",
        ),
        (
            PROJECT + ROBIN.replace("]", ', {email = "Robin@example.com", role = "owner"}]'),
            "projects[0].members[1].email",
            "email",
        ),
        (PROJECT + PROJECT, "projects[1].name", "owner and name"),
        ('[[people]]\nemail = "Dana@example.com"', "people[2].email", "email"),
        ('[[families]]\nowner = "dana@example.com"\n' * 2, "families[1].owner", "owner"),
        ('[[organizations]]\nname = "Lantern"\n' * 2, "organizations[1].name", "name"),
        ('[[plans]]\nid = "pro"\ndisplay_name = "Pro"\n' * 2, "plans[1].id", "id"),
    ],
)
def test_nothing_is_declared_twice(tmp_path: Path, text: str, where: str, keys: str) -> None:
    said = f"{where}: another table of this list has the same {keys}"
    with pytest.raises(CommandError, match=f"{re.escape(said)}$"):
        provision(tmp_path, OWNER + text)
    assert not Account.objects.exists()


def test_invitations_of_an_owner_who_gets_another_role_do_not_come_back_with_the_role(tmp_path: Path) -> None:
    as_owner = FILE.replace('role = "viewer"', 'role = "owner"')
    provision(tmp_path, as_owner)
    robin = ProjectMember.objects.get(account__email="robin@example.com")
    invited = make_account()
    invitation = invitations.invite(robin.project, invited.email, "owner", robin.account)
    provision(tmp_path, FILE)
    provision(tmp_path, as_owner)
    with pytest.raises(InvitationNotFound):
        invitations.accept(invitation.pk, invited)


def test_two_owners_of_one_project_can_not_both_declare_it(tmp_path: Path) -> None:
    both = PROJECT + ROBIN.replace("viewer", "owner") + PROJECT.replace("dana", "robin")
    with pytest.raises(CommandError, match=re.escape("projects[1].name: another table of this list is about the same")):
        provision(tmp_path, OWNER + both)
    assert not Account.objects.exists()


def test_optional_scopes(tmp_path: Path) -> None:
    approved = 'approved_scopes = ["account.read"]'
    provision(tmp_path, FILE.replace(approved, f'{approved}\noptional_scopes = ["email", "account.read"]'))
    client = Client.objects.get(name="Web")
    assert client.optional_scopes == "email account.read"
    assert Client.objects.get(name="Live").optional_scopes == ""
    provision(tmp_path, FILE)
    client.refresh_from_db()
    assert client.optional_scopes == "email account.read", "a key that is left out changes nothing"
    provision(tmp_path, FILE.replace(approved, 'optional_scopes = ["account.read"]'))
    client.refresh_from_db()
    assert client.optional_scopes == "account.read", "it was approved before"
    provision(tmp_path, FILE.replace(approved, "optional_scopes = []"))
    client.refresh_from_db()
    assert client.optional_scopes == ""


@pytest.mark.parametrize(
    ("key", "declared", "value", "taken_back", "default"),
    [
        ("least_acr", '"phr"', "phr", '""', ""),
        ("forgive_lost_responses", "true", True, "false", False),
    ],
)
def test_a_setting_of_a_client_is_set_kept_and_taken_back(
    tmp_path: Path, key: str, declared: str, value: Any, taken_back: str, default: Any
) -> None:
    for line, expected in ((f"{key} = {declared}", value), ("", value), (f"{key} = {taken_back}", default)):
        provision(tmp_path, FILE.replace('type = "spa"', f'type = "spa"\n{line}'))
        assert [getattr(client, key) for client in Client.objects.order_by("name")] == [expected, default]


def test_suspending_and_verifying(tmp_path: Path) -> None:
    text = FILE.replace('name = "Orbit"', 'name = "Orbit"\nsuspended = true').replace(
        'type = "spa"', 'type = "spa"\nverified = true'
    )
    provision(tmp_path, text)
    assert Project.objects.get().is_suspended
    assert Client.objects.get(name="Live").is_verified
    provision(tmp_path, text.replace("true", "false"))
    assert not Project.objects.get().is_suspended
    assert not Client.objects.get(name="Live").is_verified


@pytest.mark.parametrize(
    ("broken", "key"),
    [
        (FILE.replace('type = "spa"', 'type = "app"'), "projects[0].clients[1].type"),
        (FILE.replace('owner = "dana', 'owner = "nobody'), "projects[0].owner"),
        (FILE.replace("http://localhost:3000/callback", "http://app.example.com/"), "clients[0].redirect_uris[0]"),
        (FILE.replace("http://localhost:3001/b", "http://localhost:3001/a"), "clients[1].redirect_uris"),
        (FILE.replace('roles = ["reviewer"]', 'roles = ["king"]'), "people[1].roles[0]"),
        (optional('"nonsense"'), "clients[1].optional_scopes[0]"),
        (optional('"email", "email"'), "clients[1].optional_scopes"),
        (optional('"account.read"'), "clients[1].optional_scopes: account.read is not among its approved_scopes"),
        (FILE.replace('type = "spa"', 'type = "spa"\nleast_acr = "phrh"'), "clients[1].least_acr"),
        (
            FILE.replace('type = "spa"', 'type = "spa"\nforgive_lost_responses = "yes"'),
            "clients[1].forgive_lost_responses",
        ),
        (FILE.replace('password = "a long password 1"', "password = 7"), "people[0].password"),
        (FILE.replace('"Dana@example.com"', '"Dana"'), "people[0].email"),
        (FILE.replace('name = "Orbit"', 'name = ""'), "projects[0].name"),
        (FILE.replace('name = "Live"', 'name = "Openport Live"'), "projects[0].clients[1].name"),
        (FILE + KEY.replace("robin", "nobody"), "projects[0].api_keys[0].owner"),
        (FILE + KEY.replace("account.read", "everything"), "projects[0].api_keys[0].permissions[0]"),
        (FILE + "\nextra = 1\n", "extra"),
        ("people = [3]", "people[0]"),
        ("not toml at all", ""),
        (FILE.replace('role = "viewer"', 'role = "king"'), "projects[0].members[0].role: must be one of"),
        (FILE.replace('robin@example.com", role', 'dana@example.com", role'), "members[0].role: the owner can't"),
        (FILE.replace('"http://localhost:3000/callback"', ""), "clients[0].redirect_uris: must contain at least one"),
        (FILE.replace('redirect_uris = ["http://localhost:3000/callback"]', ""), "redirect_uris: is missing"),
        (FILE.replace('"Dana"', f'"{"D" * 101}"'), "people[0].given_name: must have at most 100 characters"),
        (FILE.replace('given_name = "Dana"', 'email_verified = "yes"'), "people[0].email_verified: must be true or"),
        # A key that nobody knows comes before one that is missing, which it may be misspelled.
        (FILE.replace('type = "spa"', 'typ = "spa"'), "projects[0].clients[1].typ: is unknown"),
        (
            FILE + KEY.replace('"robin@example.com"', '"sam@example.com"') + PERSON,
            "api_keys[0].owner: sam@example.com is",
        ),
        (FILE + KEY.replace("Nightly", "  "), "projects[0].api_keys[0].name: must not be empty"),
        (FILE + KEY.replace("2031-01-01T00:00:00Z", "2031-01-01"), "api_keys[0].expires: must be a date with time"),
    ],
)
def test_a_bad_file_is_refused_by_key_and_changes_nothing(tmp_path: Path, broken: str, key: str) -> None:
    with pytest.raises(CommandError) as refused:
        provision(tmp_path, broken)
    assert key in str(refused.value)
    assert not Account.objects.exists()
    assert not Project.objects.exists()


def test_every_error_of_a_file_is_listed(tmp_path: Path) -> None:
    broken = FILE.replace('given_name = "Dana"', 'email_verified = "yes"').replace('type = "spa"', 'typ = "spa"')
    with pytest.raises(CommandError) as refused:
        provision(tmp_path, broken + PERSON + KEY.replace("Nightly", "  "))
    errors = str(refused.value)
    assert "people[0].email_verified: must be true or false" in errors
    assert "projects[0].clients[1].typ: is unknown" in errors
    assert not Account.objects.exists()


def test_a_valid_row_counts_for_later_sections_even_if_another_row_is_invalid(tmp_path: Path) -> None:
    with pytest.raises(CommandError) as refused:
        provision(tmp_path, FILE + PERSON + "roles = [7]")
    assert "roles" in str(refused.value)
    assert "owner" not in str(refused.value)


def test_a_dry_run_checks_the_file_and_changes_nothing(tmp_path: Path) -> None:
    file, out = tmp_path / "state.toml", StringIO()
    file.write_text(FILE)
    call_command("provision", str(file), "--dry-run", stdout=out)
    assert "The file is valid" in out.getvalue()
    assert "Nothing was changed" in out.getvalue()
    assert not Account.objects.exists()
    file.write_text(FILE.replace('type = "spa"', 'typ = "spa"'))
    with pytest.raises(CommandError, match=r"clients\[1\]\.typ: is unknown"):
        call_command("provision", str(file), "--dry-run")


def test_pictures_are_read_relative_to_the_file(tmp_path: Path, settings: Any) -> None:
    from PIL import Image

    settings.MEDIA_ROOT = tmp_path / "media"
    Image.new("RGB", (60, 40), "red").save(tmp_path / "dana.png")
    provision(tmp_path, FILE.replace('given_name = "Dana"', 'picture = "dana.png"'))
    assert str(Account.objects.get(email="dana@example.com").picture.name).endswith(".webp")
    with pytest.raises(CommandError, match=r"people\[0\]\.picture"):
        provision(tmp_path, FILE.replace('given_name = "Dana"', 'picture = "none.png"'))


def test_changing_the_type_ends_what_the_old_type_had(tmp_path: Path) -> None:
    web = provision(tmp_path, FILE)["projects"][0]["clients"][0]
    provision(tmp_path, FILE.replace('type = "web"', 'type = "native"'))
    client = Client.objects.get(client_id=web["client_id"])
    assert client.client_type == "public"
    assert not client.secrets.filter(revoked_at=None).exists()


def test_keys_are_shown_when_they_are_made_and_when_they_are_rotated(tmp_path: Path) -> None:
    first = provision(tmp_path, FILE + KEY)["projects"][0]["api_keys"]
    assert [list(key) for key in first] == [["name", "key", "owner"]]
    assert first[0]["key"].startswith("op_key_")
    assert provision(tmp_path, FILE + KEY)["projects"][0]["api_keys"][0]["key"] is None
    rotated = provision(tmp_path, FILE + KEY, "--rotate-secrets")["projects"][0]["api_keys"][0]["key"]
    assert rotated not in (None, first[0]["key"])
    live = ApiKey.objects.get(revoked_at=None)
    assert live.permissions == "account.read"
    assert live.expires_at is not None


def test_a_key_that_was_rotated_in_the_console_is_known_by_its_replacement(
    tmp_path: Path, later: Callable[[float], None]
) -> None:
    provision(tmp_path, FILE + KEY)
    old = ApiKey.objects.get()
    new, _ = API_KEYS.rotate(old, clock.now() + timedelta(hours=1))
    later(3700)
    assert provision(tmp_path, FILE + KEY.replace("2031", "2032"))["projects"][0]["api_keys"][0]["key"] is None
    for key in (old, new):
        key.refresh_from_db()
    assert (old.state, new.state) == ("expired", "live")
    assert new.expires_at == datetime(2032, 1, 1, tzinfo=UTC)


def test_the_expiry_of_an_expired_key_can_be_extended(tmp_path: Path, later: Callable[[float], None]) -> None:
    provision(tmp_path, FILE + KEY)
    later(20 * 366 * 24 * 3600)
    provision(tmp_path, FILE + KEY.replace("2031", "2099"))
    assert ApiKey.objects.get().state == "live"


def test_what_a_file_changes_of_a_key_is_in_the_audit_trail(tmp_path: Path) -> None:
    provision(tmp_path, FILE + KEY)
    provision(tmp_path, FILE + KEY)
    changes = AuditEvent.objects.filter(action="api_key.changed")
    assert not changes.exists()
    provision(tmp_path, FILE + KEY.replace('["account.read"]', "[]"))
    change = changes.get()
    assert (change.before["permissions"], change.after["permissions"]) == (["account.read"], [])


def test_an_ambiguous_name_is_rejected(tmp_path: Path) -> None:
    """The console lets clients, and keys, of one project share a name: which one is meant can't be told."""
    provision(tmp_path, FILE + KEY)
    client, key = Client.objects.get(name="Live"), ApiKey.objects.get()
    twin = Client.objects.create(project=client.project, name="Live", type="native", client_id="op_client_twin")
    with pytest.raises(CommandError, match="several apps of the project have this name"):
        provision(tmp_path, FILE + KEY)
    twin.delete()
    key.pk, key.public_id = None, "anotherkeyid"
    key.save()
    with pytest.raises(CommandError, match="several keys of the project have this name"):
        provision(tmp_path, FILE + KEY)
