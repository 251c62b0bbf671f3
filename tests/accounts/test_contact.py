"""Pages that send people to the team of the service say how to reach it, or what else they can do."""

from typing import Any

import pytest
from django.test import Client as Browser

from core.http.error_pages import server_error

NO_CONTACT = "has published no contact"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"SUPPORT_EMAIL": "help@example.com"}, 'href="mailto:help@example.com"'),
        ({"HELP_URL": "https://help.example.com/"}, 'href="https://help.example.com/"'),
        ({}, NO_CONTACT),
    ],
)
def test_a_page_names_a_contact_or_an_alternative(
    values: dict[str, str], expected: str, client: Browser, settings: Any
) -> None:
    settings.SUPPORT_EMAIL = settings.HELP_URL = ""
    for name, value in values.items():
        setattr(settings, name, value)
    text = client.get("/account/inactive/").content.decode().split("<main", 1)[1].split("</main>", 1)[0]
    assert expected in text
    assert ("Write to" in text) == ("SUPPORT_EMAIL" in values)


@pytest.mark.parametrize("email", ["help@example.com", ""])
def test_the_error_page_asks_for_a_mail_only_with_an_address(email: str, settings: Any, rf: Any) -> None:
    settings.SUPPORT_EMAIL = email
    text = server_error(rf.get("/")).content.decode()
    assert ("write to" in text) == bool(email)
    assert text.count("help@example.com") == (3 if email else 0)  # a link here, and its text, and in the footer
