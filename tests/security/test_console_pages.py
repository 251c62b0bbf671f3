"""What holds for every page and form of the console: forms of other sites, and whose things they show."""

import re
from datetime import datetime
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.db import transaction

from accounts.models import PairwiseSubject
from oidc.models import Client, ClientSecret, Project
from tests import remembered
from tests.devportal.console.test_console_access import ROUTES
from tests.factories import make_access_token, make_account
from tests.security.consoles import ASIDE, READ, Place, ask, make_place


@pytest.fixture
def place(db: None, request: pytest.FixtureRequest) -> Place:
    return remembered.again((__name__, *request.fixturenames), make_place)


THINGS = ("client_id", "secret_id", "key_id", "member_id", "invitation_id", "number")


@pytest.mark.parametrize("name", [name for name in ROUTES if set(ROUTES[name]) & set(THINGS)])
@pytest.mark.parametrize("method", ["get", "post"])
def test_objects_of_other_projects_are_not_found(name: str, method: str, place: Place) -> None:
    """Each thing alone is someone else's, with a form that would work on one's own."""
    other = make_place()
    # Reviews are numbered for each client: a number that the own client has not.
    others = other.things | {"number": 2}
    form = {"understood": "on", "typed": place.project.name, "enabled": "off", "role": "viewer", "step": "save"}
    for thing in set(ROUTES[name]) & set(THINGS):
        url = place.url(name, **{thing: others[thing]})
        response, changed = ask(place.browser, method, url, form | {"decision": "accept"})
        if name == "invitation":  # every number is answered alike
            assert response.status_code in (302, 405)
        elif name.startswith("moved_project_"):  # only the project is checked; the page that replaced it looks further
            assert response.status_code in (301, 405)
        else:
            assert response.status_code in (404, 405)
        assert not changed


def test_fields_outside_the_form_are_ignored(place: Place) -> None:
    """Fields that forms do not have, by the names of the columns (docs/security.md#the-console)."""
    other = make_place()
    forbidden: dict[str, Any] = {
        "verified_at": "2026-01-01",
        "is_verified": "on",
        "first_party": "on",
        "is_first_party": "on",
        "approved_scopes": "account.read",
        "algorithm": "none",
        "skip_authorization": "on",
        "client_id": "chosen",
        "public_id": "chosen",
        "client_secret": "chosen",
        "project": other.project.pk,
        "project_id": other.project.pk,
        "owner": other.owner.pk,
        "owner_id": other.owner.pk,
        "user": other.owner.pk,
        "account": other.owner.pk,
        "created_by": other.owner.pk,
        "suspended_at": "",
        "enabled": "off",
        "digest": "chosen",
        "status": "approved",
        "id": 1,
        "pk": 1,
    }
    client = {"name": "Starling", "type": "spa", "redirect_uris": "https://app.example.com/callback"}
    forms = {
        "project_settings": {"name": "Starling"},
        "client_settings": client,
        "client_new": client,
        "key_new": {"name": "Nightly", "permissions": "account.read"},
        "members": {"email": "new@example.com", "role": "viewer"},
        "review": {"step": "save", "name": "Starling"},
    }
    for name, form in forms.items():
        token = place.browser.get(place.url("client_settings")).context["once"]
        plain, _ = _outcome(place, name, form | {"once": token})
        forced, _ = _outcome(place, name, form | {"once": token} | forbidden)
        assert {t: r for t, r in plain.items() if r != forced[t]} == {}, name


RANDOM = re.compile(
    r"(id|_at|at|created|updated|digest|last_four|key|made|token|details|target|public_id|request_id|once)$"
)


def _outcome(place: Place, name: str, form: dict[str, Any]) -> tuple[Any, Any]:
    """Return what a form made of the database, without what is drawn by lot or by the clock."""
    with transaction.atomic():
        response = place.browser.post(place.url(name), form)
        after = {
            model._meta.label: [
                {
                    column: value
                    for column, value in row.items()
                    if not RANDOM.search(column) and not isinstance(value, datetime)
                }
                for row in model._base_manager.order_by("pk").values()
            ]
            for model in apps.get_models()
            if model._meta.label not in ASIDE and model._meta.managed
        }
        transaction.set_rollback(True)
    return after, response


@pytest.mark.parametrize("name", READ)
def test_no_page_shows_who_uses_an_app(name: str, place: Place) -> None:
    """Neither the account, nor the `sub` in another project, nor its id (docs/security.md#ids-and-pictures)."""
    person = make_account("someone@people.example", given_name="Zwentibold", family_name="Quux")
    other = make_place()
    for project in (place.project, other.project):
        make_access_token(Client.objects.get(project=project), person)
    subjects = list(PairwiseSubject.objects.values_list("sub", flat=True))
    assert len(subjects) >= 2
    page: Any = place.browser.get(place.url(name))
    text = (b"".join(page.streaming_content) if page.streaming else page.content).decode("utf-8", "replace")
    hidden = [person.email, "Zwentibold", "Quux", str(other.project.public_id), *subjects]
    hidden += list(ClientSecret.objects.values_list("digest", flat=True))
    assert [one for one in hidden if one in text] == []
    assert settings.SECRET_KEY not in text
    assert Project.objects.count() == 2
