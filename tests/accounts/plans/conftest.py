"""A catalogue and people for the tests of plans."""

from collections.abc import Iterator

import pytest

from accounts.models import Plan
from accounts.plans import catalogue, sources
from tests.accounts.plans.making import make_plan


@pytest.fixture(autouse=True)
def fresh_plans() -> Iterator[None]:
    """Forget what the process keeps of plans."""
    catalogue.forget()
    sources.forget()
    yield
    catalogue.forget()
    sources.forget()


@pytest.fixture
def pro(db: None) -> Plan:
    return make_plan("pro", rank=10, apps=["notes", "calendar"], storage=("granted_with_limit", 200, "GB"))


@pytest.fixture
def team(db: None) -> Plan:
    return make_plan("team", rank=20, seats=("granted", None, None))
