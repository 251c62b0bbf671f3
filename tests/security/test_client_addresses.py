"""The client's IP address in every spelling that a listener or a proxy may give it; nobody chooses or shares one."""

from typing import Any

import pytest
from django.test import RequestFactory

from core.http import client_ip
from core.settings_checks import check_proxies
from tests.security.test_limits import is_limited, token_failure

PROXY = "10.0.0.1"


def address_of(peer: str, forwarded: str | None = None) -> str:
    headers: dict[str, Any] = {} if forwarded is None else {"HTTP_X_FORWARDED_FOR": forwarded}
    return client_ip.client_ip(RequestFactory().get("/", REMOTE_ADDR=peer, **headers))


def key_of(peer: str, forwarded: str | None = None) -> str:
    headers: dict[str, Any] = {} if forwarded is None else {"HTTP_X_FORWARDED_FOR": forwarded}
    return client_ip.limit_key(RequestFactory().get("/", REMOTE_ADDR=peer, **headers))


@pytest.fixture
def proxied(settings: Any) -> None:
    settings.TRUSTED_PROXIES = ["10.0.0.0/8"]


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("203.0.113.5", "203.0.113.5"),
        ("::ffff:203.0.113.5", "203.0.113.5"),
        ("::FFFF:203.0.113.5", "203.0.113.5"),
        ("::ffff:cb00:7105", "203.0.113.5"),
        ("0:0:0:0:0:ffff:203.0.113.5", "203.0.113.5"),
        ("[::ffff:203.0.113.5]", "203.0.113.5"),
        ("[::ffff:203.0.113.5]:50123", "203.0.113.5"),
        ("203.0.113.5:50123", "203.0.113.5"),
        (" 203.0.113.5:1 ", "203.0.113.5"),
        ("[2001:db8::7]", "2001:db8::7"),
        ("[2001:DB8::7]:443", "2001:db8::7"),
        ("2001:db8:0:0::7", "2001:db8::7"),
        ("2001:db8::7%eth0", "2001:db8::7"),
        ("[2001:db8::7%25eth0]:443", "2001:db8::7"),
    ],
)
def test_each_spelling_is_the_same_ip_address(written: str, address: str, proxied: None) -> None:
    assert address_of(PROXY, written) == address
    assert address_of(f"::ffff:{PROXY}", f"192.0.2.1, {written}") == address
    assert address_of(written) == address


MALFORMED = [
    "", " ", "unknown", "_hidden", "203.0.113.5:", "203.0.113.5:x", "203.0.113.5:-1", "203.0.113.5:99999",
    "203.0.113.5:123456789012", "203.0.113.5:\u0661", "203.0.113.5:80:80", "::ffff:203.0.113.5:80:", "203.0.113.05",
    "203.0.113.256", "203.0.113", "3405803781", "0xcb007105", "[203.0.113.5]", "[203.0.113.5]:80", "[2001:db8::7",
    "2001:db8::7]", "[2001:db8::7]80", "[2001:db8::7]:", "[[2001:db8::7]]", "[]", "[]:80", ":80", "%", "[%]",
    "2001:db8::7%",
    "203.0.113.5\x00", "203.0.113.5/32", "for=203.0.113.5", '"203.0.113.5"', "é", "\u0662\u066003.0.113.5",
    "1" * 5000, "[" * 5000, ":" * 5000,
]  # fmt: skip


@pytest.mark.parametrize("written", MALFORMED)
def test_a_malformed_entry_is_no_ip_address(written: str, proxied: None) -> None:
    """The nearest address that is known counts: callers can't choose one, and nothing fails."""
    assert address_of(PROXY, written) == PROXY
    assert address_of(PROXY, f"192.0.2.1, {written}") == PROXY
    assert address_of(PROXY, f"{written}, 198.51.100.3") == "198.51.100.3"
    assert address_of(written) == "0.0.0.0"
    assert key_of(PROXY, written) == PROXY


def test_forwarding_headers_of_unknown_callers_are_ignored(proxied: None) -> None:
    assert address_of("203.0.113.9", "192.0.2.1") == "203.0.113.9"
    assert address_of("::ffff:203.0.113.9", "192.0.2.1") == "203.0.113.9"


def test_a_proxy_is_recognized_in_each_spelling(settings: Any) -> None:
    for named in ("10.0.0.0/8", "10.0.0.1", "::ffff:10.0.0.0/104", "::ffff:10.0.0.1"):
        settings.TRUSTED_PROXIES = [named]
        for peer in ("10.0.0.1", "::ffff:10.0.0.1", "::ffff:a00:1"):
            assert client_ip.is_proxy(peer), (named, peer)
            assert address_of(peer, "203.0.113.5") == "203.0.113.5"
        assert not client_ip.is_proxy("203.0.113.5")
        assert not client_ip.is_proxy("::ffff:203.0.113.5")


def test_a_hop_with_a_port_is_a_proxy_too(proxied: None) -> None:
    assert address_of(PROXY, "203.0.113.5:50123, 10.0.0.2:40000") == "203.0.113.5"


def test_a_network_of_all_ipv4_addresses_is_refused(settings: Any) -> None:
    settings.TRUSTED_PROXIES = ["::ffff:0:0/96"]
    assert [found.id for found in check_proxies(None)] == ["devportal.E015"]


def test_limits_count_ipv4_by_address_and_ipv6_by_64(proxied: None) -> None:
    assert key_of("::ffff:203.0.113.5") == key_of("203.0.113.5") == key_of(PROXY, "203.0.113.5:99") == "203.0.113.5"
    assert key_of("::ffff:203.0.113.6") != key_of("::ffff:203.0.113.5")
    assert key_of("2001:db8:1:2::9") == key_of(PROXY, "[2001:db8:1:2:ffff::1]:5") == "2001:db8:1:2::/64"
    assert key_of("2001:db8:1:3::9") != key_of("2001:db8:1:2::9")
    assert key_of("fe80::1%eth0") == "fe80::/64"


def test_ipv4_mapped_callers_do_not_share_a_limit(db: None) -> None:
    for _ in range(31):
        last = token_failure("::ffff:203.0.113.5")
    assert is_limited(last)
    assert is_limited(token_failure("203.0.113.5"))
    assert token_failure("::ffff:203.0.113.6").status_code == 401


def test_ports_in_the_header_do_not_multiply_a_limit(db: None, proxied: None) -> None:
    for n in range(31):
        last = token_failure(PROXY, **{"X-Forwarded-For": f"203.0.113.5:{50_000 + n}"})
    assert is_limited(last)
    assert token_failure(PROXY, **{"X-Forwarded-For": "203.0.113.6:50000"}).status_code == 401
