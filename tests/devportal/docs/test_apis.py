"""The docs of declared APIs: their pages, the lists that name them, search and Markdown."""

import ast
import dataclasses
import html

import pytest
from bs4 import BeautifulSoup
from django.template.context import Context
from django.test import Client as Browser

from devportal.docs.guides.readers import EXAMPLE_API, Reader
from devportal.docs.guides.registry import GUIDES, PROTECT, Guide, groups, guides_for
from devportal.docs.search import docs_index
from devportal.docs.templatetags.docs import guide_code
from oidc.apis.registry import reload_registry
from oidc.models import Api
from tests.factories import make_api

pytestmark = pytest.mark.django_db
PAGE = "/docs/apis/calendar"


@pytest.fixture
def calendar() -> Api:
    return make_api(
        name='Orbit <Calendar> & "more"',
        description="Reads and changes events.",
        documentation_url="https://calendar.example.com/docs",
        openapi_url="https://127.0.0.1/openapi.json",
        calls_per_minute=417,
        calls_per_person_per_minute=93,
    )


def text_of(path: str, browser: Browser) -> str:
    response = browser.get(path)
    assert response.status_code == 200
    return response.content.decode()


def test_the_page_of_an_api_shows_its_declaration(calendar: Api, client: Browser) -> None:
    page = html.unescape(text_of(PAGE, client))
    for said in (calendar.name, calendar.description, calendar.identifier, ">417<", ">93<", "See your calendar"):
        assert said in page
    for url in (calendar.documentation_url, calendar.openapi_url):
        assert f'href="{url}"' in page
    rows = BeautifulSoup(page, "html.parser").select("#scopes ~ table")[0].select("tbody tr")
    assert [[cell.get_text() for cell in row.select("td")][3] for row in rows] == [
        "not needed",
        "needed, and sensitive",
    ]


def test_a_name_is_escaped_everywhere(calendar: Api, client: Browser) -> None:
    for path in (PAGE, "/docs/apis", "/docs/sign-in/authorization", "/docs/search?q=orbit"):
        page = text_of(path, client)
        assert "Orbit &lt;Calendar&gt;" in page
        assert "<Calendar>" not in page
    assert "Orbit &lt;Calendar>" in text_of(f"{PAGE}.md", client)


def test_an_api_is_in_every_list(calendar: Api, client: Browser) -> None:
    for path in ("/docs/apis", "/docs/sign-in/authorization", "/docs/errors"):
        assert f'href="{PAGE}"' in text_of(path, client)
    assert f"{PAGE}.md" in text_of("/llms.txt", client)
    assert any(section.address.startswith(PAGE) for section in docs_index().search("calendar.write", 5))


def test_the_list_begins_with_the_api_at_v1(calendar: Api, client: Browser) -> None:
    page = text_of("/docs/apis", client)
    assert page.index("account.read") < page.index("calendar.read")
    assert 'href="/docs/developer-api/me"' in page
    assert client.get("/docs/apis/account")["Location"] == "/docs/developer-api/me"


@pytest.mark.parametrize("path", ["/docs/apis/calendar", "/docs/apis/calendar.md"])
def test_an_api_that_is_turned_off_is_not_mentioned(path: str, calendar: Api, client: Browser) -> None:
    assert client.get(path).status_code == 200
    calendar.enabled = False
    calendar.save()
    reload_registry()
    assert client.get(path).status_code == 404
    assert "calendar" not in text_of("/docs/apis", client)
    assert "calendar" not in text_of("/docs/sign-in/authorization.md", client)
    assert "calendar" not in text_of("/llms.txt", client)
    assert not any(section.address.startswith(PAGE) for section in docs_index().search("calendar.write", 5))


@pytest.mark.parametrize("path", ["/docs/apis/none", "/docs/apis/none.md", "/docs/apis/", "/docs/apis/calendar/"])
def test_other_apis_have_no_page(path: str, calendar: Api, client: Browser) -> None:
    assert client.get(path).status_code == 404


def test_a_change_is_shown_in_what_the_process_keeps(calendar: Api, client: Browser) -> None:
    assert "calendar.share" not in text_of(f"{PAGE}.md", client)
    calendar.scopes.create(name="calendar.share", title="Share your calendar")
    reload_registry()
    assert "calendar.share" in text_of(f"{PAGE}.md", client)
    assert "calendar.share" in text_of("/docs/sign-in/authorization.md", client)


HOSTILE = "https://calendar.example.com/'\"$(id)`${x}%22</script>{{ x }}?a=#{y}\\"


@pytest.mark.parametrize("guide", groups()[PROTECT], ids=lambda guide: guide.name)
def test_a_guide_to_protect_an_api_shows_an_example_without_apis(guide: Guide, client: Browser) -> None:
    page = html.unescape(text_of(f"/docs/guides/{guide.name}", client))
    assert EXAMPLE_API.scopes[0].name in page
    assert '<select name="api"' not in page
    assert "client_id=" not in page


def test_a_guide_to_protect_an_api_shows_the_values_of_the_chosen_one(calendar: Api, client: Browser) -> None:
    make_api("tasks")
    path = "/docs/guides/protect-fastapi"
    first, chosen, unknown = (text_of(f"{path}{query}", client) for query in ("", "?api=tasks", "?api=none"))
    assert "https://calendar.example.com" in first
    assert "https://tasks.example.com" in chosen
    assert '<option value="tasks" selected>' in chosen
    assert "https://calendar.example.com" in unknown


def test_no_guide_of_this_kind_is_offered_for_a_client(client: Browser) -> None:
    assert not [guide for guide in guides_for("web") if guide.protects]
    page = text_of("/docs/guides/protect-your-api", client)
    assert all(f'href="/docs/guides/{guide.name}"' in page for guide in groups()[PROTECT])


def test_an_odd_identifier_stays_in_its_quotes() -> None:
    reader = Reader(GUIDES["protect-fastapi"], api=dataclasses.replace(EXAMPLE_API, identifier=HOSTILE))
    shown = guide_code(Context({"reader": reader}), "signature.py", "python", "code")
    constants = [node.value for node in ast.walk(ast.parse(shown["code"])) if isinstance(node, ast.Constant)]
    assert HOSTILE in constants
