"""Scopes that start to need a review: people who granted them keep them, and no one else can be asked before it."""

from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client as Browser

from accounts.models import Account
from api.usage_counts import flush_usage
from devportal.console.models import SignInEvent
from oidc.apis.declarations import Declaration, change_api
from oidc.apis.registry import reload_registry
from oidc.authorization.consent import record_consent
from oidc.clients.lookup import find_client
from oidc.errors import ConsentMissing
from oidc.models import Api, Client, Connection, ProjectMember
from oidc.values.reasons import Reason
from tests.factories import make_account, make_api, make_client, make_project
from tests.relying_party import RelyingParty, answer_of, sign_in

pytestmark = pytest.mark.django_db
READ = "calendar.read"
ASKED = f"openid offline_access {READ}"


@pytest.fixture
def client() -> Client:
    make_api()
    return make_client(make_project(make_account("owner@example.com")))


def party(client: Client, account: Account | None = None) -> RelyingParty:
    return RelyingParty(client, sign_in(Browser(), account or make_account()))


def owner_of(client: Client) -> Account:
    return ProjectMember.objects.get(project=client.project, role="owner").account


def tighten(**values: bool) -> Client:
    """Change the scope as an operator does, and return the app as it is then."""
    change_api(Api.objects.get(), Declaration({}, [{"name": READ} | (values or {"sensitive": True})]))
    reload_registry()
    return Client.objects.earliest("pk")


def refusal(app: RelyingParty, **changes: str | None) -> str:
    """Return the error of a request for the scope, "" if it is not refused."""
    response = app.authorize(**({"scope": ASKED} | changes))
    return "" if response.status_code == 200 else answer_of(response).get("error", "")


@pytest.mark.parametrize("change", [{"sensitive": True}, {"needs_approval": True}])
@pytest.mark.parametrize("role", ["owner", "developer", "viewer"])
def test_an_app_that_only_members_use_keeps_nothing(client: Client, role: str, change: dict[str, bool]) -> None:
    member = owner_of(client) if role == "owner" else make_account()
    ProjectMember.objects.get_or_create(project=client.project, account=member, defaults={"role": role})
    app = party(client, member)
    tokens = app.tokens(scope=ASKED)
    changed = tighten(**change)
    assert (changed.approved_scopes, changed.kept_scopes) == ("", "")
    assert refusal(party(client)) == "invalid_scope"
    assert refusal(app) == "invalid_scope"
    assert READ not in app.refresh(tokens["refresh_token"]).json().get("scope", "")


def test_only_people_who_granted_a_scope_keep_it(client: Client) -> None:
    one, member, without = party(client), party(client, owner_of(client)), party(client)
    tokens, _ = one.tokens(scope=ASKED), member.tokens(scope=ASKED)
    without.tokens(scope="openid")
    changed = tighten()
    assert (changed.approved_scopes, changed.kept_scopes) == (READ, READ)
    assert one.refresh(tokens["refresh_token"]).json()["scope"] == READ
    for app in (one, member):  # silently, and also when asked again
        assert "code" in answer_of(app.authorize(scope=ASKED, prompt="none"))
        assert app.tokens(scope=ASKED, prompt="consent")["scope"] == READ
    newcomer, new_member = make_account(), make_account()
    ProjectMember.objects.create(project=client.project, account=new_member, role="developer")
    for other in (without, party(client, newcomer), party(client, new_member)):
        for prompt in (None, "none", "consent"):
            assert refusal(other, prompt=prompt) == "invalid_scope"
        assert other.tokens(scope="openid email")["scope"] == "openid email"
    assert not Connection.objects.filter(account__in=[newcomer, new_member], scopes__contains=READ).exists()


def test_the_log_names_the_reason(client: Client) -> None:
    party(client).tokens(scope=ASKED)
    tighten()
    refusal(party(client))
    flush_usage()
    entry = SignInEvent.objects.latest("pk")
    assert (entry.error, entry.reason) == ("invalid_scope", Reason.SCOPE_KEPT)
    assert READ in entry.reason_text


