"""Declaring, changing and deleting APIs: what is refused, what the audit trail has, and which apps keep a scope."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.dispatch import receiver

from accounts.models import Account
from api import keys
from core import clock
from core.audit import Event
from devportal.review.models import AppReview
from oidc.apis import declarations
from oidc.apis.credentials import create_credential
from oidc.apis.declarations import Declaration
from oidc.apis.registry import current_registry, reload_registry
from oidc.models import Api, ApiCredential, ApiRule, ApiScope, Client, Connection, TokenFamily
from oidc.signals import scope_needs_review
from tests.factories import make_access_token, make_account, make_api, make_client, make_project

pytestmark = pytest.mark.django_db

COLUMNS = {"name": "Orbit Calendar", "identifier": "https://calendar.example.com"}
SCOPES = ({"name": "calendar.read", "title": "See your events"},)


@pytest.fixture
def to_review() -> Iterator[list[tuple[str, list[Client]]]]:
    """The scopes that started to need a review, with the clients that have them."""
    found: list[tuple[str, list[Client]]] = []

    @receiver(scope_needs_review)
    def note(sender: Any, scope: str, clients: list[Client], **kwargs: Any) -> None:
        found.append((scope, clients))

    yield found
    scope_needs_review.disconnect(note)


@pytest.fixture
def actor() -> Account:
    return make_account("opal@example.com")


def create(**changes: Any) -> Api:
    given: dict[str, Any] = {"columns": COLUMNS, "scopes": SCOPES} | changes
    return declarations.create_api("calendar", Declaration(**given))


def refused(*words: str, **changes: Any) -> None:
    with pytest.raises(ValidationError) as error:
        create(**changes)
    for word in words:
        assert word in " ".join(error.value.messages)
    assert not Api.objects.filter(slug="calendar").exists()


def test_an_api_is_declared_with_its_scopes_and_rules(events: list[Event], actor: Account) -> None:
    rules = (("GET", "/events*", "calendar.read"),)
    declaration = Declaration(COLUMNS, SCOPES, rules=rules)
    api = declarations.create_api("calendar", declaration, actor)
    known = reload_registry().apis["calendar"]
    assert known.pk == api.pk
    assert known.identifier == "https://calendar.example.com"
    assert [scope.name for scope in known.scopes] == ["calendar.read"]
    assert known.scopes_for("GET", "/events/1") == {"calendar.read"}
    (event,) = events
    assert (event.action, event.actor, event.target) == ("api.declared", actor.pk, "api:calendar")
    assert event.after["identifier"] == "https://calendar.example.com"
    assert event.after["rules"] == ["GET /events* calendar.read"]
    assert event.after["scope calendar.read"]["title"] == "See your events"


def test_an_api_in_production_is_read_by_this_process_after_the_commit(django_capture_on_commit_callbacks: Any) -> None:
    assert "calendar" not in current_registry().apis
    with django_capture_on_commit_callbacks(execute=True):
        create()
    assert "calendar" in current_registry().apis


def test_an_api_that_is_declared_while_the_registry_loads_breaks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    create(rules=[("GET", "/*", "calendar.read")])
    monkeypatch.setattr(Api.objects, "order_by", lambda *columns: Api.objects.none())
    assert list(reload_registry().apis) == ["account"]


def test_wrong_values_are_refused() -> None:
    refused("identifier", "#", columns=COLUMNS | {"identifier": "https://calendar.example.com/#x"})
    refused("name", columns=COLUMNS | {"name": " "})
    refused("missing", columns={"name": "Orbit Calendar"})
    refused("calls_per_minute", columns=COLUMNS | {"calls_per_minute": 0})
    refused("documentation_url", columns=COLUMNS | {"documentation_url": "javascript:alert(1)"})
    refused("title", scopes=[{"name": "calendar.read"}])
    refused("title", scopes=[{"name": "calendar.read", "title": ""}])
    refused("belongs to the service", scopes=[{"name": "openid", "title": "x"}])
    refused("twice", scopes=[*SCOPES, *SCOPES])
    refused("not a scope of this API", rules=[("GET", "/", "account.read")])
    refused("begins with a slash", rules=[("GET", "events", "calendar.read")])
    refused("at most 100 rules", rules=[("GET", "/", "calendar.read")] * 101)
    refused("at most 100 scopes", scopes=[{"name": f"s{number}", "title": "x"} for number in range(101)])
    with pytest.raises(ValidationError):
        declarations.create_api("account", Declaration(COLUMNS))


def test_names_of_another_api_are_refused() -> None:
    make_api("tasks", identifier="https://tasks.example.com/")
    for identifier in ("https://tasks.example.com", "https://tasks.example.com/"):
        refused("The API tasks has this identifier", columns=COLUMNS | {"identifier": identifier})
    refused("a scope of the API tasks", scopes=[{"name": "tasks.read", "title": "x"}])
    refused("not a scope of this API", rules=[("GET", "/", "tasks.read")])


def test_a_change_writes_and_reports_only_what_differs(events: list[Event], actor: Account) -> None:
    api = create()
    events.clear()
    scopes = [{"name": "calendar.read", "title": "See your calendar"}, {"name": "calendar.write", "title": "Change it"}]
    declarations.change_api(
        api, Declaration({"name": "Calendar"}, scopes, rules=[("*", "/*", "calendar.write")]), actor
    )
    (event,) = events
    assert event.action == "api.changed"
    assert event.before["name"] == "Orbit Calendar"
    assert event.before["scope calendar.write"] is None
    assert event.after["rules"] == ["* /* calendar.write"]
    assert "identifier" not in event.after
    events.clear()
    declarations.change_api(
        api, Declaration({"name": "Calendar"}, scopes, rules=[("*", "/*", "calendar.write")]), actor
    )
    assert events == []


def test_rules_keep_their_order_and_are_replaced() -> None:
    api = make_api("tasks", rules=[("GET", "/a", "tasks.read"), ("*", "/*", "tasks.write")])
    rules = [("*", "/*", "tasks.write"), ("GET", "/a", "tasks.read"), ("GET", "/b", "tasks.read")]
    declarations.change_api(api, Declaration({}, rules=rules))
    assert declarations.rule_lines(api) == ["* /* tasks.write", "GET /a tasks.read", "GET /b tasks.read"]


def test_a_refused_change_changes_nothing(events: list[Event]) -> None:
    api = create()
    events.clear()
    with pytest.raises(ValidationError):
        declarations.change_api(api, Declaration({"name": "New"}, [{"name": "bad name", "title": "x"}]))
    api.refresh_from_db()
    assert api.name == "Orbit Calendar"
    assert events == []


def test_turning_an_api_off_and_on(events: list[Event], actor: Account) -> None:
    api = make_api()
    assert declarations.set_api_enabled(api, False, actor, "It leaks.")
    assert not declarations.set_api_enabled(api, False, actor)
    assert declarations.set_api_enabled(api, True, actor)
    assert [event.action for event in events] == ["api.turned_off", "api.turned_on"]
    assert events[0].details == {"reason": "It leaks."}


# --- Deletion ---


def test_an_unused_api_is_deleted(events: list[Event], actor: Account) -> None:
    api = make_api(rules=[("*", "/*", "calendar.read")])
    create_credential(api)
    declarations.delete_api(api, actor)
    assert not any(model.objects.exists() for model in (Api, ApiScope, ApiRule, ApiCredential))
    (event,) = [each for each in events if each.action.startswith("api.")]
    assert (event.action, event.target) == ("api.deleted", "api:calendar")
    assert event.before["scope calendar.read"]["title"] == "See your calendar"


def granted(api: Api) -> None:
    make_access_token(make_client(), make_account(), ["openid", "calendar.read"], api.identifier)


def granted_and_removed(api: Api) -> None:
    granted(api)
    TokenFamily.objects.all().delete()
    Connection.objects.update(scopes="", removed_scopes="openid calendar.read", removed_at=clock.now())


def authorized(api: Api) -> None:
    granted(api)
    Connection.objects.update(scopes="openid")


def approved(api: Api) -> None:
    make_client(approved_scopes="account.read calendar.write")


def in_review(api: Api) -> None:
    AppReview.objects.create(
        client=make_client(), number=1, created_at=clock.now(), snapshot={"scopes": {"calendar.write": "To plan."}}
    )


def key_permission(api: Api) -> None:
    owner = make_account()
    key, _ = keys.create_key(make_project(owner), owner, "Nightly", ["calendar.read"])
    keys.API_KEYS.revoke(key)


@pytest.mark.parametrize(
    ("use", "why"),
    [
        (granted, "granted it"),
        (granted_and_removed, "granted it"),
        (authorized, "tokens were issued"),
        (approved, "an approval"),
        (in_review, "app review"),
        (key_permission, "API key"),
    ],
)
def test_an_api_in_use_is_not_deleted(use: Any, why: str) -> None:
    api = make_api(rules=[("*", "/*", "calendar.read")])
    use(api)
    with pytest.raises(ValidationError, match=why):
        declarations.delete_api(api)
    with pytest.raises(ValidationError, match=why):
        declarations.change_api(api, Declaration({}, removed_scopes=["calendar.read", "calendar.write"], rules=[]))
    assert api.scopes.count() == 2
    assert api.rules.count() == 1


def test_names_that_only_contain_the_scope_are_no_use_of_it() -> None:
    api = make_api()
    make_client(approved_scopes="calendar.write.all x.calendar.write Calendar.Write")
    make_access_token(make_client(), make_account(), ["openid", "calendar.reads"])
    declarations.delete_api(api)


def test_a_scope_is_removed_after_its_rules() -> None:
    api = make_api(rules=[("GET", "/*", "calendar.read"), ("*", "/*", "calendar.write")])
    with pytest.raises(ValidationError, match="Remove the rules"):
        declarations.change_api(api, Declaration({}, removed_scopes=["calendar.write"]))
    declarations.change_api(
        api, Declaration({}, removed_scopes=["calendar.write"], rules=[("GET", "/*", "calendar.read")])
    )
    assert [scope.name for scope in api.scopes.all()] == ["calendar.read"]
    assert declarations.rule_lines(api) == ["GET /* calendar.read"]


# --- Scopes that start to need an approval ---


def change_scope(api: Api, scope: str = "calendar.read", **values: Any) -> None:
    declarations.change_api(api, Declaration({}, [{"name": scope} | values]))


@pytest.mark.parametrize("values", [{"needs_approval": True}, {"sensitive": True}])
def test_apps_that_people_use_keep_the_scope(
    values: dict[str, Any], events: list[Event], to_review: list[tuple[str, list[Client]]]
) -> None:
    api, client, unused = make_api(), make_client(approved_scopes="account.read"), make_client()
    make_access_token(client, make_account(), ["openid", "calendar.read"], api.identifier)
    make_access_token(unused, make_account(), ["openid"])
    change_scope(api, **values)
    client.refresh_from_db()
    unused.refresh_from_db()
    assert client.approved_scopes == "account.read calendar.read"
    assert unused.approved_scopes == ""
    assert to_review == [("calendar.read", [client])]
    kept = next(event for event in events if event.action == "client.scopes_kept")
    assert (kept.target, kept.project) == (client.client_id, client.project.public_id)
    assert kept.before == {"approved_scopes": "account.read"}


def test_a_removed_consent_keeps_nothing(to_review: list[tuple[str, list[Client]]]) -> None:
    api, client = make_api(), make_client()
    make_access_token(client, make_account(), ["openid", "calendar.read"], api.identifier)
    Connection.objects.update(removed_at=clock.now())
    change_scope(api, needs_approval=True)
    client.refresh_from_db()
    assert client.approved_scopes == ""
    assert to_review == [("calendar.read", [])]


def test_a_withdrawn_approval_stays_withdrawn(to_review: list[tuple[str, list[Client]]]) -> None:
    api, client, other = make_api(), make_client(), make_client(approved_scopes="calendar.read")
    ApiScope.objects.filter(name="calendar.read").update(needs_approval=True)
    make_access_token(client, make_account(), ["openid", "calendar.read"], api.identifier)
    change_scope(api, sensitive=True)
    client.refresh_from_db()
    assert client.approved_scopes == ""
    assert to_review == [("calendar.read", [other])]


@pytest.mark.parametrize("values", [{"title": "See it all"}, {"sensitive": True}, {"needs_approval": True}])
def test_other_changes_open_no_review(values: dict[str, Any], to_review: list[tuple[str, list[Client]]]) -> None:
    api = make_api()
    make_client(approved_scopes="calendar.write")
    change_scope(api, "calendar.write", **values)
    assert to_review == []


def test_a_new_sensitive_scope_opens_no_review(to_review: list[tuple[str, list[Client]]]) -> None:
    create(scopes=[*SCOPES, {"name": "calendar.write", "title": "Change it", "sensitive": True}])
    assert to_review == []


def test_what_was_granted_of_a_deleted_scope_counts_for_no_new_one(person: Account) -> None:
    """For 10 seconds after the deletion of a scope, other processes may still grant it."""
    make_access_token(make_client(), person, ["openid", "calendar.read"], "https://calendar.example.com")
    refused("calendar.read", "Choose another name")
