"""`manage.py provision` while somebody else changes the same rows, on PostgreSQL."""

from pathlib import Path

import pytest

from accounts.models import Account
from devportal.review import reviewer_actions
from oidc.models import Client
from tests.devportal.operations.provisioning.test_provision import FILE, provision
from tests.devportal.review.reviewing import fresh, make_reviewer
from tests.oidc.events.test_concurrency import blocked_by

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def verified(tmp_path: Path) -> Client:
    provision(tmp_path, FILE.replace("approved_scopes", "verified = true\napproved_scopes"))
    return Client.objects.select_related("project").get(name="Web")


def test_an_approval_that_is_withdrawn_meanwhile_stays_withdrawn(verified: Client, tmp_path: Path) -> None:
    """The file declares neither the review nor the scopes, so it must not write the values that it read before."""
    reviewer: Account = make_reviewer()
    blocked_by(
        lambda: reviewer_actions.withdraw_approval(verified, reviewer, reasons=["unsafe"]),
        lambda: provision(tmp_path, FILE.replace('approved_scopes = ["account.read"]', "")),
    )
    now = fresh(verified)
    assert (now.verified_at, now.approved_scopes, now.reviewed_hosts) == (None, "", "")
