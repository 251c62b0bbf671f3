"""`domains` of `[[projects]]` in a provisioned file: the operator's word."""

from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from devportal.lib import clock
from oidc.domains.tasks import check_domains
from oidc.models import Client, Project, ProjectDomain
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
    def apply(domains: str) -> Project:
        file = tmp_path / "file.toml"
        file.write_text(FILE.format(domains), encoding="utf-8")
        call_command("provision", file)
        return Project.objects.get()

    return apply


def test_declared_domains_are_proven_and_nobody_looks_for_them(provision: Any, internet: Internet) -> None:
    provision('domains = ["https://Example.com/", "bücher.example"]')
    rows = ProjectDomain.objects.order_by("name")
    assert [(row.name, state(row)) for row in rows] == [
        ("example.com", "proven by operator"),
        ("xn--bcher-kva.example", "proven by operator"),
    ]
    assert check_domains() == 0
    assert internet.asked == []


def test_again_changes_nothing_and_what_is_left_out_stays(provision: Any) -> None:
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
    app = make_client(
        project, name="Other", verified_at=clock.now(), approved_hosts="", redirect_uris="https://a.example.com/cb"
    )
    provision('domains = ["example.com"]')
    assert Client.objects.get(pk=app.pk).reviewed_hosts == "a.example.com"


@pytest.mark.parametrize(
    ("domains", "said"),
    [
        ('domains = ["localhost"]', r"projects\[0\].domains\[0\]: localhost is"),
        ('domains = ["ok.example", "192.0.2.1"]', r"projects\[0\].domains\[1\]: An IP address"),
        ("domains = [1]", r"projects\[0\].domains\[0\]: must be a text"),
        ('domains = "example.com"', r"projects\[0\].domains: must be a list"),
        ('domains = ["example.com", "EXAMPLE.com"]', r"projects\[0\].domains: names something twice"),
        ('domains = ["a\\u0000.example"]', r"projects\[0\].domains\[0\]: "),
    ],
)
def test_a_bad_list_is_refused_by_its_key_and_changes_nothing(provision: Any, domains: str, said: str) -> None:
    make_account("somebody@example.com")
    with pytest.raises(CommandError, match=said):
        provision(domains)
    assert not ProjectDomain.objects.exists()
    assert not Project.objects.exists()
