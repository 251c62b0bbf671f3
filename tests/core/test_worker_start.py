"""What a worker process sets up for itself when it starts (core/serving/worker_start.py)."""

import gc
import subprocess
import sys
from collections.abc import Iterator

import pytest
from django.core.cache import close_caches
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, reset_queries

from core.serving.worker_start import freeze_loaded_objects, look_after_slots


@pytest.fixture
def receivers() -> Iterator[None]:
    yield
    request_started.connect(reset_queries)
    request_started.connect(close_old_connections)
    request_finished.connect(close_caches)
    request_finished.disconnect(dispatch_uid="connections.end_request")
    request_finished.connect(close_old_connections)


def test_receivers_that_have_nothing_to_do_are_disconnected(receivers: None) -> None:
    look_after_slots()
    assert not request_started.disconnect(reset_queries)
    assert not request_finished.disconnect(close_caches)
    assert not request_started.disconnect(close_old_connections)
    assert not request_finished.disconnect(close_old_connections)


def test_queries_are_forgotten_where_they_are_logged(receivers: None, settings: pytest.FixtureRequest) -> None:
    settings.DEBUG = True  # type: ignore[attr-defined]
    look_after_slots()
    assert request_started.disconnect(reset_queries)


def test_each_process_knows_what_to_start_after_setup() -> None:
    code = (
        "import django; django.setup(); from core.serving.worker_start import STARTS;"
        "print(*(f'{start.__module__}.{start.__name__}' for start in STARTS))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {
        "api.usage_counts.flush_at_exit",
        "api.usage_counts.send_when_idle",
        "devportal.docs.search.preload",
        "oidc.apis.registry.preload_registry",
        "oidc.tokens.signing_keys.preload_keyring",
    }


def test_loaded_modules_are_left_out_of_garbage_collection() -> None:
    gc.unfreeze()  # tests/services/plugin.py has frozen them
    freeze_loaded_objects()
    assert gc.get_freeze_count() > 100_000
