"""The links of the fixes: each leads to a page of the console or the docs."""

import pytest
from django.urls import resolve

from devportal.console.reason_help import HELP
from tests.factories import make_client


@pytest.mark.django_db
def test_each_fix_links_to_a_page() -> None:
    client = make_client()
    for reason, found in HELP.items():
        address = found.place(client).partition("#")[0].partition("?")[0]
        assert resolve(address).url_name, reason