def test_a_removed_consent_is_not_kept(client: Client) -> None:
    one, other = party(client), party(client)
    for app in (one, other):
        app.tokens(scope=ASKED)
    tighten()
    Connection.objects.filter(account_id=one.browser.session["_auth_user_id"]).update(removed_at="2026-01-01T00:00Z")
    assert refusal(one) == "invalid_scope"
    assert refusal(other) == ""


def test_another_app_of_the_project_keeps_nothing(client: Client) -> None:
    other = make_client(client.project)
    one = party(client)
    one.tokens(scope=ASKED)
    party(other, owner_of(client)).tokens(scope=ASKED)
    tighten()
    assert Client.objects.get(pk=other.pk).approved_scopes == ""
    assert refusal(RelyingParty(other, one.browser)) == "invalid_scope"


def test_a_member_who_left_keeps_a_consent_and_opens_the_scope_to_no_one(client: Client) -> None:
    member = make_account()
    ProjectMember.objects.create(project=client.project, account=member, role="developer")
    app = party(client, member)
    app.tokens(scope=ASKED)
    ProjectMember.objects.filter(account=member).delete()
    tighten()
    assert "code" in answer_of(app.authorize(scope=ASKED, prompt="none"))
    assert refusal(party(client)) == "invalid_scope"


def test_a_scope_that_is_tightened_twice_or_after_a_pause_is_still_kept(client: Client) -> None:
    party(client).tokens(scope=ASKED)
    tighten(needs_approval=True)
    assert tighten(sensitive=True).kept_scopes == READ
    assert refusal(party(client)) == "invalid_scope"
    tighten(needs_approval=False, sensitive=False)
    assert party(client).tokens(scope=ASKED)["scope"] == READ
    tighten(needs_approval=True)
    assert refusal(party(client)) == "invalid_scope"


def test_an_approval_of_the_operator_is_for_everyone(client: Client, tmp_path: Path) -> None:
    party(client).tokens(scope=ASKED)
    tighten()
    file = tmp_path / "file.toml"
    table = (
        f'[[projects]]\nname = "{client.project.name}"\nowner = "owner@example.com"\n[[projects.clients]]\n'
        f'name = "{client.name}"\ntype = "spa"\nredirect_uris = ["{client.redirect_uris}"]\n'
    )
    file.write_text(table, encoding="utf-8")
    call_command("provision", file)
    assert refusal(party(client)) == "invalid_scope", "the file says nothing about scopes"
    file.write_text(f'{table}approved_scopes = ["{READ}"]\n', encoding="utf-8")
    call_command("provision", file)
    assert refusal(party(client)) == ""
    assert tighten(needs_approval=True).kept_scopes == ""


def test_the_services_own_apps_are_left_to_the_operator(client: Client) -> None:
    Client.objects.update(first_party=True)
    party(client, owner_of(client)).tokens(scope=ASKED)
    changed = tighten()
    assert (changed.approved_scopes, changed.kept_scopes) == (READ, "")
    assert party(client).tokens(scope=ASKED)["scope"] == READ


# --- At the same time ---


@pytest.mark.parametrize("known", [False, True])
def test_a_consent_page_from_before_grants_nothing(client: Client, known: bool) -> None:
    party(client).tokens(scope=ASKED)
    app = party(client)
    if known:
        app.tokens(scope="openid")
    page = app.authorize(scope=ASKED)
    tighten()
    assert answer_of(app.answer_consent(page))["error"] == "invalid_scope"


@pytest.mark.parametrize("known", [False, True])
def test_a_consent_that_was_checked_before_grants_nothing(client: Client, known: bool) -> None:
    party(client).tokens(scope=ASKED)
    person = make_account()
    if known:
        party(client, person).tokens(scope="openid")
    before = find_client(client.client_id)
    assert before is not None
    tighten()
    with pytest.raises(ConsentMissing):
        record_consent(person, before, ["openid", READ])
    assert not Connection.objects.filter(account=person, scopes__contains=READ).exists()
