"""The service under load while an engine is harmed: what was acknowledged is kept."""

from collections.abc import Iterator

import pytest

from tests.faults.load import declare, load
from tests.faults.rig import Rig, rig

pytestmark = [pytest.mark.slow, pytest.mark.redis, pytest.mark.postgres]


@pytest.fixture(scope="module")
def harmed() -> Iterator[Rig]:
    with rig() as made:
        yield made


def test_a_load_without_a_fault_loses_nothing(harmed: Rig) -> None:
    client_id = declare(harmed.service, 4)
    with load(harmed.service, client_id) as running:
        running.wait_until_back(5)
    assert running.ledger.outcomes() == {"200"}
    assert running.probes.outcomes() == {"200"}
    assert running.ledger.difference(harmed.postgres) == []
