"""Requests to addresses that developers name reach public hosts alone: which names and addresses are refused.

How an address may be written is in test_outbound_urls.py, what answers may do in test_outbound_answers.py, and name
servers are in test_outbound_names.py.
"""

import ipaddress
from typing import Any

import pytest

from core import outbound
from core.outbound.limits import MAX_DIALLED
from core.outbound.targets import TEXTS, Code, is_public
from tests.security.outbound_rig import ALSO_PUBLIC, NAME, PUBLIC, URL, Rig, assert_refused, kind_of, refused

NOT_PUBLIC = {
    "loopback": "127.0.0.1",
    "loopback, another": "127.8.9.10",
    "unspecified": "0.0.0.0",
    "this network": "0.1.2.3",
    "private, class A": "10.1.2.3",
    "private, class B": "172.16.0.1",
    "private, the end of class B": "172.31.255.254",
    "private, class C": "192.168.1.1",
    "the cloud's credentials": "169.254.169.254",
    "link-local": "169.254.0.1",
    "CGNAT": "100.64.0.1",
    "the cloud's credentials behind CGNAT": "100.100.100.200",
    "the end of CGNAT": "100.127.255.255",
    "what Azure's machines ask": "168.63.129.16",
    "protocol assignments": "192.0.0.192",
    "documentation 1": "192.0.2.1",
    "documentation 2": "198.51.100.1",
    "documentation 3": "203.0.113.1",
    "relays of 6to4": "192.88.99.1",
    "benchmarks": "198.18.0.1",
    "multicast": "224.0.0.1",
    "multicast, global": "233.252.1.1",
    "reserved": "240.0.0.1",
    "broadcast": "255.255.255.255",
    "IPv6 loopback": "::1",
    "IPv6 unspecified": "::",
    "IPv4-mapped loopback": "::ffff:127.0.0.1",
    "IPv4-mapped credentials": "::ffff:169.254.169.254",
    "IPv4-mapped public": f"::ffff:{PUBLIC}",
    "IPv4-compatible": "::127.0.0.1",
    "IPv4-translated": "::ffff:0:127.0.0.1",
    "NAT64": "64:ff9b::a9fe:a9fe",
    "NAT64 of a public one": "64:ff9b::5db8:d822",
    "NAT64, local": "64:ff9b:1::a9fe:a9fe",
    "discard": "100::1",
    "Teredo": "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "IPv6 benchmarks": "2001:2::1",
    "ORCHID": "2001:20::1",
    "IPv6 documentation": "2001:db8::1",
    "IPv6 documentation, the newer": "3fff::1",
    "6to4": "2002:7f00:1::1",
    "6to4 of a public one": "2002:5db8:d822::1",
    "unique local": "fd00:ec2::254",
    "unique local, the other half": "fc00::1",
    "IPv6 link-local": "fe80::1",
    "site-local": "fec0::1",
    "IPv6 multicast": "ff02::1",
    "IPv6 multicast, global": "ff0e::1",
    "segment routing": "5f00::1",
    "not assigned": "4000::1",
}
PUBLIC_ONES = (PUBLIC, "1.1.1.1", "172.15.255.255", "172.32.0.1", "100.63.0.1", "100.128.0.1", "192.169.0.1", "8.8.8.8")
PUBLIC_IPV6 = (ALSO_PUBLIC, "2a00:1450:4001::1", "2001:4860:4860::8888", "2003::1")


def test_a_request_to_a_public_host_returns_its_response(rig: Rig) -> None:
    rig.site.set("/about?a=1", "<title>Shop</title>")
    answer = outbound.fetch(f"https://{NAME}/about?a=1#part")
    assert (answer.url, answer.status, answer.text) == (f"https://{NAME}/about?a=1", 200, "<title>Shop</title>")
    assert answer.content_type == "text/html; charset=utf-8"
    assert rig.dialled == [(PUBLIC, 443)]


def test_an_error_status_is_a_response(rig: Rig) -> None:
    assert outbound.fetch(URL).status == 404


def test_a_request_contains_only_the_name_of_the_service(rig: Rig, settings: Any) -> None:
    settings.SERVICE_NAME, settings.AUTH_URL = "Ünïque ID\r\nCookie: a", "https://id.example.org"
    rig.site.set("/", "hello", headers={"Set-Cookie": "a=b"})
    outbound.fetch(URL)
    outbound.fetch(URL)
    assert len(rig.site.requests) == 2
    for request in rig.site.requests:
        assert set(request.headers) == {"host", "user-agent", "accept", "accept-encoding", "connection"}
        assert request.host == NAME
        assert request.headers["accept-encoding"] == "identity"
        assert request.headers["user-agent"].endswith("(+https://id.example.org)")


