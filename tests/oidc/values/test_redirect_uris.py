"""Which addresses a client may register, and the sentence for each that it may not."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from core import clock
from oidc.clients.domain_names import on_unknown_hosts
from oidc.domains.branding import validate_page_url
from oidc.models import Client, ProjectDomain
from oidc.values.reasons import Reason
from oidc.values.redirect_uris import explain_mismatch, notes_for, playground_redirect_uri, validate_redirect_uri


@pytest.mark.parametrize(
    "uri",
    [
        "https://app.example.com/callback",
        "https://app.example.com:8443/callback?tenant=7",
        "http://localhost:3000/callback",
        "http://127.0.0.1:49152/",
        "https://app.example.com",
        "https://xn--pp-via.example.com/callback",
        "https://192.0.2.1/callback",
        "https://a--b.example.com:65535/callback",
        "https://app.example.com:443/callback?to=a;b,c'$%24",
        f"https://{'a' * 63}.example.com/callback",
        "https://localhost.example.com:8000/callback",
    ],
)
def test_valid_redirect_urls(uri: str) -> None:
    validate_redirect_uri(uri)


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("http://app.example.com/callback", "http is allowed only for localhost and 127.0.0.1."),
        ("http://[::1]:3000/callback", "http is allowed only"),
        ("http://localhost.example.com/", "http is allowed only"),
        ("https://app.example.com/#done", "Remove the part after #."),
        ("https://*.example.com/callback", "Wildcards are not supported"),
        ("myapp://callback", "Custom schemes are not accepted"),
        ("com.example.app:/oauth2redirect", "Custom schemes are not accepted"),
        ("HTTPS://app.example.com/", "Write the scheme in lowercase"),
        ("localhost:3000/callback", "not a valid URL"),
        ("https:app.example.com", "not a valid URL"),
        ("javascript:alert(1)", "not a valid URL"),
        ("https://user@app.example.com/", "Remove the user name"),
        ("https://app.example.com:99999/", "not a valid URL"),
        ("https:///callback", "not a valid URL"),
        ("https://app.example.com/a b", "no spaces"),
        ("https://app.example.com/\x00", "no spaces"),
        ("https://äpp.example.com/", "only contain ASCII"),
        ("http://localhost:8000/callback", "the service itself"),
        # Own addresses in other spellings
        ("http://127.0.0.1:8000/callback", "the service itself"),
        ("http://127.0.0.1:8000/console/playground/callback", "the service itself"),
        ("https://localhost:8000/callback", "the service itself"),
        ("https://127.1.2.3:8000/callback", "the service itself"),
        ("https://0.0.0.0:8000/callback", "the service itself"),
        ("https://app.localhost:8000/callback", "the service itself"),
        ("http://Localhost:3000/callback", "lower case"),
        ("https://App.example.com/callback", "lower case"),
        ("https://app.example.com./callback", "Remove the dot"),
        ("https://[::1]:8000/callback", "IPv6"),
        ("https://[::ffff:127.0.0.1]:8000/callback", "not a valid URL"),
        ("https://[2001:db8::1]/callback", "IPv6"),
        # Spellings of IPv4
        ("https://127.1:8000/callback", "four numbers"),
        ("https://2130706433:8000/callback", "four numbers"),
        ("https://0x7f000001:8000/callback", "four numbers"),
        ("https://0177.0.0.1:8000/callback", "four numbers"),
        ("https://127.0.0.01/callback", "four numbers"),
        ("https://1.2.3.4.5/callback", "four numbers"),
        # Host names
        ("https://a;sandbox/cb", "letters, digits and hyphens"),
        ("https://a,b/cb", "letters, digits and hyphens"),
        ("https://'none'/cb", "letters, digits and hyphens"),
        ("https://a%2eexample.com/cb", "letters, digits and hyphens"),
        ("https://my_app.example.com/cb", "letters, digits and hyphens"),
        ("https://-a.example.com/cb", "letters, digits and hyphens"),
        ("https://a-.example.com/cb", "letters, digits and hyphens"),
        ("https://a..example.com/cb", "letters, digits and hyphens"),
        (f"https://{'a' * 64}.example.com/cb", "at most 63"),
        (f"https://{'a.' * 130}com/cb", "at most 253"),
        ("https://xn--/cb", "letters, digits and hyphens"),
        ("https://xn--zzzzzzzz.example.com/cb", "not a valid international name"),
        ("https://xn--1ch.example.com/cb", "not a valid international name"),  # a sign, which IDNA 2008 does not allow
        # Ports
        ("https://app.example.com:/cb", "from 1 to 65535"),
        ("https://app.example.com:0443/cb", "from 1 to 65535"),
        ("https://app.example.com:0/cb", "not a valid URL"),
        ("https://app.example.com:-1/cb", "not a valid URL"),
        ("https://app.example.com\\@evil.example.com/cb", "."),
        ("https://app.example.com/" + "a" * 2000, "at most"),
        ("", "not a valid URL"),
    ],
)
def test_invalid_redirect_urls(uri: str, reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        validate_redirect_uri(uri)


SLASH = "This URL differs from another one only by a trailing slash. Both are kept."
PLAYGROUND = "The console's playground uses this URL to try out this app."
PORT = "The port has to match exactly. Add a URL for each port that your app may use."


@pytest.mark.parametrize(
    ("uri", "others", "notes"),
    [
        ("https://app.example.com/", ["https://app.example.com"], [SLASH]),
        ("https://app.example.com/cb", ["https://app.example.com/cb/", "https://app.example.com/cb"], [SLASH]),
        ("https://app.example.com/cb", ["https://app.example.com/cb"], []),
        ("http://localhost/callback", [], [PORT]),
        ("http://127.0.0.1/", ["http://127.0.0.1"], [SLASH, PORT]),
        ("http://localhost:3000/callback", [], []),
        ("http://localhost:8000/console/playground/callback", [], [PLAYGROUND]),
    ],
)
def test_warnings_for_valid_redirect_urls(uri: str, others: list[str], notes: list[str]) -> None:
    assert notes_for(uri, set(others)) == notes


@pytest.mark.parametrize(
    "uri",
    [
        "https://sign-in.example.com/cb",
        "https://api.example.com/cb",
        "https://api.example.com:443/",
    ],
)
def test_both_public_hosts_are_the_services_own(uri: str, settings: Any) -> None:
    settings.AUTH_URL, settings.BASE_URL = "https://sign-in.example.com", "https://api.example.com"
    with pytest.raises(ValidationError, match="the service itself"):
        validate_redirect_uri(uri)
    validate_redirect_uri("https://app.example.com/cb")
    validate_redirect_uri("http://localhost:8000/cb")
    validate_redirect_uri("http://127.0.0.1:443/cb")


def test_a_service_on_a_loopback_address_knows_itself_by_every_name(settings: Any) -> None:
    settings.AUTH_URL, settings.BASE_URL = "http://127.0.0.1:9000", "http://[::1]:9001"
    for uri in ("http://localhost:9000/", "http://127.0.0.1:9001/cb", "https://localhost:9001/"):
        with pytest.raises(ValidationError, match="the service itself"):
            validate_redirect_uri(uri)
    validate_redirect_uri("http://localhost:9002/")


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("https://a;sandbox.example.com/", "letters, digits and hyphens"),
        ("https://my_app.example.com/", "letters, digits and hyphens"),
        ("https://App.example.com/", "lower case"),
        ("https://app.example.com./", "Remove the dot"),
        ("https://app.example.com:0443/", "from 1 to 65535"),
        ("https://xn--a.example.com/", "not a valid international name"),
    ],
)
def test_pages_of_an_app_have_hosts_of_the_same_kind(url: str, reason: str) -> None:
    validate_page_url("https://app.example.com/privacy?a;b")
    with pytest.raises(ValidationError, match=reason):
        validate_page_url(url)


HERE = "http://localhost:3000/cb"


@pytest.mark.parametrize(
    ("uri", "client", "unknown"),
    [
        ("https://evil.test/", {"redirect_uris": "https://app.example.com/"}, True),
        ("https://example.com.evil.test/", {"redirect_uris": "https://app.example.com/"}, True),
        ("https://b.github.io/", {"redirect_uris": "https://a.github.io/"}, True),
        ("https://a.github.io/", {"redirect_uris": "https://github.io/"}, True),
        ("https://192.0.2.2/", {"redirect_uris": "https://192.0.2.1/"}, True),
        ("https://other/", {"redirect_uris": "https://intranet/"}, True),
        ("https://localhost.evil.test/", {"redirect_uris": HERE}, True),
        ("https://evil.test/", {"redirect_uris": ""}, True),
        ("http://127.0.0.1:3000/", {"redirect_uris": "https://app.example.com/"}, True),
        ("http://127.0.0.1:4000/", {"redirect_uris": HERE}, False),
        ("https://login.example.com/", {"redirect_uris": f"{HERE} https://app.example.com/"}, False),
        ("https://app.test/", {"redirect_uris": HERE, "post_logout_redirect_uris": "https://app.test/"}, False),
        ("https://app.test/", {"redirect_uris": HERE, "home_page_url": "https://app.test/"}, False),
        ("https://app.test/", {"redirect_uris": HERE, "privacy_policy_url": "https://www.app.test/"}, False),
        ("https://app.test/", {"redirect_uris": HERE, "terms_url": "https://app.test/terms"}, False),
    ],
)
def test_a_host_is_unknown_if_no_url_of_the_client_shares_it(uri: str, client: dict[str, str], unknown: bool) -> None:
    assert on_unknown_hosts(Client(**client), [uri], ()) == ({uri} if unknown else set())


@pytest.mark.parametrize(("proven", "unknown"), [(True, False), (False, True)])
def test_only_a_proven_domain_makes_its_hosts_known(proven: bool, unknown: bool) -> None:
    domain = ProjectDomain(name="app.test", proven_at=clock.now() if proven else None)
    urls = ["https://login.app.test/", "https://notapp.test/"]
    assert on_unknown_hosts(Client(redirect_uris=HERE), urls, [domain]) == set(urls[not unknown :])


def test_the_playgrounds_url_is_known_and_makes_no_host_known() -> None:
    client = Client(redirect_uris=playground_redirect_uri())
    assert on_unknown_hosts(client, [playground_redirect_uri(), HERE], ()) == {HERE}


@pytest.mark.parametrize(
    ("sent", "registered", "reason"),
    [
        ("https://evil.test/cb", [HERE], Reason.REDIRECT_URI_HOST),
        ("http://app.example.com:81/", ["https://app.example.com/"], Reason.REDIRECT_URI_SCHEME),
        ("https://localhost:3000/cb", ["https://app.example.com/cb", HERE], Reason.REDIRECT_URI_SCHEME),
        ("https://app.example.com/cb", ["https://app.example.org/cb"], Reason.REDIRECT_URI_HOST),
    ],
)
def test_a_mismatch_names_the_host_first(sent: str, registered: list[str], reason: Reason) -> None:
    assert explain_mismatch(sent, registered)[0] == reason
