"""The forms of REDIS_URL and BROKER_URL: one server, Redis Sentinel, or Redis Cluster (docs/settings.md).

`redis://`, `rediss://` and `unix://` URLs are those of redis-py. The others name several nodes, which the library's
URLs can't do: `redis+sentinel://HOST:PORT,HOST:PORT/MASTER/DB` and `redis+cluster://HOST:PORT,HOST:PORT`, with
`rediss+…` over TLS. User and password of the servers come before the hosts; those of the sentinels are parameters.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

import redis
from kombu.connection import Connection
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.connection import parse_url
from redis.exceptions import RedisClusterException
from redis.retry import Retry
from redis.sentinel import Sentinel

_parse_url: Callable[[str], dict[str, Any]] = parse_url
_Sentinel: Any = Sentinel
_ClusterNode: Any = ClusterNode
_Connection: Any = Connection
# The exceptions of a client if Redis can't be reached or rejects a command; callers continue without Redis.
LOST = (redis.RedisError, RedisClusterException, OSError)

PORTS = {"server": 6379, "sentinel": 26379, "cluster": 6379}
_TLS_PARAMETERS = ("ssl_ca_certs", "ssl_cert_reqs", "ssl_certfile", "ssl_check_hostname", "ssl_keyfile")
_CERT_REQS = ("none", "optional", "required")
# The forms of a broker's URL that are kombu's own: RabbitMQ, and its spelling of a socket and of sentinels.
_SCHEMES_OF_KOMBU = ("amqp", "amqps", "pyamqp", "redis+socket", "sentinel")


@dataclass(frozen=True)
class RedisAddress:
    """One server (`url`), or several nodes and the options of their connections."""

    kind: str  # server, sentinel, cluster
    url: str
    nodes: tuple[tuple[str, int], ...] = ()
    master: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    sentinel_options: dict[str, Any] = field(default_factory=dict)


def parse_address(url: str) -> RedisAddress:
    """Parse REDIS_URL. Raises ValueError, with a message that contains no password."""
    scheme, found, rest = url.partition("://")
    prefix, _, kind = scheme.partition("+")
    if kind in ("sentinel", "cluster") and prefix in ("redis", "rediss"):
        return _parse_nodes(url, kind, rest, secure=prefix == "rediss")
    if not found or scheme not in ("redis", "rediss", "unix"):
        raise ValueError("it must begin with redis://, rediss://, unix://, redis+sentinel:// or redis+cluster://")
    parts = urlsplit(url)
    if not parts.path.strip("/").isdecimal() and scheme != "unix" and parts.path.strip("/"):
        raise ValueError("the path must be the number of a database")
    if "," in parts.netloc:
        raise ValueError("several hosts need redis+sentinel:// or redis+cluster://")
    with _without_its_text():
        _parse_url(url)
    _check_parameters(url)
    return RedisAddress("server", url)


def _check_parameters(url: str) -> None:
    """Raise ValueError for parameters that the library would reject whenever it makes a connection."""
    try:
        redis.ConnectionPool.from_url(url).make_connection()  # which connects to nothing yet
    except (TypeError, ValueError, redis.RedisError):
        raise ValueError("its query has a parameter or a value that redis-py does not know") from None


def _parse_nodes(url: str, kind: str, rest: str, secure: bool) -> RedisAddress:
    rest, _, query = rest.partition("?")
    netloc, _, path = rest.partition("/")
    user, _, hosts = netloc.rpartition("@")
    nodes = tuple(_parse_node(host, PORTS[kind]) for host in hosts.split(","))
    name, _, password = (unquote(part) for part in user.partition(":"))
    options: dict[str, Any] = {"username": name, "password": password}
    given = dict(parse_qsl(query, keep_blank_values=True))
    sentinel = {part: given.pop(f"sentinel_{part}", "") for part in ("username", "password")}
    tls = _tls_options({key: given.pop(key) for key in _TLS_PARAMETERS if key in given}) if secure else {}
    if given:
        raise ValueError(f"it has unknown parameters: {', '.join(sorted(given))}")
    options = {key: value for key, value in options.items() if value} | tls
    sentinel_options = {key: value for key, value in sentinel.items() if value} | tls
    if kind == "cluster":
        if path.strip("/") not in ("", "0"):
            raise ValueError("a cluster has only database 0")
        return RedisAddress(kind, url, nodes, options=options)
    master, _, number = path.strip("/").partition("/")
    if not master or not (number or "0").isdecimal():
        raise ValueError("the path must be the sentinels' name of the master, and the number of a database")
    return RedisAddress(kind, url, nodes, unquote(master), options | {"db": int(number or 0)}, sentinel_options)


def _parse_node(text: str, port: int) -> tuple[str, int]:
    with _without_its_text():
        parts = urlsplit(f"//{text}")
        found = parts.hostname, parts.port or port
    if not found[0]:
        raise ValueError("a node has no host")
    return found[0], found[1]


@contextlib.contextmanager
def _without_its_text() -> Iterator[None]:
    """Keep parts of the URL out of messages: they may be parts of a password that is not percent-encoded."""
    try:
        yield
    except ValueError:
        text = "host or port can't be read; in a password, characters such as / # ? @ : have to be percent-encoded"
        raise ValueError(text) from None


def _tls_options(given: dict[str, str]) -> dict[str, Any]:
    if given.get("ssl_cert_reqs", "required") not in _CERT_REQS:
        raise ValueError(f"ssl_cert_reqs must be one of {', '.join(_CERT_REQS)}")
    options: dict[str, Any] = {"ssl": True, "ssl_cert_reqs": "required"} | given
    if "ssl_check_hostname" in given:
        options["ssl_check_hostname"] = given["ssl_check_hostname"].lower() != "false"
    return options


def is_cluster(url: str) -> bool:
    """Return whether a URL is that of a Redis Cluster."""
    return url.partition("://")[0].endswith("+cluster")


def connect(url: str, seconds: float, connect_seconds: float) -> Any:
    """Return a client of REDIS_URL that waits `seconds` for a response; it connects at first use.

    It never retries, because its callers can continue without Redis. Raises ValueError for an invalid URL.
    """
    address = parse_address(url)
    times: dict[str, Any] = {"socket_timeout": seconds, "socket_connect_timeout": connect_seconds}
    once = Retry(NoBackoff(), 0)
    if address.kind == "cluster":
        return _LazyCluster(lambda: _cluster_client(address, once, times))
    if address.kind == "sentinel":
        asked = {"retry": once, **times, **address.sentinel_options}
        sentinels = _Sentinel(address.nodes, sentinel_kwargs=asked, **times, **address.options)
        return sentinels.master_for(address.master)
    client = redis.Redis.from_url(url, **times)
    pool: Any = client.connection_pool
    pool.connection_class = type("Connection", (_LeavesReplicas, pool.connection_class), {})
    return client


class _LeavesReplicas:
    """Part of a connection to one server: it is closed once the server only accepts reads.

    After a failover behind one address, the former master keeps its connections, and only a new connection leads to the
    new master. The library does the same for Sentinel.
    """

    def read_response(self, *args: Any, **kwargs: Any) -> Any:
        connection: Any = super()
        try:
            return connection.read_response(*args, **kwargs)
        except redis.ReadOnlyError as error:
            connection.disconnect()
            raise redis.ConnectionError("The server has become a replica.") from error


def _cluster_client(address: RedisAddress, once: Retry, times: dict[str, Any]) -> Any:
    nodes = [_ClusterNode(host, port) for host, port in address.nodes]
    return RedisCluster(startup_nodes=nodes, retry=once, **times, **address.options)


class _LazyCluster:
    """A client of a cluster that asks for its nodes at first use; the library's does so when it is created."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._made: Any = None
        self._lock = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        if self._made is None:
            with self._lock:
                if not self._made:
                    self._made = self._make()
        return getattr(self._made, name)


