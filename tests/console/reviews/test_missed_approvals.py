"""Approvals by processes of the version before: their hosts are written down afterwards."""

from datetime import timedelta

import pytest

from accounts.models import Account
from devportal.console.models import AppReview
from devportal.console.reviews import missed_approvals
from devportal.console.tasks import heal_approved_hosts
from devportal.lib import clock
from oidc.clients.reviewed_hosts import counts_as_reviewed
from oidc.models import Client, Project
from tests.console.reviews.reviewing import approved, fresh
from tests.factories import REDIRECT_URI, as_reviewed, make_client, make_project
from tests.oidc.test_budgets import Counted


def as_the_version_before_left_it(client: Client, **fields: object) -> Client:
    """Take away what it does not know."""
    Client.objects.filter(pk=client.pk).update(
        **({"approved_hosts": "", "reviewed_hosts": "", "last_reviewed_at": None} | fields)
    )
    return fresh(client)


def test_the_hosts_are_those_that_were_sent(app: Client, developer: Account, reviewer: Account) -> None:
    client = approved(app, developer, reviewer)
    uris = f"{client.redirect_uris} https://elsewhere.test/back"
    client = as_the_version_before_left_it(client, redirect_uris=uris)
    assert not counts_as_reviewed(client, REDIRECT_URI)
    assert heal_approved_hosts() == 1
    client = fresh(client)
    assert counts_as_reviewed(client, REDIRECT_URI)
    assert not counts_as_reviewed(client, "https://elsewhere.test/back")
    assert client.last_reviewed_at == AppReview.objects.get().decided_at
    assert heal_approved_hosts() == 0


def test_a_later_approval_takes_in_what_it_was_sent_with(app: Client, developer: Account, reviewer: Account) -> None:
    client = approved(app, developer, reviewer)
    review = AppReview.objects.get()
    review.snapshot["redirect_urls"] = [REDIRECT_URI, "https://elsewhere.test/back"]
    review.decided_at = clock.now() + timedelta(days=1)
    review.save()
    assert heal_approved_hosts() == 1
    assert fresh(client).approved_hosts == "app.example.com elsewhere.test"


def test_an_approval_of_this_version_is_left_alone(app: Client, developer: Account, reviewer: Account) -> None:
    client = approved(app, developer, reviewer)
    Client.objects.filter(pk=client.pk).update(approved_hosts="provisioned.test")
    assert heal_approved_hosts() == 0
    assert fresh(client).approved_hosts == "provisioned.test"


def test_a_provisioned_app_counts_where_it_leads_today(project: Project) -> None:
    client = as_the_version_before_left_it(make_client(project, **as_reviewed()))
    assert heal_approved_hosts() == 1
    assert fresh(client).reviewed_hosts == "app.example.com"


@pytest.mark.parametrize("fields", [{"verified_at": None}, {"last_reviewed_at": clock.now()}])
def test_who_is_not_reviewed_or_complete_is_left_alone(project: Project, fields: dict[str, object]) -> None:
    client = as_the_version_before_left_it(make_client(project, **as_reviewed()), **fields)
    assert heal_approved_hosts() == 0
    assert fresh(client).approved_hosts == ""


def test_a_run_is_bounded_and_the_next_one_goes_on(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(missed_approvals, "MOST_AT_ONCE", 3)
    project = make_project()
    for _ in range(5):
        as_the_version_before_left_it(make_client(project, **as_reviewed()))
    assert [heal_approved_hosts() for _ in range(3)] == [3, 2, 0]
    with Counted() as counted:
        heal_approved_hosts()
    assert len(counted.statements) == 1
