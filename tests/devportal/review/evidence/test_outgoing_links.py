"""The way out to a developer's address: a page that shows it whole, for the addresses of the submission alone."""

import html
from urllib.parse import quote

import pytest
from django.test import Client as Browser

from accounts.models import Account
from devportal.review.evidence.gathered import UnknownAddress, addresses_of, find_destination
from devportal.review.models import AppReview
from oidc.models import Client
from tests.devportal.review.reviewing import BRANDING, sent

pytestmark = pytest.mark.django_db
HOME = BRANDING["home_page_url"]


@pytest.fixture
def review(app: Client, developer: Account) -> AppReview:
    return sent(app, developer)


def page_of(review: AppReview, address: str) -> str:
    return f"/admin/review/appreview/{review.pk}/leave/?to={quote(address, safe='')}"


def put(review: AppReview, **values: object) -> None:
    review.snapshot = review.snapshot | values
    review.save(update_fields=["snapshot"])


def test_the_page_shows_the_address_and_opens_it_without_telling_where_one_comes_from(
    as_reviewer: Browser, review: AppReview
) -> None:
    text = html.unescape(as_reviewer.get(page_of(review, BRANDING["privacy_policy_url"])).content.decode())
    assert "https://<strong>example.com</strong>/privacy" in text
    assert "has proven" in text
    assert (
        '<a class="act" href="https://example.com/privacy" target="_blank" rel="noopener noreferrer nofollow" '
        'referrerpolicy="no-referrer">' in text
    )


def test_the_page_says_when_the_host_is_not_proven(as_reviewer: Browser, review: AppReview) -> None:
    review.client.project.domains.all().delete()
    assert "not proven" in as_reviewer.get(page_of(review, HOME)).content.decode()


def test_a_loopback_address_is_shown_and_not_opened(as_reviewer: Browser, review: AppReview) -> None:
    put(review, redirect_urls=["http://localhost:3000/cb"])
    text = as_reviewer.get(page_of(review, "http://localhost:3000/cb")).content.decode()
    assert "http://<strong>localhost</strong>:3000/cb" in text
    assert 'href="http://localhost' not in text


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example.net/", "https://example.com", "https://EXAMPLE.com/", "//example.com/",
        "https://example.com/privacy#x", " https://example.com/", "", "https://example.com/\x00", "help@example.com",
    ],
)  # fmt: skip
def test_other_urls_are_404(as_reviewer: Browser, review: AppReview, address: str) -> None:
    assert as_reviewer.get(page_of(review, address)).status_code in (400, 404)


def test_urls_without_http_are_not_opened(as_reviewer: Browser, review: AppReview) -> None:
    for stored in ("javascript:alert(1)", "data:text/html,x", "https://"):
        put(review, home_page_url=stored)
        assert as_reviewer.get(page_of(review, stored)).status_code == 404
        assert as_reviewer.get(f"/admin/review/appreview/{review.pk}/change/").status_code == 200


@pytest.mark.parametrize(
    ("address", "parts"),
    [
        ("https://example.com/a?b=example.com", ("https://", "example.com", "/a?b=example.com")),
        ("https://EXAMPLE.com:8443/", ("https://", "EXAMPLE.com", ":8443/")),
        ("https://https.example.com/https", ("https://", "https.example.com", "/https")),
    ],
)
def test_the_host_is_highlighted(review: AppReview, address: str, parts: tuple[str, str, str]) -> None:
    put(review, redirect_urls=[address])
    found = find_destination(review, address)
    assert (found.before, found.host, found.after) == parts
    assert found.address == address


def test_urls_with_a_user_name_are_not_opened(review: AppReview) -> None:
    address = "https://example.com@evil.example.net/"
    put(review, redirect_urls=[address])
    with pytest.raises(UnknownAddress):
        find_destination(review, address)


def test_review_pages_link_to_every_url_through_this_page(as_reviewer: Browser, review: AppReview) -> None:
    text = html.unescape(as_reviewer.get(f"/admin/review/appreview/{review.pk}/change/").content.decode())
    assert len(addresses_of(review)) >= 4
    for address in addresses_of(review):
        assert f'href="{page_of(review, address)}"' in text, address
        assert f'href="{address}"' not in text
