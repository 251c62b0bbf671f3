"""What only reviewers see outside the admin needs their second factor, as the admin does."""

from pathlib import Path
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client as Browser

from accounts.models import Account
from devportal.review.models import AppReview
from devportal.review.submission import logos
from oidc.models import Client, ProjectMember
from tests.accounts.factors.conftest import give_app
from tests.devportal.review.reviewing import BRANDING, make_reviewer, path_of
from tests.devportal.review.test_pages import ASKED, png, post
from tests.factories import PASSWORD, make_account, make_client, make_project
from tests.relying_party import age_sign_in
from tests.soft_key import A_YEAR_AGO
from tests.totp import totp

STAFF = "/account/2fa/staff/"
HOUR = 3600


@pytest.fixture
def owner(db: None) -> Account:
    return make_account("owner@example.com")


@pytest.fixture
def app(owner: Account, settings: Any, tmp_path: Path) -> Client:
    """An app with a submission that has a logo."""
    settings.MEDIA_ROOT = tmp_path
    made = make_client(make_project(owner))
    browser = Browser()
    browser.force_login(owner)
    assert post(browser, made, "save", **BRANDING, **ASKED, logo=png()).status_code == 302
    AppReview.objects.filter(client=made).update(status=AppReview.Status.SUBMITTED)
    settings.ADMIN_SECOND_FACTOR = True
    return made


def addresses(app: Client) -> tuple[str, str]:
    review = AppReview.objects.get(client=app)
    return path_of(app, f"/preview/{review.number}"), logos.logo_path(app, review.snapshot["logo"])


def signed_in(account: Account, secret: str = "") -> Browser:
    browser = Browser()
    browser.post("/account/login/", {"login": account.email, "password": PASSWORD})
    if secret:
        assert browser.post("/account/2fa/authenticate/", {"code": totp(secret)})["Location"] == "/connect/resume"
    return browser


def sees(browser: Browser, app: Client) -> tuple[int, int]:
    preview, logo = addresses(app)
    return browser.get(preview).status_code, browser.get(logo).status_code


@pytest.mark.parametrize("has_factor", [False, True])
def test_a_reviewer_without_a_second_factor_sees_nothing(app: Client, has_factor: bool) -> None:
    """Neither one who has no second factor, nor one whose session is from before they set it up."""
    reviewer = make_reviewer("rena@example.com")
    browser = signed_in(reviewer)
    if has_factor:
        give_app(reviewer)
    preview, logo = addresses(app)
    asked = browser.get(preview)
    assert asked["Location"] == f"{STAFF}?next={preview.replace('/', '%2F')}"
    assert browser.get(logo).status_code == 404
    for method in ("head", "post", "options"):
        assert getattr(browser, method)(preview).status_code in (302, 404, 405), method
        assert getattr(browser, method)(logo).status_code in (404, 405), method


def test_the_page_that_asks_leads_back(app: Client) -> None:
    reviewer = make_reviewer("rena@example.com")
    browser, secret = signed_in(reviewer), give_app(reviewer)
    Authenticator.objects.update(created_at=A_YEAR_AGO)
    preview, _ = addresses(app)
    asks = browser.get(preview, follow=True)
    assert asks.request["PATH_INFO"] == "/account/2fa/reauthenticate/"
    form = {"code": totp(secret), "next": STAFF}
    assert browser.post("/account/2fa/reauthenticate/", form)["Location"] == STAFF
    assert browser.get(STAFF)["Location"] == preview
    assert sees(browser, app) == (200, 200)


def test_a_reviewer_with_a_second_factor_sees_both(app: Client) -> None:
    reviewer = make_reviewer("rena@example.com")
    assert sees(signed_in(reviewer, give_app(reviewer)), app) == (200, 200)


def test_a_factor_that_was_used_long_ago_is_asked_for_again(app: Client) -> None:
    reviewer = make_reviewer("rena@example.com")
    browser = signed_in(reviewer, give_app(reviewer))
    age_sign_in(browser, 13 * HOUR)
    assert sees(browser, app) == (302, 404)


def test_a_superuser_needs_a_second_factor_too(app: Client) -> None:
    root = make_account("root@example.com", is_staff=True, is_superuser=True)
    assert sees(signed_in(root), app) == (302, 404)
    secret = give_app(root)
    assert sees(signed_in(root, secret), app) == (200, 200)


def test_members_need_no_second_factor(app: Client, owner: Account) -> None:
    assert sees(signed_in(owner), app) == (200, 200)
    reviewer = make_reviewer("rena@example.com")
    ProjectMember.objects.create(project=app.project, account=reviewer, role=ProjectMember.Role.VIEWER)
    assert sees(signed_in(reviewer), app) == (200, 200)


def test_people_without_a_role_see_no_difference(app: Client) -> None:
    assert sees(signed_in(make_account("eve@example.com")), app) == (404, 404)
    operator = make_account("opal@example.com")
    assert sees(signed_in(operator), app) == (404, 404)


def test_missing_pages_look_the_same_to_a_reviewer_without_a_second_factor(app: Client) -> None:
    browser = signed_in(make_reviewer("rena@example.com"))
    preview, _ = addresses(app)
    assert browser.get(preview.replace("/preview/1", "/preview/99")).status_code == 302
    assert browser.get("/console/p/prj_none/clients/op_client_none/review/preview/1").status_code == 302


def test_reviewers_see_pages_if_staff_need_no_second_factor(app: Client, settings: Any) -> None:
    settings.ADMIN_SECOND_FACTOR = False
    assert sees(signed_in(make_reviewer("rena@example.com")), app) == (200, 200)
