"""A second PostgreSQL that follows the first by streaming replication."""

import contextlib
import dataclasses
import shutil
import time
from collections.abc import Iterator

from tests.faults.engines import Postgres
from tests.services import keeper, podman


@contextlib.contextmanager
def replica_of(primary: Postgres) -> Iterator[Postgres]:
    """Yield a running hot standby."""
    with keeper.folder(primary.cluster.user) as home:
        engine = Postgres(cluster=dataclasses.replace(primary.cluster, home=home, port=keeper.free_port()))
        follow(primary, engine)
        try:
            yield engine
        finally:
            engine.end()


def follow(primary: Postgres, other: Postgres) -> None:
    """Start a server that does not run as a standby of another one, as docs/operations.md#failover says."""
    home, user = other.cluster.home, other.cluster.user
    shutil.rmtree(home / "data", ignore_errors=True)
    source = ["--dbname", f"{primary.cluster.url}/postgres", "--checkpoint", "fast", "--write-recovery-conf"]
    command = [str(other.cluster.programs / "pg_basebackup"), *source, "--pgdata", str(home / "data")]
    podman.run(command, cwd=home, user=user, group=keeper.group_of(user), extra_groups=None if user is None else [])
    other.start()


def caught_up(primary: Postgres, replica: Postgres) -> bool:
    """Return whether the replica has everything within ten seconds."""
    # What was committed may not be written yet: the server acknowledges before.
    (written,) = primary.execute("SELECT pg_current_wal_insert_lsn()::text")[0]
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if replica.execute(f"SELECT pg_last_wal_replay_lsn() >= '{written}'")[0][0]:
            return True
        time.sleep(0.05)
    return False
