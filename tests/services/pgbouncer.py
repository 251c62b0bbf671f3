"""A pgbouncer in transaction mode, in front of a PostgreSQL that only this test uses."""

import contextlib
import os
import shutil
from collections.abc import Iterator

import psycopg

from tests.services import keeper

CONFIGURATION = """\
[databases]
portal = host=127.0.0.1 port={server_port} dbname=portal
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = plain
auth_file = {users}
pool_mode = transaction
default_pool_size = {pool_size}
max_client_conn = 200
query_wait_timeout = 2
"""


def why_missing() -> str | None:
    """Return why pgbouncer can't be started here, or None if it can."""
    if shutil.which("pgbouncer") is None:
        return "no pgbouncer on the PATH"
    return None


@contextlib.contextmanager
def running(server_url: str, pool_size: int) -> Iterator[str]:
    """Yield the URL of a pgbouncer with `pool_size` connections to a PostgreSQL. Raises NotStartedError."""
    given = psycopg.conninfo.conninfo_to_dict(server_url)
    user = "nobody" if os.geteuid() == 0 else None  # like PostgreSQL, it does not run as root
    program = shutil.which("pgbouncer")
    assert program is not None, why_missing()
    port = keeper.free_port()
    url = f"postgresql://{given['user']}:{given['password']}@127.0.0.1:{port}/portal"
    with keeper.folder(user) as home:
        users, settings = home / "users", home / "pgbouncer.ini"
        users.write_text(f'"{given["user"]}" "{given["password"]}"\n')
        settings.write_text(
            CONFIGURATION.format(server_port=given["port"], port=port, users=users, pool_size=pool_size)
        )
        for file in (users, settings):
            if user is not None:
                shutil.chown(file, user)
        with keeper.running([program, str(settings)], home, lambda: _answers(url), user):
            yield url


def _answers(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True
