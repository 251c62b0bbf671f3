"""The page of a project's domains: what it says of each, and adding, checking and removing one."""

import html
import re
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client as Browser

from core import clock
from oidc.domains.claims import declare_domain
from oidc.models import Client, Project, ProjectDomain
from tests.factories import make_client, make_domain
from tests.oidc.clients.test_domain_names import KEPT
from tests.oidc.domains.internet import Internet, state

Method = ProjectDomain.Method


def text_of(response: Any) -> str:
    assert response.status_code == 200
    return html.unescape(" ".join(response.content.decode().split()))


def at(project: Project, path: str = "") -> str:
    return f"/console/p/{project.public_id}/domains{path}"


def check(browser: Browser, domain: ProjectDomain, committing: Any) -> str:
    """Press the button, and return the page after it."""
    with committing(execute=True):
        response = browser.post(at(domain.project, f"/{domain.pk}/check"))
    assert response.status_code == 302
    return text_of(browser.get(response["Location"]))


def test_it_shows_what_to_publish_with_copy_buttons(as_developer: Browser, domain: ProjectDomain) -> None:
    text = text_of(as_developer.get(at(domain.project))).replace("<wbr>", "")
    for value in (
        "_openport-challenge.example.com",
        "https://example.com/.well-known/openport-challenge.txt",
        domain.token,
    ):
        assert f'<code class="break">{value}</code>' in text
        assert f'data-copy="{value}"' in text
    assert "<details open>" in text
    assert "Not proven" in text


def test_each_state_is_described(as_viewer: Browser, project: Project) -> None:
    moment = clock.now()
    make_domain(project, "by-dns.example")
    make_domain(project, "by-file.example", method=Method.FILE)
    make_domain(
        project,
        "missing.example",
        missing_since=moment,
        problems=[{"proof": "dns", "code": "no_record", "parameters": {}}],
    )
    make_domain(project, "lost.example", missing_since=moment, lost_at=moment)
    make_domain(project, "checking.example", proven_at=None, method="", check_at=moment)
    declare_domain(project, "ours.example")
    text = text_of(as_viewer.get(at(project)))
    cards = {found[1]: found[0] for found in re.findall(r'(<h2[^>]*id="domain-\d+">([^<]+)</h2>.*?</section>)', text)}
    assert "Proven" in cards["by-dns.example"]
    assert "DNS record, including subdomains" in cards["by-dns.example"]
    assert "file on its web server, for this host only" in cards["by-file.example"]
    assert "Proof missing" in cards["missing.example"]
    assert "There is no such TXT record." in cards["missing.example"]
    assert "The domain counts as proven" in cards["missing.example"]
    assert "Lost" in cards["lost.example"]
    assert "without logo and badge" in cards["lost.example"]
    assert "Checking…" in cards["checking.example"]
    assert "This page refreshes" in text
    assert "Reload this page" in text, "without scripts"
    assert "data-refresh" not in as_viewer.get(at(project), {"refresh": "off"}).content.decode()
    assert "Proven by the Openport team" in cards["ours.example"]
    assert "What to publish" not in cards["ours.example"]


def test_viewers_can_read_domains_but_have_no_buttons(as_viewer: Browser, domain: ProjectDomain) -> None:
    text = text_of(as_viewer.get(at(domain.project)))
    assert domain.token in text
    for word in ("Check now", "Remove", "Add domain"):
        assert word not in text


@pytest.mark.parametrize("typed", list(KEPT)[:2])
def test_a_domain_is_added_as_it_is_typed(as_developer: Browser, project: Project, typed: str) -> None:
    assert as_developer.post(at(project), {"name": typed}).status_code == 302
    assert ProjectDomain.objects.get().name == KEPT[typed]
    assert f"{KEPT[typed]} is added" in text_of(as_developer.get(at(project)))


@pytest.mark.parametrize(
    "typed", ["localhost", "exam\x00ple.com", "\ud83d.example", "<script>alert(1)</script>.example"], ids=ascii
)
def test_an_invalid_domain_shows_an_error_and_stays_in_the_form(
    as_developer: Browser, project: Project, typed: str
) -> None:
    sent = urlencode({"name": typed.encode("utf-8", "surrogatepass")})
    response = as_developer.post(at(project), sent, content_type="application/x-www-form-urlencoded")
    if response.status_code == 200:
        assert response.context["form"].errors
        assert "<script>alert" not in response.content.decode()
        if "<" not in typed and typed.isprintable():
            assert html.escape(typed.strip()) in response.content.decode()
    else:
        assert response.status_code == 400
    assert not ProjectDomain.objects.exists()


