"""Publishing the public page of an app: who may, under which addresses, and what is kept of them."""

import html
from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client as Browser
from django.urls import reverse

from accounts.models import Account
from core import clock
from devportal.console.models import AuditEvent
from oidc.domains import branding
from oidc.models import AppPage, AppSlug, Client, Project
from oidc.projects import lifecycle
from tests.at_once import at_once
from tests.devportal.review.reviewing import approved, fresh
from tests.factories import make_account, make_client, make_project


@pytest.fixture
def verified(app: Client, developer: Account, reviewer: Account) -> Client:
    return approved(app, developer, reviewer)


def reviewed(project: Project, name: str = "Comet Mail") -> Client:
    return make_client(project, name=name, verified_at=clock.now())


def url_of(client: Client) -> str:
    return reverse("console:app_page", args=[client.project.public_id, client.client_id])


def publish(browser: Browser, client: Client, slug: str) -> Any:
    return browser.post(url_of(client), {"step": "publish", "slug": slug})


def text_of(response: Any) -> str:
    return html.unescape(response.content.decode())


def test_a_developer_publishes_moves_and_takes_down(
    as_developer: Browser, verified: Client, developer: Account
) -> None:
    text = text_of(as_developer.get(url_of(verified)))
    assert 'value="orbit-notes"' in text
    assert publish(as_developer, verified, "orbit-notes").status_code == 302
    assert fresh(verified).page_slug == "orbit-notes"
    assert publish(as_developer, verified, "orbit-for-teams").status_code == 302
    assert as_developer.post(url_of(verified), {"step": "take_down"}).status_code == 302
    assert fresh(verified).page_slug == ""
    assert not AppPage.objects.exists()
    trail = AuditEvent.objects.filter(action__startswith="client.page").order_by("pk")
    assert [(event.action, event.before["page"], event.after["page"]) for event in trail] == [
        ("client.page_published", "", "orbit-notes"),
        ("client.page_moved", "orbit-notes", "orbit-for-teams"),
        ("client.page_taken_down", "orbit-for-teams", ""),
    ]
    assert {event.actor for event in trail} == {developer}


def test_branding_leads_there_once_the_app_is_reviewed(
    as_developer: Browser, as_viewer: Browser, app: Client, developer: Account, reviewer: Account
) -> None:
    page = reverse("console:branding", args=[app.project.public_id, app.client_id])
    assert url_of(app) not in text_of(as_developer.get(page))
    approved(app, developer, reviewer)
    assert url_of(app) in text_of(as_developer.get(page))
    assert url_of(app) not in text_of(as_viewer.get(page))


def test_an_unreviewed_app_has_no_public_page(as_owner: Browser, app: Client) -> None:
    response = publish(as_owner, app, "orbit-notes")
    assert "Only reviewed apps can have a public page" in text_of(response)
    assert not AppSlug.objects.exists()


@pytest.mark.parametrize(
    "slug",
    [
        "", "ab", "a" * 61, "Orbit", "-orbit", "orbit-", "orbit--notes", "xn--80ak6aa92e", "../admin", "\u043erbit",
        "orbit\u200b", "<script>", "report", "rep0rt", "s-i-g-n-i-n", "0penport-help", "my-open-port",
    ],
)  # fmt: skip
def test_invalid_and_reserved_urls_are_rejected_and_stay_in_the_form(
    as_owner: Browser, verified: Client, slug: str
) -> None:
    response = publish(as_owner, verified, slug)
    assert response.status_code == 200
    assert 'class="field__errors"' in response.content.decode()
    if slug:
        assert f'value="{html.escape(slug)}"' in response.content.decode()
    assert not AppSlug.objects.exists()


def test_addresses_that_read_like_anothers_are_refused(as_owner: Browser, verified: Client) -> None:
    other = reviewed(make_project())
    branding.publish_page(other, make_account(), "modern-mail")
    for slug in ("modern-mail", "modernmail", "rnodern-mail", "modem-mail", "m0dern-mai1"):
        response = publish(as_owner, verified, slug)
        assert "taken, or looks like one that is" in text_of(response), slug
    assert publish(as_owner, verified, "comet-mail").status_code == 200  # another reviewed app's name


def test_a_former_url_stays_reserved_for_its_app(as_owner: Browser, verified: Client) -> None:
    publish(as_owner, verified, "orbit-notes")
    publish(as_owner, verified, "orbit-for-teams")
    as_owner.post(url_of(verified), {"step": "take_down"})
    other = reviewed(make_project())
    for slug in ("orbit-notes", "orbit-for-teams", "orbitnotes"):
        with pytest.raises(ValidationError):
            branding.publish_page(other, make_account(), slug)
    assert publish(as_owner, verified, "orbit-notes").status_code == 302
    assert fresh(verified).page_slug == "orbit-notes"


def test_the_number_of_urls_per_app_is_limited(as_owner: Browser, verified: Client) -> None:
    for number in range(branding.MAX_SLUGS):
        assert publish(as_owner, verified, f"orbit-{'abcdefgh'[number]}").status_code == 302
    assert "Choose one of them" in text_of(publish(as_owner, verified, "one-more"))
    assert publish(as_owner, verified, "orbit-a").status_code == 302
    assert AppSlug.objects.count() == branding.MAX_SLUGS


def test_publishing_the_same_again_changes_nothing(as_owner: Browser, verified: Client) -> None:
    publish(as_owner, verified, "orbit-notes")
    before = AppPage.objects.get()
    publish(as_owner, verified, "orbit-notes")
    assert AppPage.objects.get().published_at == before.published_at
    assert AuditEvent.objects.filter(action__startswith="client.page").count() == 1


def test_the_suggestion_is_an_address_or_nothing() -> None:
    assert branding.suggest_slug("Orbit Notes!") == "orbit-notes"
    assert branding.suggest_slug("\u661f") == ""
    assert len(branding.suggest_slug("x" * 100)) == 60
    branding.validate_slug(branding.suggest_slug("a" * 59 + " bcd"))


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_concurrent_apps_do_not_get_the_same_url() -> None:
    people = [make_account() for _ in range(4)]
    apps = [reviewed(make_project(person), f"App {'abcd'[n]}") for n, person in enumerate(people)]

    def take(number: int) -> str:
        try:
            branding.publish_page(apps[number], people[number], ("orbit-notes", "orbitnotes")[number % 2])
        except ValidationError:
            return "taken"
        return "done"

    assert sorted(at_once(4, take)) == ["done", "taken", "taken", "taken"]
    assert Client.objects.exclude(page_slug="").count() == AppPage.objects.count() == AppSlug.objects.count() == 1


def test_the_addresses_of_a_deleted_project_are_free_again_with_its_rows(
    verified: Client, owner: Account, browser_of: Callable[[Account], Browser]
) -> None:
    branding.publish_page(verified, owner, "orbit-notes")
    lifecycle.delete_project(verified.project, owner)
    assert AppSlug.objects.exists()
    Project.objects.filter(pk=verified.project.pk).delete()
    assert not AppSlug.objects.exists()
