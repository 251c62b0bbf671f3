"""One running service for all guides, and the person who reads them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.apis import Credential, declare_apis
from tests.guides.protecting import ProtectedApi, open_api_guide
from tests.guides.reading import OpenGuide, open_guide
from tests.guides.receiving import Receiver, Signer, open_receiver, signer_of
from tests.services.service import Service, live_service

__all__ = ["live_service"]  # a fixture, found here by name


@pytest.fixture
def guide(live_service: Service, tmp_path: Path) -> Iterator[Callable[..., OpenGuide]]:
    """Opens a guide by its name, for a client that is registered for it (tests/guides/reading.py)."""
    opened: list[OpenGuide] = []

    def open_by_name(name: str, **keys: Any) -> OpenGuide:
        opened.append(open_guide(live_service, name, tmp_path, **keys))
        return opened[-1]

    yield open_by_name
    for one in opened:
        one.close()


@pytest.fixture(scope="session")
def credentials(live_service: Service) -> dict[str, Credential]:
    """The credentials of the declared APIs by slug."""
    return declare_apis(live_service)


@pytest.fixture
def protected(
    live_service: Service, credentials: dict[str, Credential], tmp_path: Path
) -> Iterator[Callable[[str], ProtectedApi]]:
    """Opens a guide to protect an API by its name (tests/guides/protecting.py)."""
    opened: list[ProtectedApi] = []

    def open_by_name(name: str) -> ProtectedApi:
        opened.append(open_api_guide(live_service, name, tmp_path, credentials))
        return opened[-1]

    yield open_by_name
    for one in opened:
        one.guide.close()


@pytest.fixture(scope="session")
def signer(live_service: Service) -> Signer:
    """The key of the running service."""
    return signer_of(live_service)


@pytest.fixture
def receiver(live_service: Service, signer: Signer, tmp_path: Path) -> Iterator[Callable[[str], Receiver]]:
    """Opens a guide to receive events by its name (tests/guides/receiving.py)."""
    opened: list[Receiver] = []

    def open_by_name(name: str) -> Receiver:
        opened.append(open_receiver(live_service, name, tmp_path, signer))
        return opened[-1]

    yield open_by_name
    for one in opened:
        one.guide.close()
