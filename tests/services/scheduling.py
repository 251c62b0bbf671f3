"""How `--dist loadscope` shares the tests that need services among xdist's processes.

A file whose tests share a server stays whole; all other tests go one by one to whoever is free. What takes longest by
itself begins first, so that none of it is left for the end, when the other processes have nothing more to do: xdist by
itself begins with the files of most tests, and the longest have one or two.
"""

import pytest
from xdist.scheduler import LoadScopeScheduling

# Each takes half a minute or more; the longest come first.
BEGIN_FIRST = (
    "tests/image/test_roles.py",
    "tests/machine/test_sign_in_machine.py",
    "tests/faults/test_mail_server.py",
    "tests/upgrades/test_upgrade_under_load.py",
    "tests/faults/test_celery.py",
    "tests/machine/test_rotation_under_traffic.py",
    "tests/browser/",
    "tests/clients/",
    "tests/faults/",
    "tests/image/",
    "tests/monitoring/",
)
# Their tests share a server that the file starts.
WHOLE = (
    "tests/browser/",
    "tests/clients/",
    "tests/faults/",
    "tests/image/",
    "tests/monitoring/",
    "tests/api/test_workers",
)


class Scheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """xdist's own, by files where their tests share something, and else by tests."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return file if file.startswith(WHOLE) else nodeid


def put_first(items: list[pytest.Item]) -> None:
    """Put tests that take long before the others, whose order stays as it is."""
    places = {path: number for number, path in enumerate(BEGIN_FIRST)}

    def place(item: pytest.Item) -> int:
        return next((places[path] for path in BEGIN_FIRST if item.nodeid.startswith(path)), len(places))

    items.sort(key=place)
