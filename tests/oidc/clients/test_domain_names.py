"""What people may type for a domain, what is kept of it, and what is refused with a reason."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from oidc.clients.domain_names import LONGEST_NAME, clean_domain_name
from oidc.domains.proofs import record_name

KEPT = {
    "example.com": "example.com",
    "  Example.COM. ": "example.com",
    "https://Example.com/path?query=1#part": "example.com",
    "HTTP://www.example.com:8443/": "www.example.com",
    "example.com/.well-known/x": "example.com",
    "example.com\\evil.example": "example.com",
    "bücher.example": "xn--bcher-kva.example",
    "https://BÜCHER.example/": "xn--bcher-kva.example",
    "straße.example": "xn--strae-oqa.example",
    "\uff45\uff58\uff41\uff4d\uff50\uff4c\uff45\u3002com": "example.com",
    "a-b.c1.example": "a-b.c1.example",
    "orbit.github.io": "orbit.github.io",
    "city.kawasaki.jp": "city.kawasaki.jp",  # an exception of the list
    "orbit.unlisted": "orbit.unlisted",
}
REFUSED = {
    "": "Enter a domain",
    "https://": "Enter a domain",
    ".": "such as example.com|consists of letters|Enter a domain",
    "com": "such as example.com",
    "localhost": "each person's own machine",
    "https://app.localhost:3000/": "each person's own machine",
    "127.0.0.1": "IP address",
    "http://192.0.2.7/": "IP address",
    "127.1": "IP address",
    "0x7f000001": "IP address",
    "\uff11\uff12\uff17.\uff10.\uff10.\uff11": "IP address",
    "[::1]": "IP address",
    "https://[2001:db8::1]/": "IP address",
    "::1": "domain alone",
    "ada@example.com": "before @",
    "https://user:word@example.com/": "before @",
    "*.example.com": "Remove the",
    "exa mple.com": "consists of letters",
    "_openport-challenge.example.com": "consists of letters",
    "-example.com": "consists of letters",
    "example-.com": "consists of letters",
    "example..com": "consists of letters",
    "example.com..": "dot at the end|consists of letters",
    "example.com%00": "consists of letters",
    "exam\u202eple.com": "not a domain",
    "exam\u200bple\u2028.com": "not a domain",
    "xn--zz--zz.example": "international name",
    "a" * 64 + ".example": "63 characters",
    "a." * 140 + "example": "at most 253|at most",
    "javascript:alert(1)": "domain alone",
    "x" * 3000: "too long",
    "co.uk": "Anyone can register a domain below co.uk.*such as example.co.uk",
    "https://GitHub.io/": "below github.io",
    "github.io.": "below github.io",
    "kawasaki.jp": "below kawasaki.jp",
    "anything.kawasaki.jp": "below anything.kawasaki.jp",  # by a wildcard
    "個人.香港": "below xn--gmqw5a.xn--j6w193g",
    "\ud800.example": "not a domain",
}


@pytest.mark.parametrize("typed", KEPT, ids=ascii)
def test_domain_names_are_normalized(typed: str) -> None:
    assert clean_domain_name(typed) == KEPT[typed]
    assert clean_domain_name(KEPT[typed]) == KEPT[typed]


@pytest.mark.parametrize("typed", REFUSED, ids=lambda typed: ascii(typed)[:40])
def test_invalid_domains_are_rejected_with_the_reason(typed: str) -> None:
    with pytest.raises(ValidationError, match=REFUSED[typed]):
        clean_domain_name(typed)


def test_the_longest_domain_leaves_room_for_its_record() -> None:
    name = ".".join(["a" * 59] * 4)[: LONGEST_NAME - 4] + ".com"
    assert len(name) == LONGEST_NAME
    assert len(record_name(clean_domain_name(name))) == 253
    with pytest.raises(ValidationError, match="at most"):
        clean_domain_name(f"b{name}")


def test_nobody_can_claim_the_services_hosts(settings: Any) -> None:
    settings.AUTH_URL, settings.BASE_URL = "https://id.portal.example", "https://api.portal.example"
    settings.ADMIN_URL = "https://desk.portal.example"
    for name in ("id.portal.example", "ID.Portal.Example", "x.api.portal.example", "desk.portal.example"):
        with pytest.raises(ValidationError, match="itself"):
            clean_domain_name(name)
        with pytest.raises(ValidationError, match="itself"):
            clean_domain_name(name, by_operator=True)
    # Beside them is room, and a name that only ends alike is another one.
    for name in ("shop.portal.example", "evil-id.portal.example", "id.portal.example.org"):
        assert clean_domain_name(name) == name


def test_only_operators_can_claim_parent_domains_of_the_service(settings: Any) -> None:
    settings.AUTH_URL = settings.BASE_URL = "https://id.portal.example"
    with pytest.raises(ValidationError, match="Only its operators"):
        clean_domain_name("portal.example")
    assert clean_domain_name("portal.example", by_operator=True) == "portal.example"
