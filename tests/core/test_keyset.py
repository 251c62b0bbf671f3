"""Pages by key: they follow each other in both directions, and no key leads to an error or an empty dead end."""

import pytest

from accounts.models import Account
from core.database.batches import KeysetPage, keyset_page, parse_key

pytestmark = pytest.mark.django_db


@pytest.fixture
def keys() -> list[int]:
    """The keys of seven rows, newest first."""
    Account.objects.bulk_create(Account(email=f"p{number}@example.com") for number in range(7))
    return list(Account.objects.order_by("-pk").values_list("pk", flat=True))


def page(older_than: int | None = None, newer_than: int | None = None, size: int = 3) -> KeysetPage[Account]:
    # In another order, which a page does not keep.
    return keyset_page(Account.objects.order_by("email"), older_than, newer_than, size)


def keys_of(found: KeysetPage[Account]) -> list[int]:
    return [row.pk for row in found.rows]


def test_older_pages_follow_to_the_last(keys: list[int]) -> None:
    first = page()
    second = page(older_than=first.older_than)
    third = page(older_than=second.older_than)
    assert [keys_of(first), keys_of(second), keys_of(third)] == [keys[:3], keys[3:6], keys[6:]]
    assert first.newer_than is None
    assert third.older_than is None


def test_newer_pages_lead_back(keys: list[int]) -> None:
    third = page(older_than=keys[5])
    second = page(newer_than=third.newer_than)
    assert keys_of(second) == keys[3:6]
    assert keys_of(page(older_than=second.older_than)) == keys[6:]
    first = page(newer_than=second.newer_than)
    assert keys_of(first) == keys[:3]
    assert first.newer_than is None


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_too_few_newer_rows_are_the_first_page(keys: list[int], place: int) -> None:
    assert page(newer_than=keys[place]) == page()


def test_exactly_a_page_has_no_other(keys: list[int]) -> None:
    whole = page(size=7)
    assert keys_of(whole) == keys
    assert (whole.older_than, whole.newer_than) == (None, None)


def test_beyond_the_end_a_way_leads_back(keys: list[int]) -> None:
    beyond = page(older_than=keys[-1])
    assert beyond.rows == []
    assert beyond.older_than is None
    assert keys_of(page(newer_than=beyond.newer_than)) == keys[4:]


def test_newer_than_wins_over_older_than(keys: list[int]) -> None:
    assert page(older_than=keys[-1], newer_than=keys[0]) == page()


@pytest.mark.parametrize("text", [None, "", "abc", "-1", "+1", "1.5", "٣", " 1", "1_0", str(2**63), "9" * 400])
def test_a_text_that_is_no_key_is_none(text: str | None) -> None:
    assert parse_key(text) is None


@pytest.mark.parametrize(("text", "key"), [("0", 0), ("7", 7), ("007", 7), (str(2**63 - 1), 2**63 - 1)])
def test_keys_are_read(text: str, key: int) -> None:
    assert parse_key(text) == key


@pytest.mark.parametrize("key", [0, 2**63 - 1])
def test_the_ends_of_the_range_are_keys(keys: list[int], key: int) -> None:
    page(older_than=key)
    page(newer_than=key)
