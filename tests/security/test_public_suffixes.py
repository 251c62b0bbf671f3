"""Nobody proves a domain under which anyone can register, and no proof reaches past one."""

from pathlib import Path

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.core.management.base import CommandError

from accounts.models import Account
from core import clock
from core.http.hosts import is_same_site
from oidc.clients.domain_names import is_covered
from oidc.domains import claims
from oidc.models import ProjectDomain
from tests.factories import make_account, make_client, make_domain, make_project

SUFFIXES = [
    "co.uk", "CO.UK.", "https://github.io/", "pages.dev", "s3.amazonaws.com", "cloudfront.net", "blogspot.com",
    "kawasaki.jp", "anything.ck", "xn--mxtq1m.xn--j6w193g", "個人.香港",
]  # fmt: skip


@pytest.fixture
def owner(db: None) -> Account:
    return make_account("dana@example.com")


@pytest.mark.parametrize("typed", SUFFIXES)
def test_a_public_suffix_is_not_added_to_a_project(owner: Account, typed: str) -> None:
    with pytest.raises(ValidationError, match="Anyone can register a domain below"):
        claims.add_domain(make_project(owner), typed, owner)
    assert not ProjectDomain.objects.exists()


@pytest.mark.parametrize("name", ["co.uk", "github.io"])
def test_an_operator_declares_no_public_suffix_either(owner: Account, tmp_path: Path, name: str) -> None:
    file = tmp_path / "file.toml"
    file.write_text(f'[[projects]]\nname = "Orbit"\nowner = "{owner.email}"\ndomains = ["{name}"]\n', encoding="utf-8")
    with pytest.raises(CommandError, match="Anyone can register a domain below"):
        call_command("provision", file)
    assert not ProjectDomain.objects.exists()


@pytest.mark.parametrize("method", [ProjectDomain.Method.DNS, ProjectDomain.Method.OPERATOR])
@pytest.mark.parametrize(
    ("name", "host", "covers"),
    [
        ("example.com", "www.example.com", True),
        ("orbit.github.io", "www.orbit.github.io", True),
        ("orbit.github.io", "other.github.io", False),
        ("github.io", "orbit.github.io", False),  # proven before it came on the list
        ("github.io", "github.io", True),
        ("amazonaws.com", "www.amazonaws.com", True),
        ("amazonaws.com", "s3.amazonaws.com", False),
        ("amazonaws.com", "bucket.s3.amazonaws.com", False),
        ("uk", "orbit.co.uk", False),
        ("co.uk", "orbit.co.uk", False),
        ("notexample.com", "example.com", False),
        ("intranet.lan", "app.intranet.lan", True),
    ],
)
def test_a_proof_reaches_no_further_than_the_next_public_suffix(
    name: str, host: str, covers: bool, method: str
) -> None:
    domain = ProjectDomain(name=name, method=method, proven_at=clock.now())
    assert domain.covers(host) is covers
    assert is_covered(host, [domain]) is covers


def test_an_app_on_a_shared_host_does_not_count_as_on_the_domain_above(owner: Account) -> None:
    project = make_project(owner)
    domain = make_domain(project, "github.io")
    make_client(project, home_page_url="https://orbit.github.io/", redirect_uris="https://orbit.github.io/callback")
    assert claims.apps_on(domain) == []


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("example.com", "www.example.com", True),
        ("a.example.co.uk", "b.example.co.uk", True),
        ("a.co.uk", "b.co.uk", False),
        ("a.github.io", "b.github.io", False),
        ("github.io", "b.github.io", False),
        ("a.b.example", "c.b.example", True),
        ("192.0.2.7", "198.51.2.7", False),
    ],
)
def test_hosts_below_a_public_suffix_are_not_taken_for_one_owners(one: str, other: str, same: bool) -> None:
    assert is_same_site(one, other) is same
