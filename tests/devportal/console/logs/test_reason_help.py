"""The links of the fixes: each leads to a page of the console or the docs."""

import pytest
from django.test import Client as Browser
from django.urls import resolve

from devportal.console.reason_help import HELP
from tests.factories import make_client


@pytest.mark.django_db
def test_each_fix_links_to_a_page() -> None:
    client = make_client()
    for reason, found in HELP.items():
        address = found.place(client).partition("#")[0].partition("?")[0]
        assert resolve(address).url_name, reason


@pytest.mark.django_db
def test_each_fix_in_the_docs_links_to_a_part_of_its_page() -> None:
    client = make_client()
    places = {found.place(client) for found in HELP.values()}
    for place in sorted(place for place in places if place.startswith("/docs/")):
        address, _, anchor = place.partition("#")
        page = Browser().get(address).content.decode()
        assert not anchor or f'id="{anchor}"' in page, place
