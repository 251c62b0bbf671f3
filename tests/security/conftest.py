"""A public host on this machine."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.security.outbound_rig import Rig, build


@pytest.fixture
def rig(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path) -> Iterator[Rig]:
    yield from build(monkeypatch, settings, tmp_path)