# --- Addresses that are not public ---


def test_a_name_that_resolves_to_a_private_ip_address_is_rejected_without_telling_it(rig: Rig) -> None:
    for kind, address in NOT_PUBLIC.items():
        rig.names.set("aimed.test", "A")
        rig.names.set("aimed.test", "AAAA")
        rig.names.set("aimed.test", kind_of(address), address)
        expected = ("private_address", "The host has an IP address that is not public.")
        assert refused("https://aimed.test/") == expected, kind
    assert rig.dialled == []


@pytest.mark.parametrize("address", [*PUBLIC_ONES, *PUBLIC_IPV6])
def test_public_ip_addresses_are_allowed(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "records",
    [
        {"A": (PUBLIC, "10.0.0.1")},
        {"A": ("10.0.0.1", PUBLIC)},
        {"A": (PUBLIC,), "AAAA": ("fd00::1",)},
        {"A": ("127.0.0.1",), "AAAA": (ALSO_PUBLIC,)},
        {"A": (*(f"93.184.217.{number}" for number in range(1, 60)), "169.254.169.254")},
    ],
    ids=["the second", "the first", "of the other family", "loopback and public", "the last of many"],
)
def test_one_private_ip_address_among_several_is_rejected(records: dict[str, tuple[str, ...]], rig: Rig) -> None:
    for kind, addresses in records.items():
        rig.names.set("mixed.test", kind, *addresses)
    assert_refused("https://mixed.test/", "private_address", "not public")
    assert rig.dialled == []


def test_cname_chains_are_followed(rig: Rig) -> None:
    rig.names.set("alias.test", "CNAME", "inner.test")
    rig.names.set("inner.test", "CNAME", "innermost.test")
    rig.names.set("innermost.test", "A", "10.0.0.1")
    assert_refused("https://alias.test/", "private_address", "not public")
    rig.names.set("innermost.test", "A", PUBLIC)
    assert_refused("https://alias.test/", "certificate", "Hostname mismatch")


def test_cname_loops_are_rejected(rig: Rig) -> None:
    rig.names.set("a.test", "CNAME", "b.test")
    rig.names.set("b.test", "CNAME", "a.test")
    assert refused("https://a.test/")[0] in ("no_address", "dns_failed")


# --- Rebinding ---


def test_a_name_is_resolved_once_per_request(rig: Rig) -> None:
    rig.names.rotate(NAME, "A", [PUBLIC], ["127.0.0.1"], ["169.254.169.254"])
    rig.site.redirect("/", "/next")
    rig.site.redirect("/next", "/last")
    rig.site.set("/last", "here")
    assert outbound.fetch(URL).text == "here"
    assert rig.names.questions == [(NAME, "A"), (NAME, "AAAA")]
    assert rig.dialled == [(PUBLIC, 443)] * 3
    assert_refused(URL, "private_address", "not public")  # the next time the name is looked up again
    assert len(rig.dialled) == 3


def test_the_name_stays_in_the_certificates_check_and_in_the_request(rig: Rig) -> None:
    rig.site.set("/", "hello")
    outbound.fetch(URL)
    assert (rig.site.server_names, rig.site.requests[0].host) == ([NAME], NAME)


def test_a_few_ip_addresses_are_tried_in_turn(rig: Rig) -> None:
    rig.names.set(NAME, "A", "93.184.216.1")
    rig.names.set(NAME, "AAAA", ALSO_PUBLIC)
    rig.roads[ALSO_PUBLIC, 443] = rig.site.port
    assert outbound.fetch(URL).status == 404
    assert [address for address, _ in rig.dialled] == ["93.184.216.1", ALSO_PUBLIC]
    rig.names.set(NAME, "A", *(f"93.184.217.{number}" for number in range(1, 40)))
    del rig.dialled[:]
    assert_refused(URL, "unreachable", "no connection")
    assert len(rig.dialled) == MAX_DIALLED


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY"])
def test_proxies_of_the_environment_are_ignored(variable: str, rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "http://127.0.0.1:9")
    assert outbound.fetch(URL).status == 404
    assert rig.dialled == [(PUBLIC, 443)]


# --- Entries ---


def test_each_code_has_a_text_without_ip_addresses() -> None:
    assert set(TEXTS) == set(Code)
    for code, sentence in TEXTS.items():
        assert sentence[0].isupper(), code
        assert sentence.format(error="x", cause="Y.").endswith("."), code
        assert not any(word in sentence for word in ("127.", "10.", "loopback", "private", "internal")), code
