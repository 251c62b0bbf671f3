"""PostgreSQL and Redis for the benchmarks that run Django in their own process."""

import contextlib
import os
from collections.abc import Iterator

from benchmarks.contenders import UNLIMITED
from benchmarks.processes import cores, on_core
from tests.services import keeper, plugin, postgres, redis


@contextlib.contextmanager
def services() -> Iterator[None]:
    """Run PostgreSQL and Redis on a different core than this process, and configure Django to use them."""
    tested, rest = cores() or (None, None)
    with contextlib.ExitStack() as stack:
        with on_core(rest):
            folder = stack.enter_context(keeper.folder())
            database, store = stack.enter_context(postgres.start()), stack.enter_context(redis.start())
        for name in plugin.SETTINGS:
            os.environ.pop(name, None)
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "devportal.settings",
            "DATABASE_URL": f"{database.rpartition('/')[0]}/postgres",
            "REDIS_URL": store,
            "DATA_DIR": str(folder / "data"),
            "AUTHORIZATION_CODE_SECONDS": "3600",
            **UNLIMITED,
        }
        with on_core(tested):
            yield
