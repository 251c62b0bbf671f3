"""Credentials of an API: several at once, and replacing all of them."""

import pytest

from oidc.apis import credentials
from oidc.models import Api, ApiCredential
from oidc.projects.lifecycle import QuotaExceeded
from tests.factories import make_api

pytestmark = pytest.mark.django_db


@pytest.fixture
def api() -> Api:
    return make_api()


def live(api: Api) -> set[str]:
    return set(ApiCredential.objects.live().filter(api=api).values_list("public_id", flat=True))


def test_several_are_live_at_once_up_to_a_limit(api: Api) -> None:
    rows = [credentials.create_credential(api)[0] for _ in range(credentials.MAX_LIVE_CREDENTIALS)]
    assert live(api) == {row.public_id for row in rows}
    with pytest.raises(QuotaExceeded):
        credentials.create_credential(api)
    credentials.create_credential(make_api("tasks"))
    credentials.API_CREDENTIALS.revoke(rows[0])
    credentials.create_credential(api)


def test_replacing_revokes_all_others(api: Api) -> None:
    for _ in range(credentials.MAX_LIVE_CREDENTIALS):
        credentials.create_credential(api)
    row, _ = credentials.replace_credentials(api)
    assert live(api) == {row.public_id}
