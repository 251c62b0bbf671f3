"""What benchmarks/run.py makes of its counts: ratios, aims, tables."""

from typing import Any

import pytest

from benchmarks import aims, figures
from benchmarks.aims import BEFORE, GROWN, NODE, OURS, STOCK, Aim


def counted(rate: float, processor: float = 0.001) -> dict[str, Any]:
    """Return what the load generator says of a second at this rate."""
    return {
        "requests": rate,
        "seconds": 1.0,
        "server_processor": rate * processor,
        "own_processor": 0.1,
        "median_ms": 1.0,
        "p95_ms": 2.0,
    }


def row(*rates: float, starts: tuple[int, ...] = (), processor: float = 0.001) -> figures.Row:
    made = figures.Row("3.13.5, Debian 13")
    for place, rate in enumerate(rates):
        made.add(counted(rate, processor), starts[place] if starts else 0)
    return made


@pytest.mark.parametrize(
    ("aim", "reached", "said"),
    [
        (Aim(2.0), 2.0, "2.00 / 2.0 met"),
        (Aim(2.0), 1.99, "1.99 / 2.0 MISSED"),
        (Aim(0.5, 0.7), 0.6, "0.60 / 0.5 met (stretch 0.7)"),
        (Aim(0.5, 0.7), 0.7, "0.70 / 0.5 met (stretch 0.7 met)"),
        (Aim(0.85, 1.0), 0.6, "0.60 / 0.85 MISSED (stretch 1.0)"),
    ],
)
def test_a_cell_says_what_was_reached_what_was_aimed_at_and_whether_that_is_met(
    aim: Aim, reached: float, said: str
) -> None:
    assert aim.result(reached) == said


def test_every_operation_has_an_aim_against_the_commit_before_and_against_node() -> None:
    from benchmarks.rounds import OPERATIONS

    assert {operation for operation, _ in aims.AIMS} == set(OPERATIONS)
    for other in (BEFORE, NODE):
        assert {operation for operation, name in aims.AIMS if name == other} == set(OPERATIONS)


def test_a_ratio_is_taken_within_each_round_so_that_a_slow_round_counts_no_more_than_another() -> None:
    # The third round was ten times as slow for both.
    assert figures.ratio([200, 210, 20], [100, 100, 10]) == 2.0


def test_ours_is_compared_by_rate_and_by_processor_time() -> None:
    rows = {("refresh", OURS): row(300, processor=0.001), ("refresh", NODE): row(600, processor=0.0007)}
    one = figures.compare(rows, "refresh", NODE)
    assert one is not None
    assert one.by_rate == pytest.approx(0.5)
    assert one.by_processor == pytest.approx(0.7)


def test_starts_are_told_apart_and_their_extremes_are_named() -> None:
    starts = (0, 0, 1, 1)
    rows = {("me", OURS): row(90, 90, 120, 120, starts=starts), ("me", BEFORE): row(100, 100, 100, 100, starts=starts)}
    one = figures.compare(rows, "me", BEFORE)
    assert one is not None
    assert (one.lowest, one.highest) == (0.9, 1.2)


def test_me_is_compared_with_userinfo_where_there_is_no_me() -> None:
    rows = {
        ("userinfo", STOCK): row(100),
        ("userinfo", BEFORE): row(100),
        ("me", OURS): row(400),
        ("me", BEFORE): row(200),
    }
    compared = {one.other: one.by_rate for one in figures.comparisons(rows)}
    assert compared == {STOCK: 4.0, BEFORE: 2.0}


def test_a_grown_copy_is_held_against_the_one_with_few_rows() -> None:
    rows = {("me", OURS): row(100), ("me", GROWN): row(96)}
    assert "0.96 / 0.95 met" in figures.aims_table(rows, 1_000_000)
    assert "with 1,000,000 tokens" in figures.aims_table(rows, 1_000_000)


def test_a_server_without_answers_is_not_compared() -> None:
    assert figures.comparisons({("refresh", OURS): row(100), ("refresh", STOCK): row(0)}) == []


def test_the_table_of_aims_has_the_contenders_that_were_there() -> None:
    said = figures.aims_table({("discovery", OURS): row(900), ("discovery", NODE): row(1000)}, 0)
    assert "0.90 / 0.8 met" in said
    assert "node-oidc-provider" in said
    assert "stock" not in said


def test_version_and_build_stand_beside_every_figure() -> None:
    said = figures.table({("jwks", OURS): row(1234), ("jwks", NODE): row(1000)})
    lines = [line for line in said.splitlines() if line.startswith("| jwks")]
    assert len(lines) == 2
    assert all("3.13.5, Debian 13" in line for line in lines)
    assert "1,234" in lines[0]
    assert "1.23" in lines[1]


def test_a_server_that_was_kept_from_its_core_is_doubted() -> None:
    rows = {("me", OURS): row(100, processor=0.005), ("me", BEFORE): row(100, processor=0.0095)}
    (doubt,) = figures.doubts(rows)
    assert "ours in me (50%)" in doubt
    assert "before" not in doubt
