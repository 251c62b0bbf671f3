"""What an operator may type as a subscription's add-ons: the same as files and billing reports may say."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from accounts.models.plans import MAX_ADDONS, check_addons


@pytest.mark.parametrize("addons", [{}, {"fax": {"quantity": 1}, "disk": {"quantity": 2**31 - 1}}])
def test_valid_addons(addons: Any) -> None:
    check_addons(addons)


@pytest.mark.parametrize(
    ("addons", "message"),
    [
        (None, "add-ons: must be a table"),
        ([], "add-ons: must be a table"),
        ({"fax": 1}, "fax: must be an object"),
        ({"fax": {}}, "fax.quantity: is missing"),
        ({"fax": {"quantity": 0}}, "fax.quantity: must be 1 or more"),
        ({"fax": {"quantity": 2**31}}, "fax.quantity: must be 2147483647 or less"),
        ({"fax": {"quantity": True}}, "fax.quantity: must be a whole number"),
        ({"fax": {"quantity": 1, "price": 2}}, "fax.price: is unknown"),
        ({"": {"quantity": 1}}, "add-ons: its name: must not be empty"),
        ({"\ud800": {"quantity": 1}}, "\ufffd: its name: Surrogate"),
        ({str(number): {"quantity": 1} for number in range(MAX_ADDONS + 1)}, "add-ons: must have at most 100"),
    ],
)
def test_invalid_addons_are_named_in_the_error(addons: Any, message: str) -> None:
    with pytest.raises(ValidationError) as error:
        check_addons(addons)
    assert error.value.messages[0].startswith(message)
