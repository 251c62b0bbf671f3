"""How an address may be written that the service is to ask: what is no plain https address of a host is refused."""

from typing import Any

import pytest

from core import outbound
from tests.security.outbound_rig import NAME, URL, Rig, assert_refused

LITERALS = (
    "127.0.0.1", "127.1", "127.0.1", "127.0.0.1.", "0", "0.0.0.0", "2130706433", "0x7f000001", "0x7f.1", "0x7f.0.0.0x1",
    "0177.0.0.1", "017700000001", "127.0.0.01", "127.0.0.1:443", "169.254.169.254", "0xa9fea9fe", "2852039166",
    "0251.0376.0251.0376", "93.184.216.34", "1.2.3.4.5", "256.256.256.256", "example.0x", "example.09", "[::1]", "[::]",
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[fe80::1%25eth0]", "[fd00:ec2::254]", "[64:ff9b::a9fe:a9fe]",
    "[2002:7f00:1::]", "[v1.a]", "[",
)  # fmt: skip


def test_an_ip_address_for_a_host_is_refused_in_each_spelling(rig: Rig) -> None:
    for host in LITERALS:
        assert_refused(f"https://{host}/", "ip_literal", "IP address")
    assert (rig.names.questions, rig.dialled) == ([], [])


# URLs that are refused, by the code and a word of the refusal.
UNUSUAL = {
    ("scheme", "https://"): (
        "http://shop.test/", "ftp://shop.test/", "file:///etc/passwd", "gopher://shop.test/", "//shop.test/",
        "shop.test", "https:shop.test", "",
    ),
    ("userinfo", "user name"): (
        "https://user@shop.test/", "https://user:password@shop.test/", "https://shop.test@127.0.0.1/",
        "https://127.0.0.1%00@shop.test/", "https://@shop.test/",
    ),
    ("port", "443"): (
        "https://shop.test:80/", "https://shop.test:22/", "https://shop.test:0443/", "https://shop.test:443443/",
        "https://shop.test:443:80/",
    ),
    ("host", "domain name"): (
        "https://shop.test:\uff14\uff14\uff13/",
        "https://\u212aiosk.test/",  # the sign of kelvin, whose lower case is a k
        "https://\uff53hop.test/", "https://", "https:///shop.test", "https://intranet/", "https://localhost/",
        "https://shop.test./", "https://.shop.test/", "https://shop..test/", "https://-shop.test/",
        "https://shop_.test/", "https://shöp.test/", "https://①②⑦.⓪.⓪.①/", "https://127。0。0。1/",
        "https://%31%32%37.0.0.1.test%2f/", "https://xn--.test/", f"https://{'a' * 64}.test/",
        f"https://{'a.' * 130}test/",
    ),
    ("url", "characters"): (
        "https://shop.test\\@127.0.0.1/", "https://shop.test\t/", "https://shop.test/a b",
        "https://shop.test/\r\nHost: 127.0.0.1", "https://shop.test\x00.example/", " https://shop.test/",
        "https://shop.test/\ud800",
    ),
    ("url", "too long"): (f"https://shop.test/{'a' * 2048}",),
}  # fmt: skip


def test_unusual_urls_are_rejected_before_any_lookup(rig: Rig) -> None:
    for (code, word), urls in UNUSUAL.items():
        for url in urls:
            assert_refused(url, code, word)
    assert (rig.names.questions, rig.dialled) == ([], [])


@pytest.mark.parametrize("host", ["a.localhost", "a.b.localhost", "A.LOCALHOST"])
def test_names_below_localhost_are_not_looked_up(host: str, rig: Rig) -> None:
    assert_refused(f"https://{host}/", "private_address", "not public")
    assert rig.names.questions == []


@pytest.mark.parametrize("host", ["id.own.test", "ID.own.test", "api.own.test", "adm.own.test", "too.test", "a.b.test"])
def test_requests_to_the_service_itself_are_rejected(host: str, rig: Rig, settings: Any) -> None:
    settings.AUTH_URL, settings.BASE_URL = "https://id.own.test", "https://api.own.test:8443"
    settings.ADMIN_URL, settings.ALLOWED_HOSTS = "https://adm.own.test", ["too.test", ".b.test", "*"]
    assert_refused(f"https://{host}/", "own_address", "service itself")
    assert rig.names.questions == []
    assert outbound.fetch(URL).status == 404  # `*` does not make every host the service's own


def test_upper_case_and_default_ports_are_accepted(rig: Rig) -> None:
    assert outbound.fetch("HTTPS://Shop.TEST:443").url == URL


def test_a_path_in_another_script_is_sent_encoded(rig: Rig) -> None:
    rig.site.set("/%C3%BCber?q=%E2%82%AC&r=%2F", "hello")
    assert outbound.fetch(f"https://{NAME}/über?q=€&r=%2F").text == "hello"
