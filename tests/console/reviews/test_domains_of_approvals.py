"""The migration that writes down which domains an approval covers, for apps that were approved before."""

from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.db import connection

from accounts.models import Account
from devportal.console.models import AppReview
from devportal.lib import clock
from oidc.clients.reviewed_hosts import counts_as_reviewed
from oidc.domains import claims
from oidc.models import Client, Project
from tests.console.reviews.reviewing import approved, fresh
from tests.factories import REDIRECT_URI, as_reviewed, make_client, make_domain

pytestmark = pytest.mark.django_db(transaction=True)

LATER = "https://later.test/callback"


def migrate() -> None:
    module = import_module("devportal.console.migrations.0022_domains_of_approvals")
    module.keep_domains(apps, SimpleNamespace(connection=connection))


def as_the_version_before_left_it(client: Client, **fields: object) -> None:
    for review in AppReview.objects.filter(client=client):
        review.snapshot.pop("domains", None)
        review.save()
    Client.objects.filter(pk=client.pk).update(approved_domains="", home_unproven_since=None, **fields)


def test_domains_of_the_approved_submission_count_and_later_ones_do_not(
    app: Client, developer: Account, reviewer: Account
) -> None:
    client = approved(app, developer, reviewer)
    make_domain(client.project, "later.test")
    uris = f"{REDIRECT_URI} https://new.example.com/callback {LATER}"
    hosts = "app.example.com new.example.com later.test"
    as_the_version_before_left_it(client, redirect_uris=uris, reviewed_hosts=hosts)
    for _ in range(2):  # a run that is broken off is begun again
        migrate()
        client = fresh(client)
        assert client.approved_domains == "example.com"
        assert client.reviewed_hosts == "app.example.com new.example.com"
        assert client.carries_badge
        assert not counts_as_reviewed(client, LATER)
    assert AppReview.objects.get().snapshot["domains"] == ["example.com"]


def test_hosts_below_a_public_suffix_no_longer_count_by_an_older_proof_of_it(project: Project) -> None:
    client = make_client(project, home_page_url="https://github.io/", **as_reviewed())
    make_domain(project, "github.io")
    uris = f"{REDIRECT_URI} https://github.io/callback https://elsewhere.github.io/callback"
    as_the_version_before_left_it(client, redirect_uris=uris, reviewed_hosts="app.example.com elsewhere.github.io")
    migrate()
    client = fresh(client)
    assert client.approved_domains == "github.io"
    assert client.reviewed_hosts == "app.example.com github.io"


@pytest.mark.parametrize("way", ["lost", "removed"])
def test_an_app_whose_home_page_was_given_up_loses_the_badge(
    app: Client, developer: Account, reviewer: Account, way: str
) -> None:
    client = approved(app, developer, reviewer)
    if way == "lost":
        client.project.domains.update(lost_at=clock.now())
    else:
        claims.remove_domain(client.project.domains.get(), developer)
    as_the_version_before_left_it(client)
    migrate()
    assert not fresh(client).carries_badge


def test_an_app_that_was_never_asked_for_a_proof_keeps_the_badge(project: Project) -> None:
    client = make_client(project, home_page_url="https://orbit.test/", **as_reviewed())
    migrate()
    assert fresh(client).carries_badge
    assert counts_as_reviewed(fresh(client), REDIRECT_URI)
