"""Who has signed in to an account that is to be deleted is a stranger at every address but one."""

from collections.abc import Iterator
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client as Browser

from accounts.models import Account
from accounts.recovery import closing
from oidc.apis.registry import reload_registry
from tests.factories import PASSWORD, make_access_token, make_client
from tests.relying_party import sign_in
from tests.security.crawl_table import WRITES
from tests.security.crawl_world import Plain, Stage, Walker, kept_stage
from tests.security.crawling import ROWS

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("quiet")]
# The page itself, and what a sign-in that is under way leads to by itself.
HELD = {"/account/closed", "/account/login/"}
WHO = ("owner", "superuser")


@pytest.fixture(scope="module")
def closed(django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Everyone, the owner and the superuser having closed their accounts, and signed in again as far as that goes."""
    with django_db_blocker.unblock(), kept_stage(tmp_path_factory.mktemp("media")) as stage:
        for number, role in enumerate(WHO):
            stage.walkers[role] = held(Account.objects.get(email=f"{role}@example.com"), 90 + number)
        yield stage


def held(account: Account, origin: int) -> Walker:
    """Return who has closed their account, with an access token of before, at the page on which to keep it."""
    account.project_memberships.all().delete()
    token = make_access_token(make_client(), account)
    browser = sign_in(Browser(REMOTE_ADDR=f"10.{origin}.255.2"), account)
    closing.ask(account, browser.get("/account/").wsgi_request)
    again = Browser(REMOTE_ADDR=f"10.{origin}.255.3")
    # With second factors a sign-in would stop before: nothing here is about them.
    Authenticator.objects.filter(user=account).delete()
    answer = again.post("/account/login/", {"login": account.email, "password": PASSWORD})
    assert answer["Location"] == "/account/closed"
    assert again.get("/account/closed").status_code == 200
    plain = Plain()
    plain.cookies = again.cookies
    return Walker(plain, origin, {"Authorization": f"Bearer {token}"})


@pytest.mark.parametrize("role", WHO)
def test_every_url_is_closed(closed: Stage, role: str) -> None:
    reload_registry()
    wrong = []
    for row in ROWS:
        if row.address in HELD or not row.is_first:
            continue
        url = closed.url(row.address)
        for method, strangers in (("GET", row.get), ("POST", row.post)):
            answer = closed.walkers[role].ask(method, url)
            status = answer.response.status_code
            if row.address.startswith("/pictures/") and status == 404:
                continue  # the owner's photo, which apps may see no more
            if status != strangers["anonymous"] and status != 401:
                wrong.append(f"{method} {row.address}: {status} and not {strangers['anonymous']}")
            if answer.written and row.address not in WRITES and status < 300:
                wrong.append(f"{method} {row.address} wrote {answer.written}")
    assert wrong == []