@dataclass(frozen=True)
class BrokerAddress:
    """A broker, as Celery needs it."""

    url: str
    transport_options: dict[str, Any] = field(default_factory=dict)
    use_ssl: dict[str, Any] = field(default_factory=dict)


def broker_address(url: str) -> BrokerAddress:
    """Return Celery's form of BROKER_URL: kombu writes the URLs that REDIS_URL may contain differently.

    Raises ValueError for a cluster, which kombu's transport can't use, for parameters that kombu does not know, and as
    `parse_address` does.
    """
    if not url:
        return BrokerAddress("")
    broker = _broker(url)
    try:
        for each in broker.url.split(";"):
            _Connection(each)  # which connects to nothing yet
    except (KeyError, TypeError, ValueError):
        raise ValueError("its host, port or query has something that Celery can't read") from None
    return broker


def _broker(url: str) -> BrokerAddress:
    scheme, _, rest = url.partition("://")
    if all(each.partition("://")[0] in _SCHEMES_OF_KOMBU for each in url.split(";")):
        return BrokerAddress(url)
    if scheme.partition("+")[0] not in ("redis", "rediss", "unix"):
        raise ValueError("it must begin with redis://, rediss://, unix://, redis+sentinel:// or amqp://")
    address = parse_address(url)
    if address.kind == "cluster":
        raise ValueError("Celery can't keep its queue in a Redis Cluster")
    if address.kind == "sentinel":
        return _sentinel_broker(address)
    if scheme == "rediss" and "ssl_cert_reqs=" not in rest:  # kombu would not check the certificate
        return BrokerAddress(f"{url}{'&' if '?' in rest else '?'}ssl_cert_reqs=required")
    if scheme == "unix":
        return BrokerAddress(_socket_url(url))
    return BrokerAddress(url)


def celery_broker(url: str) -> BrokerAddress:
    """Return `broker_address(url)`, or an empty one for a URL that the checks reject (`devportal.E031`)."""
    try:
        return broker_address(url)
    except ValueError:
        return BrokerAddress("")


def _socket_url(url: str) -> str:
    parts = _parse_url(url)
    user = ":".join(quote(str(parts.get(key) or ""), safe="") for key in ("username", "password"))
    query = urlencode({"virtual_host": parts.get("db", 0)})
    return f"redis+socket://{user + '@' if user != ':' else ''}{parts['path']}?{query}"


def _sentinel_broker(address: RedisAddress) -> BrokerAddress:
    given = address.options
    user = ":".join(quote(str(given.get(key, "")), safe="") for key in ("username", "password"))
    before = f"{user}@" if user != ":" else ""
    hosts = [f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in address.nodes]
    urls = ";".join(f"sentinel://{before}{host}/{given['db']}" for host in hosts)
    options = {"master_name": address.master, "sentinel_kwargs": address.sentinel_options}
    return BrokerAddress(urls, options, {key: value for key, value in given.items() if key.startswith("ssl_")})
