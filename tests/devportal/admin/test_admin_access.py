"""Who sees what in the admin: operators all but reviewing, reviewers what they review, others nothing."""

import re

import pytest
from django.contrib import admin
from django.test import Client as Browser

from tests.devportal.admin.conftest import World
from tests.devportal.admin.crawling import unlinked

# What reviewers see: the lists they work on, and what they read about the apps.
LIVE = {"console.auditevent", "oidc.api", "oidc.client", "oidc.project", "oidc.projectdomain"}
REVIEWING = {"review.appreview", "review.cannedreply", "review.reviewcase"} | LIVE
# Of these, what operators don't see.
REVIEWERS_ALONE = {"review.appreview", "review.reviewcase"}


def models_seen(browser: Browser) -> set[str]:
    """Return the models of which any page was answered."""
    seen = set()
    for url in unlinked():
        match = re.match(r"/admin/(\w+)/(\w+)/", url)
        if match and browser.get(url).status_code == 200:
            seen.add(f"{match[1]}.{match[2]}")
    return seen


def all_models() -> set[str]:
    return {model._meta.label_lower for model in admin.site._registry}


def test_an_operator_sees_everything_but_reviewing(as_operator: Browser, world: World) -> None:
    assert models_seen(as_operator) == all_models() - REVIEWERS_ALONE


def test_a_superuser_sees_everything(as_superuser: Browser, world: World) -> None:
    assert models_seen(as_superuser) == all_models()


def test_a_reviewer_sees_reviews_and_what_they_are_about(as_reviewer: Browser, world: World) -> None:
    assert models_seen(as_reviewer) == REVIEWING
    assert world.person.email not in as_reviewer.get("/admin/").content.decode()


@pytest.mark.parametrize("is_signed_in", [False, True])
def test_other_people_are_redirected(client: Browser, is_signed_in: bool, world: World) -> None:
    browser = client if is_signed_in else Browser()
    for url in unlinked():
        response = browser.get(url)
        where = response.headers.get("Location", "")
        if url == "/admin/jsi18n/":  # words of the theme's scripts: nobody's secret
            continue
        assert response.status_code == 302, url
        assert where.startswith("/admin/login/"), url
        after = browser.get(where)
        assert after.status_code == (403 if is_signed_in else 302)
        if not is_signed_in:
            assert after["Location"].startswith("/account/login/")


def test_only_expected_pages_are_registered() -> None:
    shown = all_models()
    for hidden in ("mfa.authenticator", "usersessions.usersession", "sessions.session", "account.emailaddress"):
        assert hidden not in shown
    assert not shown & {"oidc.authorizationcode", "oidc.idtoken", "auth.group", "admin.logentry"}


@pytest.mark.parametrize("url", ["/admin/logout/", "/admin/password_change/", "/admin/password_change/done/"])
def test_the_admin_has_no_separate_account_pages(as_operator: Browser, url: str) -> None:
    response = as_operator.post(url)
    assert response.status_code == 302
    assert response["Location"].startswith("/account/")
    assert as_operator.get("/admin/").status_code == 200
