"""What proves a domain: the record or the file, with the very value; and what only looks like it."""

from typing import Any

import pytest

from core.outbound import MAX_BYTES, Answer, Code, OutboundRefused
from oidc.domains.proofs import check_proofs, file_url, record_name
from oidc.models import ProjectDomain
from tests.oidc.domains.internet import Internet, page

pytestmark = pytest.mark.django_db


def test_names_and_addresses_do_not_depend_on_settings(settings: Any) -> None:
    settings.SERVICE_NAME = "Another"
    assert record_name("example.com") == "_openport-challenge.example.com"
    assert file_url("example.com") == "https://example.com/.well-known/openport-challenge.txt"


@pytest.mark.parametrize("written", ["{}", '"{}"', "openport {}", "{} added by Olga"])
def test_a_record_with_the_value_proves(internet: Internet, domain: ProjectDomain, written: str) -> None:
    internet.publish_record(domain, "v=spf1 -all", written.format(domain.token))
    seen = check_proofs(domain)
    assert seen.dns.found
    assert internet.asked == [record_name(domain.name)], "the file is not asked for as well"


@pytest.mark.parametrize("written", ["", "x{}", "{}x", "openport={}", "{}{}", "é" * 70_000])
def test_a_record_with_something_else_does_not(internet: Internet, domain: ProjectDomain, written: str) -> None:
    internet.publish_record(domain, written.format(domain.token, domain.token))
    seen = check_proofs(domain)
    assert not seen.dns.found
    assert seen.dns.code == "other_records"
    assert not seen.dns.is_temporary


def test_another_projects_value_proves_nothing(internet: Internet, domain: ProjectDomain) -> None:
    internet.publish_record(domain, ProjectDomain(name=domain.name).token)
    assert not check_proofs(domain).dns.found


def test_the_case_of_a_value_matters(internet: Internet, domain: ProjectDomain) -> None:
    internet.publish_record(domain, domain.token.swapcase())
    internet.publish_file(domain, domain.token.swapcase())
    seen = check_proofs(domain)
    assert seen.file is not None
    assert not seen.dns.found
    assert not seen.file.found


def test_many_records_without_the_value_prove_nothing(internet: Internet, domain: ProjectDomain) -> None:
    internet.publish_record(domain, *["x" * 200] * 100_000)
    assert not check_proofs(domain).dns.found


@pytest.mark.parametrize("written", ["{}", "{}\n", "\r\n {}\t\n"])
def test_a_file_must_contain_only_the_value(internet: Internet, domain: ProjectDomain, written: str) -> None:
    internet.publish_file(domain, written.format(domain.token))
    seen = check_proofs(domain)
    assert seen.file is not None
    assert seen.file.found
    assert not seen.dns.found


@pytest.mark.parametrize(
    "written",
    ["", "<p>{}</p>", "{} {}", "{}\n{}", "{}\x00", "\ufeff{}", "{}" + "\n" * 100 + "x", "404: {} was not found"],
)
def test_a_file_with_more_or_less_does_not(internet: Internet, domain: ProjectDomain, written: str) -> None:
    internet.publish_file(domain, written.format(domain.token, domain.token))
    seen = check_proofs(domain)
    assert seen.file is not None
    assert not seen.file.found


def test_a_host_that_repeats_what_is_asked_for_proves_nothing(
    internet: Internet, domain: ProjectDomain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The value is in nothing that is sent, so that nothing can be repeated."""
    monkeypatch.setattr("oidc.domains.proofs.outbound.fetch", lambda url: page(url, url))
    monkeypatch.setattr("oidc.domains.proofs.outbound.txt_records", lambda name: [name])
    seen = check_proofs(domain)
    assert seen.file is not None
    assert not seen.dns.found
    assert not seen.file.found
    assert domain.token not in file_url(domain.name) + record_name(domain.name)


@pytest.mark.parametrize("status", [201, 301, 403, 404])
def test_only_200_proves(internet: Internet, domain: ProjectDomain, status: int) -> None:
    internet.publish_file(domain, page(file_url(domain.name), domain.token, status))
    seen = check_proofs(domain)
    assert seen.file is not None
    assert not seen.file.found
    assert seen.file.parameters == {"status": status}
    assert not seen.file.is_temporary


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_error_is_not_a_result(internet: Internet, domain: ProjectDomain, status: int) -> None:
    internet.publish_file(domain, page(file_url(domain.name), domain.token, status))
    seen = check_proofs(domain)
    assert seen.file is not None
    assert (seen.file.found, seen.file.is_temporary) == (False, True)


@pytest.mark.parametrize("host", ["www.example.com", "example.com.evil.example"])
def test_an_answer_of_another_host_proves_nothing(internet: Internet, domain: ProjectDomain, host: str) -> None:
    internet.publish_file(domain, page(file_url(host), domain.token))
    seen = check_proofs(domain)
    assert seen.file is not None
    assert not seen.file.found
    assert seen.file.code == "another_host"


def test_binary_or_oversized_files_prove_nothing(internet: Internet, domain: ProjectDomain) -> None:
    internet.publish_file(domain, Answer(file_url(domain.name), 200, "", b"\xff" * MAX_BYTES))
    seen = check_proofs(domain)
    assert seen.file is not None
    assert not seen.file.found


@pytest.mark.parametrize(
    ("code", "is_temporary"),
    [
        ("dns_failed", True), ("dns_timeout", True), ("timeout", True), ("unreachable", True), ("certificate", True),
        ("no_address", False), ("private_address", False), ("redirect", False),
        ("too_large", False),
    ],
)  # fmt: skip
def test_a_blocked_request_is_stored_with_its_code(
    internet: Internet, domain: ProjectDomain, code: str, is_temporary: bool
) -> None:
    refused = OutboundRefused(Code(code), error="why")
    internet.records[record_name(domain.name)] = internet.files[file_url(domain.name)] = refused
    seen = check_proofs(domain)
    assert seen.file is not None
    for each in (seen.dns, seen.file):
        assert not each.found
        assert each.is_temporary == is_temporary
        assert (each.code, each.parameters) == (code, {"error": "why"})
