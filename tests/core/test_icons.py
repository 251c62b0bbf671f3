"""Icons: one sprite a page, with what the page refers to."""

import re

import pytest
from django.template import engines
from django.test import Client as Browser
from django.test import RequestFactory


def render(text: str, *, with_request: bool = True) -> str:
    template = engines["django"].from_string(text)
    return template.render({}, RequestFactory().get("/") if with_request else None)


def test_each_icon_is_drawn_once_and_referred_to_by_name() -> None:
    page = render('{% icon "menu" %}{% icon "menu" "big" %}{% icon "copy" %}{% icon_sprite %}')
    assert page.count('<symbol id="i-menu"') == page.count('<symbol id="i-copy"') == 1
    assert page.count('href="#i-menu"') == 2
    assert 'class="icon big"' in page
    assert page.count('aria-hidden="true"') == 4, "icons say nothing that words beside them do not say"


def test_a_page_without_icons_has_no_sprite() -> None:
    assert render("{% icon_sprite %}") == ""


def test_without_a_request_the_icon_is_drawn_in_place() -> None:
    drawn = render('{% icon "menu" %}', with_request=False)
    assert "<use" not in drawn
    assert "<path" in drawn


def test_an_icon_that_the_package_lacks_is_an_error() -> None:
    with pytest.raises(LookupError, match="no-such-icon"):
        render('{% icon "no-such-icon" %}')


@pytest.mark.django_db
def test_every_reference_of_a_page_has_its_drawing(client: Browser) -> None:
    for path in ("/docs/errors", "/account/login/", "/nowhere"):
        page = client.get(path).content.decode()
        assert set(re.findall(r'href="#(i-[\w-]+)"', page)) <= set(re.findall(r'<symbol id="(i-[\w-]+)"', page)), path
