"""Readers of metrics that don't ask the database: the disk, and what the web processes say of themselves."""

from pathlib import Path
from typing import Any

import pytest

from devportal.operations import readers
from tests.services import keeper


def test_the_disk_is_read_before_the_first_file_is_stored(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path / "data" / "media"
    free, size = readers.read_media()
    assert (free.name, size.name) == ("media_free_bytes", "media_size_bytes")
    assert 0 < free.value < size.value


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_without_a_server_the_readiness_can_not_be_read(settings: Any, address: str) -> None:
    settings.PORT = keeper.free_port()
    with pytest.raises(OSError):
        readers.read_readiness(address)


def test_only_a_web_server_asks_for_its_readiness() -> None:
    assert "web" not in {reader.source for reader in readers.readers()}
    assert "web" in {reader.source for reader in readers.readers("0.0.0.0")}
