"""Writing what was counted: batches that add up, come again, or fail in the middle."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, connections, transaction

from accounts.models import Account
from api import usage_counts
from api.models import UsageBatch, UsageBucket
from core.limits.counters import Counters, Finished, LocalCounters, counters
from tests.api.calls import ME, call
from tests.api.conftest import Key, Mover
from tests.factories import make_key, make_project


def written() -> list[tuple[str, int]]:
    """Return (credential, count) of each bucket."""
    return list(UsageBucket.objects.order_by("pk").values_list("credential", "count"))


def test_a_flush_adds_to_what_is_there(key: Key, mid_minute: Mover) -> None:
    for _ in range(3):
        call(ME, key.raw)
        usage_counts.flush_usage()
    assert [count for _, count in written()] == [3]
    assert UsageBatch.objects.count() == 3
    assert usage_counts.flush_usage() == 0
    assert UsageBatch.objects.count() == 3


def test_the_usage_of_a_deleted_project_is_deleted(key: Key, person: Account) -> None:
    other = make_project(person)
    _, raw = make_key(other, person)
    call(ME, key.raw)
    call(ME, raw)
    other.delete()
    usage_counts.flush_usage()
    assert [credential for credential, _ in written()] == [key.row.public_id]


class Holder(LocalCounters):
    """Counters that hold a batch until it is settled, as Redis does."""

    def __init__(self, counts: dict[str, int]) -> None:
        super().__init__()
        self.batch: tuple[str, Finished] | None = ("batch-1", Finished(counts))

    def drain(self) -> tuple[str, Finished] | None:
        return self.batch

    def give_back(self, finished: Any) -> None:
        """Keep the batch; it is here still."""

    def settle(self, batch_id: str) -> None:
        self.batch = None


@pytest.fixture
def held(key: Key, count: Counters) -> Holder:
    """Four calls of the key, in a batch that stays until it is settled."""
    field = "|".join(map(str, (key.project.pk, key.row.public_id, "", "me", 200, "", 28_000_000, 0)))
    holder = Holder({field: 4})
    count.local = holder
    return holder


def test_a_crash_between_writing_and_settling(held: Holder, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(batch_id: str) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(held, "settle", crash)
        with pytest.raises(RuntimeError):
            usage_counts.flush_usage()
    assert usage_counts.flush_usage() == 0
    assert held.batch is None
    assert [count for _, count in written()] == [4]


@pytest.mark.parametrize("error", [DatabaseError, IntegrityError, RuntimeError])
def test_a_failure_in_the_middle_writes_nothing_and_loses_nothing(
    error: type[Exception], held: Holder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(rows: Any, addresses: Any) -> None:
        raise error("in the middle")

    with monkeypatch.context() as patch:
        patch.setattr(usage_counts, "_note_keys_used", fail)
        with pytest.raises(error), transaction.atomic():
            usage_counts.flush_usage()
    assert written() == []
    assert usage_counts.flush_usage() == 4


def test_none_is_lost_while_it_is_flushed(key: Key) -> None:
    shared = counters()

    def one(number: int) -> None:
        shared.finished("a")
        shared.finished("b")

    drained: dict[str, int] = {"a": 0, "b": 0}
    with ThreadPoolExecutor(8) as pool:
        work = [pool.submit(one, number) for number in range(500)]
        while not all(future.done() for future in work):
            for _, _, finished in shared.drain():
                for field, count in finished.counts.items():
                    drained[field] += count
    for _, _, finished in shared.drain():
        for field, count in finished.counts.items():
            drained[field] += count
    assert drained == {"a": 500, "b": 500}


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_writers_at_once_add_up() -> None:
    key, _ = make_key()
    kinds = [usage_counts.CallLabels(key.project_id, key.public_id, "", f"e{n % 7}", 200, "") for n in range(100)]

    def write(number: int) -> None:
        try:
            # A separate process, as far as counters go; each batch in a different order.
            for turn in range(5):
                local = LocalCounters()
                order = kinds if number % 2 else kinds[::-1]
                fields = ["|".join(map(str, (*kind, 28_000_000 + turn, 0))) for kind in order]
                local.give_back(Finished({field: fields.count(field) for field in dict.fromkeys(fields)}))
                batch = local.drain()
                assert batch is not None
                with transaction.atomic():
                    UsageBatch.objects.create(batch_id=batch[0])
                    usage_counts._write(batch[1])
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    rows = UsageBucket.objects.filter(project=key.project_id)
    assert rows.count() == 7 * 5
    assert sum(rows.values_list("count", flat=True)) == 4 * 5 * 100
