"""A catalogue and people for the tests of plans."""

import pytest

from accounts.models import Plan
from tests.accounts.plans.factories import make_plan


@pytest.fixture
def pro(db: None) -> Plan:
    return make_plan("pro", rank=10, apps=["notes", "calendar"], storage=("granted_with_limit", 200, "GB"))


@pytest.fixture
def team(db: None) -> Plan:
    return make_plan("team", rank=20, seats=("granted", None, None))
