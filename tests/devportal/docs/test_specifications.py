"""The docs link each specification that they name, and the guides link the pages of their libraries."""

import re

import pytest
from bs4 import BeautifulSoup
from django.test import Client as Browser

from devportal.docs.guides.registry import GUIDES
from devportal.docs.pages import PAGES
from devportal.docs.specifications import url_of

RFC = re.compile(r"RFC \d+")


@pytest.mark.parametrize("name", PAGES)
def test_every_named_rfc_is_a_link(name: str, client: Browser) -> None:
    main = BeautifulSoup(client.get(PAGES[name].address).content, "html.parser").find("main")
    assert main is not None
    for code in main.select("pre"):
        code.decompose()
    for text in main.find_all(string=RFC):
        link = text.find_parent("a")
        assert link is not None, text
        for rfc in RFC.findall(text):
            assert str(link["href"]).partition("#")[0] == url_of(rfc)


@pytest.mark.parametrize("name", GUIDES)
def test_a_guide_links_the_pages_of_its_libraries(name: str, client: Browser) -> None:
    page = BeautifulSoup(client.get(PAGES[f"guide_{name}"].address).content, "html.parser")
    links = {link.get_text(): link["href"] for link in page.select("main a")}
    assert GUIDES[name].links
    for library, url in GUIDES[name].links.items():
        assert url.startswith("https://")
        assert links[library] == url


def test_sections_have_their_anchors() -> None:
    assert url_of("RFC 6749", "4.1.3") == "https://www.rfc-editor.org/rfc/rfc6749#section-4.1.3"
    assert url_of("OpenID Connect Core", "12.2").endswith("openid-connect-core-1_0.html#rfc.section.12.2")


@pytest.mark.parametrize("name", ["OpenID Connect", "RFC x", ""])
def test_an_unknown_specification_fails(name: str) -> None:
    with pytest.raises((KeyError, ValueError)):
        url_of(name)
