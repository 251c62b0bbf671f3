"""What is read from the kernel of a process's memory."""

import pytest

from benchmarks import memory
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
    text = memory.summary([Memory(0, 0, each * MEGABYTE) for each in megabytes])
    assert [part for part in said if part not in text] == []
