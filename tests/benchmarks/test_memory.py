"""What is read from the kernel of a process's memory, and where samples of it lie."""

import pytest

from benchmarks import memory, sampled
from benchmarks.memory import MEGABYTE, Memory

ROLLUP = """55d0c0a00000-7ffd4b5f9000 ---p 00000000 00:00 0                          [rollup]
Rss:              127000 kB
Pss:               96000 kB
Pss_Dirty:         70000 kB
Shared_Clean:      20000 kB
Shared_Dirty:      36000 kB
Private_Clean:      1000 kB
Private_Dirty:     70000 kB
"""


def test_a_process_holds_what_is_resident_its_share_and_its_own() -> None:
    assert memory.parse(ROLLUP) == Memory(127000 * 1024, 96000 * 1024, 71000 * 1024)


@pytest.mark.parametrize(
    ("megabytes", "said"),
    [
        ((100, 104, 104), ["below 120: met", "+4.0 MB", "no growth: met"]),
        ((130, 130, 130), ["below 120: MISSED", "no growth: met"]),
        ((100, 110, 120), ["below 120: met", "+20.0 MB, their second half +10.0", "no growth: MISSED"]),
    ],
)
def test_memory_is_held_against_its_aims(megabytes: tuple[int, ...], said: list[str]) -> None:
    text = memory.verdict([Memory(0, 0, each * MEGABYTE) for each in megabytes])
    assert [part for part in said if part not in text] == []


def test_samples_are_shared_out_by_function_and_one_that_calls_itself_counts_once() -> None:
    own, below = sampled.shares("run (a/b/app.py);walk (b/tree.py);walk (b/tree.py) 3\nrun (a/b/app.py) 1\n")
    assert own == {"walk  b/tree.py": 0.75, "run  b/app.py": 0.25}
    assert below == {"run  b/app.py": 1.0, "walk  b/tree.py": 0.75}
