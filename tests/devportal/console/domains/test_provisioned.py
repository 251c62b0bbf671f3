"""`domains` of `[[projects]]` in a provisioned file: the operator's word."""

from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from accounts.models import Account
from core import clock
from oidc.clients.registration import update_client
from oidc.clients.reviewed_hosts import counts_as_reviewed
from oidc.domains import claims
from oidc.domains.results import refresh_reviewed_hosts
from oidc.models import Client, Project, ProjectDomain
from oidc.tasks import check_domains
from tests.factories import make_account, make_client, make_domain
from tests.oidc.domains.internet import Internet, state

pytestmark = pytest.mark.django_db

FILE = """
[[people]]
email = "dana@example.com"

[[projects]]
name = "Orbit"
owner = "dana@example.com"
{}

[[projects.clients]]
name = "Web"
type = "spa"
redirect_uris = ["https://www.example.com/callback"]
"""


@pytest.fixture
def provision(tmp_path: Path) -> Any:
    def apply(domains: str, more: str = "") -> Project:
        file = tmp_path / "file.toml"
        file.write_text(FILE.format(domains) + more, encoding="utf-8")
        call_command("provision", file)
        return Project.objects.get()

    return apply


def test_declared_domains_are_proven_without_checks(provision: Any, internet: Internet) -> None:
    provision('domains = ["https://Example.com/", "bücher.example"]')
    rows = ProjectDomain.objects.order_by("name")
    assert [(row.name, state(row)) for row in rows] == [
        ("example.com", "proven by operator"),
        ("xn--bcher-kva.example", "proven by operator"),
    ]
    assert check_domains() == 0
    assert internet.asked == []


def test_a_second_run_changes_nothing_and_keeps_undeclared_domains(provision: Any) -> None:
    provision('domains = ["example.com"]')
    before = list(ProjectDomain.objects.values())
    for domains in ('domains = ["example.com"]', "", "domains = []"):
        provision(domains)
        assert list(ProjectDomain.objects.values()) == before


def test_a_domain_that_was_added_by_hand_becomes_the_operators(provision: Any) -> None:
    project = provision("")
    moment = clock.now()
    lost = make_domain(project, missing_since=moment, lost_at=moment, check_at=moment)
    other = make_domain(project, "other.example")
    provision('domains = ["example.com"]')
    assert (state(lost), state(other)) == ("proven by operator", "proven by dns")


def test_reviewed_apps_that_the_file_does_not_name_follow(provision: Any) -> None:
    project = provision("")
    fields = {"verified_at": clock.now(), "approved_hosts": "", "redirect_uris": "https://a.example.com/cb"}
    covered = make_client(project, name="Other", approved_domains="example.com", **fields)
    other = make_client(project, name="Third", **fields)
    provision('domains = ["example.com"]')
    assert Client.objects.get(pk=covered.pk).reviewed_hosts == "a.example.com"
    assert Client.objects.get(pk=other.pk).reviewed_hosts == "", "its approval did not cover the domain"


def test_the_snapshot_of_a_client_declared_verified_is_its_declaration(provision: Any) -> None:
    project = provision('domains = ["example.com", "unused.example"]\n', "verified = true\n")
    app = Client.objects.get(project=project)
    assert (app.approved_hosts, app.approved_domains) == ("www.example.com", "example.com")
    make_domain(project, "later.example")
    Client.objects.update(redirect_uris="https://new.example.com/cb https://later.example/cb https://unused.example/cb")
    refresh_reviewed_hosts(project)
    assert Client.objects.get(pk=app.pk).reviewed_hosts == "www.example.com new.example.com"


def test_a_declaration_does_not_approve_domains_of_sign_out_urls_that_it_does_not_name(provision: Any) -> None:
    """Developers can change these URLs at any time, and would choose what the next run of the file approves."""
    project = provision('domains = ["example.com"]', "verified = true\n")
    developer, app = Account.objects.get(email="dana@example.com"), Client.objects.get()
    make_domain(project, "elsewhere.example")
    redirects = app.redirect_uris.split()
    update_client(app, developer, redirects, ["https://elsewhere.example/bye"])
    provision("", "verified = true\n")
    assert Client.objects.get().approved_domains == "example.com"
    app = update_client(app, developer, [*redirects, "https://elsewhere.example/callback"], [])
    assert not counts_as_reviewed(app, "https://elsewhere.example/callback")
    provision("", 'verified = true\npost_logout_redirect_uris = ["https://elsewhere.example/bye"]\n')
    assert Client.objects.get().approved_domains == "elsewhere.example example.com"


def test_a_file_that_does_not_declare_an_app_verified_leaves_what_reviewers_approved(provision: Any) -> None:
    """Otherwise developers would widen an approval by proving a domain that the reviewers did not see."""
    project = provision("")
    make_domain(project, "www.example.com")
    reviewed = {"verified_at": clock.now(), "home_page_url": "https://home.example/"}
    covered = {"approved_hosts": "www.example.com home.example", "approved_domains": "www.example.com home.example"}
    Client.objects.update(**reviewed, **covered)
    make_domain(project, "example.com")
    provision("")
    app = Client.objects.get()
    assert {name: getattr(app, name) for name in covered} == covered
    app = update_client(app, Account.objects.get(), [*app.redirect_uris.split(), "https://evil.example.com/cb"], [])
    assert not counts_as_reviewed(app, "https://evil.example.com/cb")
    assert counts_as_reviewed(app, "https://www.example.com/callback")


def test_applying_the_file_again_brings_no_badge_back_for_a_home_page_that_was_given_up(provision: Any) -> None:
    project = provision("", "verified = true\n")
    home = make_domain(project, "home.example")
    Client.objects.update(home_page_url="https://home.example/")
    claims.remove_domain(home, Account.objects.get(email="dana@example.com"))
    assert not Client.objects.get().carries_badge
    provision("", "verified = true\n")
    assert not Client.objects.get().carries_badge
    provision('domains = ["home.example"]', "verified = true\n")
    assert Client.objects.get().carries_badge


@pytest.mark.parametrize(
    ("domains", "said"),
    [
        ('domains = ["localhost"]', r"projects\[0\].domains\[0\]: localhost can"),
        ('domains = ["ok.example", "192.0.2.1"]', r"projects\[0\].domains\[1\]: An IP address"),
        ("domains = [1]", r"projects\[0\].domains\[0\]: must be a text"),
        ('domains = "example.com"', r"projects\[0\].domains: must be a list"),
        ('domains = ["example.com", "EXAMPLE.com"]', r"projects\[0\].domains: names something twice"),
        ('domains = ["a\\u0000.example"]', r"projects\[0\].domains\[0\]: "),
    ],
)
def test_a_bad_list_is_refused_by_its_key_and_changes_nothing(provision: Any, domains: str, said: str) -> None:
    make_account("someone@example.com")
    with pytest.raises(CommandError, match=said):
        provision(domains)
    assert not ProjectDomain.objects.exists()
    assert not Project.objects.exists()
