"""Asking name servers for what developers name: failures, silence, TXT records, and names of one's own machine."""

from pathlib import Path
from typing import Any

import dns.resolver
import pytest

from core import outbound
from core.outbound import name_lookup
from core.outbound.limits import MAX_TXT_CHARACTERS, MAX_TXT_RECORDS, Deadline
from core.outbound.name_lookup import LOOPBACK, find_addresses
from tests.security.outbound_rig import ALSO_PUBLIC, NAME, PUBLIC, URL, Rig, assert_refused, kind_of
from tests.services import pages

# --- Name servers ---


def test_an_unknown_name_has_no_ip_address(rig: Rig) -> None:
    assert_refused("https://nothing.test/", "no_address", "no IP address")
    rig.names.set("text.test", "TXT", "only")
    assert_refused("https://text.test/", "no_address", "no IP address")


@pytest.mark.parametrize("code", ["SERVFAIL", "REFUSED", "NOTIMP", "FORMERR"])
def test_name_servers_that_fail_are_named_as_the_reason(code: str, rig: Rig) -> None:
    rig.names.fail("broken.test", code)
    assert_refused("https://broken.test/", "dns_failed", "name servers")
    with pytest.raises(outbound.OutboundRefused) as caught:
        outbound.txt_records("broken.test")
    assert caught.value.code == "dns_failed"


def test_silent_name_servers_time_out(rig: Rig) -> None:
    rig.names.fall_silent("silent.test")
    with rig.hurry():
        assert_refused("https://silent.test/", "dns_timeout", "did not answer")
    with rig.hurry(), pytest.raises(outbound.OutboundRefused, match="did not answer") as caught:
        outbound.txt_records("silent.test")
    assert caught.value.code == "dns_timeout"


def test_a_name_whose_ipv6_lookup_fails_is_rejected(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every address has to be known to be public, so both questions need an answer."""
    whole = rig.names.answer
    monkeypatch.setattr(rig.names, "answer", lambda wire: None if b"\x00\x1c\x00\x01" in wire else whole(wire))
    with rig.hurry():
        assert_refused(URL, "dns_timeout", "did not answer")
    assert rig.dialled == []


def test_the_systems_resolver_is_asked_if_no_other_is_named(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.DNS_SERVERS = []
    made: list[dns.resolver.Resolver] = []
    monkeypatch.setattr(dns.resolver.Resolver, "read_resolv_conf", lambda self, path: made.append(self))
    monkeypatch.setattr(dns.resolver.Resolver, "resolve", lambda self, *_, **__: [])
    assert outbound.txt_records("example.org") == []
    assert len(made) == 1


# --- TXT records ---


def test_txt_records_are_read_with_their_strings_joined(rig: Rig) -> None:
    rig.names.set("_proof.shop.test", "TXT", "one", '"two and " "a half"', r"\195\188ber", r"\255")
    assert set(outbound.txt_records("_proof.shop.test")) == {"one", "two and a half", "über", "\ufffd"}


def test_a_missing_name_or_record_is_an_empty_list(rig: Rig) -> None:
    assert outbound.txt_records("nothing.shop.test") == []
    assert outbound.txt_records(NAME) == []


def test_txt_records_that_fill_more_than_a_datagram_are_read_too(rig: Rig) -> None:
    rig.names.set(NAME, "TXT", *(f"{number:0200d}" for number in range(MAX_TXT_RECORDS)))
    assert len(outbound.txt_records(NAME)) == MAX_TXT_RECORDS


def test_txt_records_are_bounded_in_number_and_length(rig: Rig) -> None:
    long = " ".join(f'"{"x" * 205}"' for _ in range(5))  # 1,025 characters
    rig.names.set(NAME, "TXT", long, "short")
    assert MAX_TXT_CHARACTERS == 1024
    assert outbound.txt_records(NAME) == ["short"]
    rig.names.set(NAME, "TXT", *(f"{number}" for number in range(MAX_TXT_RECORDS + 1)))
    with pytest.raises(outbound.OutboundRefused, match="too many") as caught:
        outbound.txt_records(NAME)
    assert caught.value.code == "too_many_records"


@pytest.mark.parametrize(
    "name", ["", ".", "shop", "a..test", "a b.test", "a\\.test", f"{'a' * 64}.test", "a\x00.test", "ü.test"]
)
def test_an_invalid_name_is_rejected(name: str, rig: Rig) -> None:
    with pytest.raises(outbound.OutboundRefused) as caught:
        outbound.txt_records(name)
    assert caught.value.code == "host"
    assert rig.names.questions == []


# --- Trying it on one machine ---


def test_loopback_is_asked_by_plain_http_only_where_a_port_is_set(rig: Rig, settings: Any) -> None:
    rig.names.set("mine.test", "A", "127.0.0.1")
    rig.names.set("mine.test", "AAAA", "::1")
    with pages.serve() as local:
        local.set("/", "tried")
        local.redirect("/away", "https://mine.test/")
        settings.OUTBOUND_LOOPBACK_PORT = local.port
        rig.roads["127.0.0.1", local.port] = local.port
        for url in ("https://mine.test/", "https://any.localhost/", "https://mine.test/away"):
            assert outbound.fetch(url).text == "tried"
        assert local.requests[0].host == "mine.test"
        settings.OUTBOUND_LOOPBACK_PORT = 0
        assert_refused("https://mine.test/", "private_address", "not public")


@pytest.mark.parametrize("also", [PUBLIC, "10.0.0.1", "169.254.169.254", "::1", ALSO_PUBLIC, "::ffff:127.0.0.1"])
def test_with_a_port_set_nothing_else_that_is_not_public_is_asked(also: str, rig: Rig, settings: Any) -> None:
    settings.OUTBOUND_LOOPBACK_PORT = rig.site.port
    rig.names.set("mixed.test", kind_of(also), also)
    rig.names.set("mixed.test", "A", "10.9.9.9" if also == "::1" else "127.0.0.1", *([also] if "." in also[:4] else []))
    assert_refused("https://mixed.test/", "private_address", "not public")
    assert outbound.fetch(URL).status == 404  # public hosts are asked as ever, by TLS
    assert rig.dialled == [(PUBLIC, 443)]


def test_the_hosts_file_counts_only_for_apps_in_development_and_only_for_this_machine(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("# 127.0.0.1 commented.test\n127.0.0.1 localhost suite.test # a suite\n10.0.0.9 inside.test\n\n")
    monkeypatch.setattr(name_lookup, "HOSTS_FILE", hosts)
    assert find_addresses("suite.test", Deadline(), loopback=True) == (LOOPBACK,)
    for host, loopback in (("suite.test", False), ("inside.test", True), ("commented.test", True)):
        with pytest.raises(outbound.OutboundRefused) as caught:
            find_addresses(host, Deadline(), loopback=loopback)
        assert caught.value.code == "no_address"
