"""A second PostgreSQL that follows the first by streaming replication."""

import contextlib
import dataclasses
import shutil
from collections.abc import Iterator

from tests.faults.engines import Postgres
from tests.services import keeper


@contextlib.contextmanager
def replica_of(primary: Postgres) -> Iterator[Postgres]:
    """Yield a running hot standby. The primary is stopped while its files are copied, so that they are consistent."""
    with keeper.folder(primary.cluster.user) as home:
        primary.stop()
        shutil.copytree(primary.cluster.home / "data", home / "data", copy_function=shutil.copy2)
        primary.start()
        (home / "data" / "standby.signal").touch()
        if primary.cluster.user is not None:
            for path in (home / "data", *(home / "data").rglob("*")):
                shutil.chown(path, primary.cluster.user)
        cluster = dataclasses.replace(primary.cluster, home=home, port=keeper.free_port())
        source = f"host=127.0.0.1 port={primary.cluster.port} user=postgres password={primary.cluster.password}"
        engine = Postgres(cluster=cluster, settings={"primary_conninfo": source})
        engine.start()
        try:
            yield engine
        finally:
            engine.end()
