"""A public host on this machine, and silence for thousands of refusals."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.security.outbound_rig import Rig, build


@pytest.fixture
def rig(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path) -> Iterator[Rig]:
    yield from build(monkeypatch, settings, tmp_path)


@pytest.fixture
def quiet() -> Iterator[None]:
    """Thousands of refusals are thousands of warnings; writing them takes longer than the requests."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)
