"""Several Redis servers that only the tests use: a master with sentinels, and a cluster."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import redis as redis_client

from tests.services import keeper, redis

MASTER = "main"
PASSWORD = "p@ss/word"  # has to be percent-encoded in a URL
SLOTS = 16384
SECONDS = 20

# A sentinel notices a failure within a second; two of three have to agree.
_SENTINEL = """
sentinel monitor {master} 127.0.0.1 {port} 2
sentinel auth-pass {master} {password}
sentinel down-after-milliseconds {master} 700
sentinel failover-timeout {master} 3000
"""


@dataclass
class Node:
    """One server."""

    port: int

    @property
    def client(self) -> Any:
        return redis_client.Redis(port=self.port, password=PASSWORD, socket_timeout=5)

    def kill(self) -> None:
        os.kill(int(self.client.info("server")["process_id"]), signal.SIGKILL)


@dataclass
class Sentinels:
    """A master, a replica, and the sentinels that monitor them."""

    master: Node
    replica: Node
    ports: list[int]

    @property
    def url(self) -> str:
        hosts = ",".join(f"127.0.0.1:{port}" for port in self.ports)
        return f"redis+sentinel://:p%40ss%2Fword@{hosts}/{MASTER}/0"

    def fail_over(self) -> None:
        """Kill the master, and wait until the replica has taken its place."""
        self.master.kill()
        wait_until(lambda: self.replica.client.role()[0] == b"master")


@dataclass
class Cluster:
    """Three masters that divide the slots among them."""

    nodes: list[Node]

    @property
    def url(self) -> str:
        return f"redis+cluster://:p%40ss%2Fword@{','.join(f'127.0.0.1:{node.port}' for node in self.nodes)}"


def wait_until(what: Callable[[], bool]) -> None:
    """Wait until a condition is true. Fails after SECONDS."""
    deadline = time.monotonic() + SECONDS
    while True:
        with contextlib.suppress(redis_client.RedisError):
            if what():
                return
        assert time.monotonic() < deadline, "the condition did not become true in time"
        time.sleep(0.05)


@contextlib.contextmanager
def _node(*options: str, port: int = 0) -> Iterator[Node]:
    node = Node(port or keeper.free_port())
    secret = ["--requirepass", PASSWORD, "--masterauth", PASSWORD]
    with keeper.folder() as home, redis.running(home, node.port, *secret, *options, password=PASSWORD):
        yield node


@contextlib.contextmanager
def sentinels() -> Iterator[Sentinels]:
    """Yield a master with a replica and three sentinels, which all know both."""
    with contextlib.ExitStack() as stack:
        master = stack.enter_context(_node())
        replica = stack.enter_context(_node("--replicaof", "127.0.0.1", str(master.port)))
        config = _SENTINEL.format(master=MASTER, port=master.port, password=PASSWORD)
        ports = [keeper.free_port() for _ in range(3)]
        for port in ports:
            home = stack.enter_context(keeper.folder())
            stack.enter_context(redis.running_sentinel(home, port, config))
        wait_until(lambda: replica.client.info("replication")["master_link_status"] == "up")
        for port in ports:
            wait_until(lambda: _sees_all(port))  # noqa: B023  (called at once)
        yield Sentinels(master, replica, ports)


def _sees_all(port: int) -> bool:
    client: Any = redis_client.Redis(port=port)
    state = client.sentinel_masters()[MASTER]
    return bool(state["num-other-sentinels"] == 2 and state["num-slaves"] == 1)


@contextlib.contextmanager
def cluster() -> Iterator[Cluster]:
    """Yield a cluster of three masters."""
    with contextlib.ExitStack() as stack:
        # By default the cluster bus of a node uses the node's port plus 10,000, which may not be free.
        nodes = [
            stack.enter_context(_node("--cluster-enabled", "yes", "--cluster-port", str(keeper.free_port())))
            for _ in range(3)
        ]
        first = nodes[0].client
        for number, node in enumerate(nodes):
            begin, end = number * SLOTS // 3, (number + 1) * SLOTS // 3 - 1
            node.client.execute_command("CLUSTER", "ADDSLOTSRANGE", begin, end)
            node.client.execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for node in nodes[1:]:
            bus = int(node.client.config_get("cluster-port")["cluster-port"])
            first.execute_command("CLUSTER", "MEET", "127.0.0.1", node.port, bus)
        for node in nodes:
            wait_until(lambda: _is_whole(node))  # noqa: B023  (called at once)
        yield Cluster(nodes)


def _is_whole(node: Node) -> bool:
    told: bytes = node.client.execute_command("CLUSTER", "INFO")
    return b"cluster_state:ok" in told and b"cluster_known_nodes:3" in told