def test_duplicate_and_too_many_domains_show_an_error(
    as_developer: Browser, domain: ProjectDomain, settings: Any
) -> None:
    text = text_of(as_developer.post(at(domain.project), {"name": "EXAMPLE.com"}))
    assert "example.com is already in the list." in text
    settings.DOMAINS_PER_PROJECT = 1
    text = text_of(as_developer.post(at(domain.project), {"name": "other.example"}))
    assert "at most 1 domains" in text
    assert 'value="other.example"' in text


def test_the_check_button_works_without_a_worker(
    internet: Internet, as_developer: Browser, domain: ProjectDomain, django_capture_on_commit_callbacks: Any
) -> None:
    internet.publish_file(domain)
    text = check(as_developer, domain, django_capture_on_commit_callbacks)
    assert state(domain) == "proven by file"
    assert "What was seen" not in text


def test_the_result_of_a_check_is_shown(
    internet: Internet, as_developer: Browser, domain: ProjectDomain, django_capture_on_commit_callbacks: Any
) -> None:
    internet.publish_record(domain, "<b>something else</b>")
    text = check(as_developer, domain, django_capture_on_commit_callbacks)
    assert "There is a TXT record with this name, but none with this value." in text
    assert "The host has no IP address" in text
    assert "<b>something" not in text


@pytest.mark.django_db(transaction=True)
def test_the_message_shows_the_result(internet: Internet, as_developer: Browser, domain: ProjectDomain) -> None:
    url = at(domain.project, f"/{domain.pk}/check")
    assert "No proof of example.com was found." in text_of(as_developer.post(url, follow=True))
    internet.publish_record(domain)
    assert "example.com is proven." in text_of(as_developer.post(url, follow=True))
    internet.fail(domain)
    assert "It still counts as proven." in text_of(as_developer.post(url, follow=True))
    internet.clear()
    assert "Proof missing" in text_of(as_developer.post(url, follow=True))


def test_with_workers_the_page_says_that_the_check_is_running(
    internet: Internet,
    as_developer: Browser,
    domain: ProjectDomain,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    settings.CELERY_TASK_ALWAYS_EAGER = False
    monkeypatch.setattr("oidc.domains.claims.queue_task", lambda *task: None)
    text = check(as_developer, domain, django_capture_on_commit_callbacks)
    assert "example.com is being checked." in text
    assert "Checking…" in text
    assert internet.asked == []


def test_checks_per_person_are_limited(
    internet: Internet, as_developer: Browser, as_owner: Browser, project: Project, settings: Any, stopped_clock: None
) -> None:
    settings.DOMAIN_CHECKS_PER_HOUR = 2
    domains = [make_domain(project, f"d{number}.example") for number in range(3)]
    urls = [at(project, f"/{domain.pk}/check") for domain in domains]
    assert [as_developer.post(url).status_code for url in urls] == [302, 302, 429]
    assert as_owner.post(urls[2]).status_code == 302, "nobody uses it up for someone else"


def test_removing_lists_what_depends_on_the_domain(
    as_developer: Browser, project: Project, domain: ProjectDomain
) -> None:
    url = at(project, f"/{domain.pk}/remove")
    assert "nothing depends on it" in text_of(as_developer.get(url))
    ProjectDomain.objects.update(proven_at=clock.now(), method=Method.DNS)
    assert "No reviewed app has a URL on it." in text_of(as_developer.get(url))
    app = make_client(project, name="Orbit & Sons", verified_at=clock.now())
    text = text_of(as_developer.get(url))
    assert "Orbit & Sons</a>" in text
    assert "without logo and badge" in text
    response = as_developer.post(url)
    assert (response.status_code, response["Location"]) == (302, at(project))
    assert "example.com is removed." in text_of(as_developer.get(at(project)))
    assert not ProjectDomain.objects.exists()
    assert Client.objects.get(pk=app.pk).reviewed_hosts == ""
    assert as_developer.post(url).status_code == 404


def test_an_operators_domain_is_not_checked_and_says_whose_it_is(
    internet: Internet, as_developer: Browser, project: Project, django_capture_on_commit_callbacks: Any
) -> None:
    declare_domain(project, "ours.example")
    domain = ProjectDomain.objects.get()
    assert "Check again" not in check(as_developer, domain, django_capture_on_commit_callbacks)
    assert internet.asked == []
    assert "has declared this domain" in text_of(as_developer.get(at(project, f"/{domain.pk}/remove")))
