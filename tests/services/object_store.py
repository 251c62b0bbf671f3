"""An object store that speaks S3: moto's server, in memory, on a free loopback port."""

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import httpx

from tests.services import keeper

KEY, SECRET = "AKIATESTS", "a/secret+with:marks@in#it"


@dataclass(frozen=True)
class ObjectStore:
    """A server; each test uses a separate bucket."""

    port: int

    @property
    def client(self) -> Any:
        return boto3.client(
            "s3",
            endpoint_url=f"http://127.0.0.1:{self.port}",
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
            region_name="us-east-1",
        )

    def names(self, bucket: str) -> list[str]:
        """Return the keys of a bucket."""
        return [found["Key"] for found in self.client.list_objects_v2(Bucket=bucket).get("Contents", ())]


@contextlib.contextmanager
def start() -> Iterator[ObjectStore]:
    """Yield a new server. Raises NotStartedError if it does not start."""
    port = keeper.free_port()
    with keeper.folder() as home:
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        with keeper.running(command, home, lambda: _answers(port)):
            yield ObjectStore(port)


def _answers(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/moto-api/").status_code == 200
    except httpx.TransportError:
        return False
