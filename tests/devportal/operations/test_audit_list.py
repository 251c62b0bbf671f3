"""The list of the audit trail: its filters, and names beside ids."""

from datetime import UTC, datetime

import pytest
from django.test import Client as Browser

from accounts.models import Account
from devportal.console.models import AuditEvent
from oidc.models import Client
from tests.devportal.admin.conftest import make_staff
from tests.factories import make_account, make_client, make_key, make_project

TRAIL = "/admin/console/auditevent/"


def found(browser: Browser, **given: str) -> list[str]:
    """Return the request ids of the listed events, the newest first."""
    response = browser.get(TRAIL, given)
    assert response.status_code == 200, given
    return [row.request_id for row in response.context["cl"].result_list]


@pytest.fixture
def app(db: None) -> Client:
    return make_client(make_project(make_account("ada@example.com"), name="Lighthouse"), name="Beacon")


@pytest.fixture
def as_operator(client: Browser, app: Client) -> Browser:
    """An operator's browser, and four events: May 1 and 2 of 2030, of Ada and of nobody."""
    client.force_login(make_staff("opal@example.com", "operator"))
    AuditEvent.objects.all().delete()
    ada = Account.objects.get(email="ada@example.com")
    key, _ = make_key(app.project, ada)
    AuditEvent.objects.all().delete()
    for request_id, day, action, actor, target in (
        ("a", 1, "client.created", ada, app.client_id),
        ("b", 1, "api_key.created", None, key.public_id),
        ("c", 2, "client.changed", None, app.client_id),
        ("d", 2, "member.removed", ada, "bob@example.com"),
    ):
        at = datetime(2030, 5, day, 23, 59, 59, tzinfo=UTC)
        project = app.project.public_id
        AuditEvent.objects.create(
            at=at, action=action, actor=actor, project=project, target=target, request_id=request_id
        )
    return client


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "dcba"),
        ({"action": "client.changed"}, "c"),
        ({"action": "client."}, ""),
        ({"since": "2030-05-02"}, "dc"),
        ({"until": "2030-05-01"}, "ba"),
        ({"since": "2030-05-01", "until": "2030-05-01"}, "ba"),
        ({"person": "ADA@example.com"}, "da"),
        ({"person": "bob@example.com"}, "d"),
        ({"person": "ada@example.com", "since": "2030-05-02"}, "d"),
        ({"person": "eve@example.com"}, ""),
        ({"until": "1970-01-01"}, ""),
    ],
)
def test_filters_are_combined(as_operator: Browser, given: dict[str, str], expected: str) -> None:
    assert "".join(found(as_operator, **given)) == expected


def test_events_are_found_by_their_object(as_operator: Browser, app: Client) -> None:
    assert found(as_operator, about=app.client_id) == ["c", "a"]
    assert found(as_operator, about=app.client_id, person="ada@example.com") == ["a"]
    assert found(as_operator, about=app.project.public_id) == ["d", "c", "b", "a"]
    assert found(as_operator, about=app.client_id, q=app.project.public_id) == ["c", "a"]


def test_events_of_and_about_an_account_are_one_list(as_operator: Browser) -> None:
    ada = Account.objects.get(email="ada@example.com")
    at = datetime(2030, 5, 3, tzinfo=UTC)
    AuditEvent.objects.create(at=at, action="account.signed_out", target=f"account:{ada.pk}", request_id="e")
    AuditEvent.objects.create(at=at, action="member.removed", person=ada, target=ada.email, request_id="f")
    AuditEvent.objects.create(at=at, action="account.signed_out", target=f"account:{ada.pk}0", request_id="g")
    assert found(as_operator, q=f"account:{ada.pk}") == ["f", "e", "d", "a"]
    assert found(as_operator, about=f"account:{ada.pk}") == ["f", "e", "d", "a"]
    for hostile in ("account:", "account:-1", f"account:{'9' * 40}", "account:٣", f"account:{ada.pk} "):
        assert set(found(as_operator, q=hostile)) <= set("adef")
    text = as_operator.get(f"/admin/accounts/account/{ada.pk}/change/").content.decode()
    assert text.count(f"{TRAIL}?") == 1


@pytest.mark.parametrize(
    "given",
    [
        {"since": "yesterday"},
        {"until": "9999-12-31"},
        {"since": "0001-01-01"},
        {"since": "2030-05-02", "until": "2030-05-01"},
        {"person": "ada"},
        {"action": "x" * 61},
    ],
)
def test_invalid_filters_are_named_and_not_applied(as_operator: Browser, given: dict[str, str]) -> None:
    response = as_operator.get(TRAIL, given)
    assert response.status_code == 200
    assert response.context["cl"].filters.errors


def test_ids_have_names_beside_them(as_operator: Browser) -> None:
    text = as_operator.get(TRAIL).content.decode()
    assert {"Lighthouse", "Beacon"} <= set(text.replace("<", "\n").replace(">", "\n").split("\n"))


def test_links_to_other_pages_keep_the_filters(as_operator: Browser) -> None:
    AuditEvent.objects.bulk_create(
        AuditEvent(at=datetime(2030, 5, 3, tzinfo=UTC), action="client.changed") for _ in range(60)
    )
    listed = as_operator.get(TRAIL, {"action": "client.changed"}).context["cl"]
    assert "action=client.changed" in listed.older_url
