"""Lists of addresses, as developers type them."""

import pytest
from django.core.exceptions import ValidationError

from oidc.values.redirect_uris import check_each, clean_redirect_uris

GOOD = "https://app.example.com/callback"


def test_each_uri_is_checked_where_it_is_listed() -> None:
    entries = check_each([GOOD, "", "  https://app.example.com/other ", "http://app.example.com/", GOOD, f"{GOOD}/"])
    assert [entry.address for entry in entries] == [
        GOOD,
        "",
        "https://app.example.com/other",
        "http://app.example.com/",
        GOOD,
        f"{GOOD}/",
    ]
    assert [bool(entry.error) for entry in entries] == [False, False, False, True, False, False]
    assert entries[3].error == "http is allowed only for localhost and 127.0.0.1."
    assert entries[4].notes == ["This URL was entered twice. It is kept once."]
    slash = ["This URL differs from another one only by a trailing slash. Both are kept."]
    assert entries[0].notes == entries[5].notes == slash


def test_an_invalid_url_is_not_compared_with_the_others() -> None:
    assert check_each(["http://app.example.com/", "http://app.example.com", "https://app.example.com"])[2].notes == []


def test_lists_of_urls_that_are_accepted() -> None:
    assert clean_redirect_uris([" ", GOOD, f"{GOOD}/", GOOD, ""], 2) == [GOOD, f"{GOOD}/"]


@pytest.mark.parametrize(
    ("texts", "required", "reason"),
    [
        (["", " "], True, "at least one"),
        ([f"{GOOD}{number}" for number in range(4)], False, "at most 3"),
        ([GOOD, "http://app.example.com/"], False, "http is allowed only"),
        ([f"{GOOD} https://evil.example"], False, "no spaces"),
        ([f"{GOOD}\nhttps://evil.example"], False, "no spaces"),
        ([f"{GOOD}\x00"], False, "no spaces"),
        (["https://app.example.com/" + "a" * 1_000_000], False, "at most 2000"),
    ],
)
def test_lists_of_urls_that_are_rejected(texts: list[str], required: bool, reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        clean_redirect_uris(texts, 3, required=required)


def test_an_empty_list_can_be_allowed() -> None:
    assert clean_redirect_uris([], 3) == []
