"""Which addresses a client may register, and the sentence for each that it may not."""

import pytest
from django.core.exceptions import ValidationError

from oidc.registration import check_redirect_uri, notes_on


@pytest.mark.parametrize(
    "uri",
    [
        "https://app.example.com/callback",
        "https://app.example.com:8443/callback?tenant=7",
        "http://localhost:3000/callback",
        "http://127.0.0.1:49152/",
        "https://app.example.com",
    ],
)
def test_good_addresses(uri: str) -> None:
    check_redirect_uri(uri)


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("http://app.example.com/callback", "http is allowed only for localhost and 127.0.0.1."),
        ("http://[::1]:3000/callback", "http is allowed only"),
        ("http://127.0.0.2/callback", "http is allowed only"),
        ("http://localhost.example.com/", "http is allowed only"),
        ("https://app.example.com/#done", "Remove the part after #."),
        ("https://*.example.com/callback", "Wildcards are not supported"),
        ("myapp://callback", "Custom schemes are not accepted"),
        ("com.example.app:/oauth2redirect", "Custom schemes are not accepted"),
        ("HTTPS://app.example.com/", "Write the scheme in lower case"),
        ("localhost:3000/callback", "not a web address"),
        ("app.example.com/callback", "not a web address"),
        ("https:app.example.com", "not a web address"),
        ("data:text/html,hello", "not a web address"),
        ("javascript:alert(1)", "not a web address"),
        ("https://user@app.example.com/", "Remove the user name"),
        ("https://app.example.com:99999/", "not a web address"),
        ("https:///callback", "not a web address"),
        ("https://app.example.com/a b", "no spaces"),
        ("https://app.example.com/\x00", "no spaces"),
        ("https://äpp.example.com/", "only ASCII"),
        ("http://localhost:8000/callback", "the service itself"),
        ("https://app.example.com/" + "a" * 2000, "at most"),
        ("", "not a web address"),
    ],
)
def test_bad_addresses(uri: str, reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        check_redirect_uri(uri)


SLASH = "Differs from another entry only by a trailing slash; both are kept."
PLAYGROUND = "The address of the console's playground, which tries this client with it."
PORT = "Sign-in needs the exact port: add each one that your app may use."


@pytest.mark.parametrize(
    ("uri", "others", "notes"),
    [
        ("https://app.example.com/", ["https://app.example.com"], [SLASH]),
        ("https://app.example.com/cb", ["https://app.example.com/cb/", "https://app.example.com/cb"], [SLASH]),
        ("https://app.example.com/cb", ["https://app.example.com/cb"], []),
        ("https://app.example.com/cb", ["https://app.example.com/CB"], []),
        ("http://localhost/callback", [], [PORT]),
        ("http://127.0.0.1/", ["http://127.0.0.1"], [SLASH, PORT]),
        ("http://localhost:3000/callback", [], []),
        ("https://app.example.com/cb", [], []),
        ("http://localhost:8000/console/playground/callback", [], [PLAYGROUND]),
    ],
)
def test_what_to_know_of_a_good_address(uri: str, others: list[str], notes: list[str]) -> None:
    assert notes_on(uri, others) == notes
