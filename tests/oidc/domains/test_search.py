"""The search of the staff for projects and clients: by ids, words of names, domains and developers' email addresses."""

from typing import Any

import pytest
from django.db import connection

from core.database.words import with_words
from oidc.domains import search
from oidc.models import Client, Project
from tests.factories import make_account, make_client, make_domain, make_project


@pytest.fixture
def orbit(db: None) -> Client:
    """An app "Orbit Notes" in the project "Northern Lights", beside another app of another project."""
    owner = make_account("ada@example.com")
    make_client(make_project(make_account("bob@example.com"), name="Harbor"), name="Tide")
    client = make_client(make_project(owner, name="Northern Lights"), name="Orbit Notes")
    make_domain(client.project, "orbit.example")
    return client


@pytest.mark.parametrize(
    "term", ["northern", "lights", "LIGHTS north", "orbit.example", "www.orbit.example.", "Ada@example.com"]
)
def test_projects_and_their_apps_are_found(orbit: Client, term: str) -> None:
    assert search.find_projects(term) == {orbit.project_id}
    assert search.find_clients(term) == {orbit.pk}


@pytest.mark.parametrize("term", ["notes", "Orbit", "notes orb", "0rbit"])
def test_apps_are_found_by_any_word_of_their_name_and_by_lookalikes(orbit: Client, term: str) -> None:
    assert search.find_clients(term) == {orbit.pk}


def test_ids_find_one_row(orbit: Client) -> None:
    assert search.find_projects(orbit.project.public_id) == {orbit.project_id}
    assert search.find_clients(orbit.project.public_id) == {orbit.pk}
    assert search.find_clients(orbit.client_id) == {orbit.pk}
    assert search.find_clients("client_unknown") == search.find_projects("prj_unknown") == set()


@pytest.mark.parametrize(
    "term",
    ["otes", "ada@example.co", "example", "rbit.example", "%", "' | 'tide", "tide:*'&", "a\\", "!", "()"],
)
def test_other_terms_find_nothing_of_it(orbit: Client, term: str) -> None:
    assert orbit.pk not in search.find_clients(term)
    assert orbit.project_id not in search.find_projects(term)


def test_operators_of_the_query_language_are_plain_text(orbit: Client) -> None:
    assert not with_words(Client.objects.all(), "name", "!tide").filter(pk=orbit.pk).exists()
    assert not with_words(Client.objects.all(), "name", "tide | orbit")
    assert not with_words(Client.objects.all(), "name", "...")


@pytest.mark.parametrize("term", ["x" * 3000, "a." * 3000, "a " * 3000, "prj_" + "x" * 3000])
def test_long_terms_find_nothing(orbit: Client, term: str) -> None:
    assert search.find_clients(term) == search.find_projects(term) == set()


def test_a_search_finds_at_most_so_many(orbit: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MOST_FOUND", 2)
    made = [make_client(orbit.project, name=f"Orbit {number}").pk for number in range(4)]
    assert search.find_clients("orbit") == set(made[-2:])


@pytest.mark.postgres
@pytest.mark.parametrize("model", [Client, Project])
def test_the_words_are_read_from_the_index(db: None, model: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
    plan = with_words(model.objects.all(), "name", "orbit notes").explain()
    assert f"{'clients' if model is Client else 'projects'}_by_name" in plan
