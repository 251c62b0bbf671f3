"""An app is deleted while someone signs in to it, on PostgreSQL: they get the page of an unknown app."""

import pytest
from django.test import Client as Browser

from core import clock
from oidc.clients.registration import delete_client
from oidc.models import Connection, ProjectMember
from tests.at_once import blocked_by
from tests.factories import make_account, make_client
from tests.relying_party import RelyingParty, sign_in

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("is_verified", [False, True], ids=["with a limit of people", "without"])
@pytest.mark.parametrize("before", ["never", "less", "all"])
def test_an_app_that_is_deleted_while_a_code_is_issued(before: str, is_verified: bool) -> None:
    client = make_client(verified_at=clock.now() if is_verified else None)
    owner = ProjectMember.objects.get(project=client.project).account
    party = RelyingParty(client, sign_in(Browser(), make_account()))
    if before != "never":
        party.code(scope="openid" if before == "less" else "openid email")
    page = None if before == "all" else party.authorize(scope="openid email")

    def go_on() -> int:
        answer = party.authorize(scope="openid email") if page is None else party.answer_consent(page)
        status: int = answer.status_code
        return status

    assert blocked_by(lambda: delete_client(client, owner), go_on) == 400
    assert not Connection.objects.exists()
