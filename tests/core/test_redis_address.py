"""What REDIS_URL and BROKER_URL may say, and what the checks refuse."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core.limits.checks import check_redis_settings
from core.redis_address import broker_address, celery_broker, parse_address

ROOT = Path(__file__).resolve().parents[2]
SENTINELS = "s1.example.com:26379,s2.example.com,[2001:db8::1]:26380"


@pytest.mark.parametrize(
    "url",
    [
        "redis://localhost:6379/0",
        "redis://localhost",
        "redis://user:p%40ss@redis.example.com:6379/3",
        "rediss://:secret@redis.example.com:6380/0?ssl_ca_certs=/etc/ssl/redis.pem",
        "unix:///run/redis/redis.sock?db=1",
    ],
)
def test_one_server(url: str) -> None:
    assert parse_address(url).kind == "server"


def test_sentinels() -> None:
    address = parse_address(f"redis+sentinel://app:p%40ss%2F@{SENTINELS}/main/2?sentinel_password=other")
    assert address.nodes == (("s1.example.com", 26379), ("s2.example.com", 26379), ("2001:db8::1", 26380))
    assert address.master == "main"
    assert address.options == {"username": "app", "password": "p@ss/", "db": 2}
    assert address.sentinel_options == {"password": "other"}


def test_sentinels_over_tls() -> None:
    address = parse_address(f"rediss+sentinel://{SENTINELS}/main?ssl_ca_certs=/etc/ssl/ca.pem&ssl_check_hostname=false")
    tls = {"ssl": True, "ssl_cert_reqs": "required", "ssl_ca_certs": "/etc/ssl/ca.pem", "ssl_check_hostname": False}
    assert address.options == tls | {"db": 0}
    assert address.sentinel_options == tls


def test_a_cluster() -> None:
    address = parse_address("redis+cluster://:secret@a.example.com,b.example.com:7001")
    assert address.nodes == (("a.example.com", 6379), ("b.example.com", 7001))
    assert address.options == {"password": "secret"}


@pytest.mark.parametrize(
    "url",
    [
        "localhost:6379",
        "http://localhost",
        "redis:/localhost",
        "redis://localhost:port/0",
        "redis://localhost:6379/main",
        "redis://a.example.com,b.example.com/0",
        "redis+sentinel://a.example.com",
        "redis+sentinel://a.example.com/",
        "redis+sentinel://a.example.com/main/x",
        "redis+sentinel://a.example.com,/main",
        "redis+sentinel://a.example.com:99999999/main",
        "redis+sentinel://a.example.com/main?sentinel_pasword=typo",
        "redis+sentinel://a.example.com/main?ssl_ca_certs=/no/tls",
        "rediss+sentinel://a.example.com/main?ssl_cert_reqs=maybe",
        "redis+cluster://a.example.com/1",
        "redis+cluster://",
        "redis+other://a.example.com",
        # The library would raise TypeError or an error like that of an outage, whenever it connects.
        "redis://localhost/0?sokcet_keepalive=yes",
        "redis://localhost/0?ssl_ca_certs=/no/tls",
        "rediss://localhost/0?ssl_cert_reqs=maybe",
        "unix:///run/redis.sock?ssl_cert_reqs=none",
    ],
)
def test_invalid_redis_urls(url: str, settings: Any) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_address(url)
    settings.REDIS_URL = url
    assert "devportal.E030" in [found.id for found in check_redis_settings(None)]


@pytest.mark.parametrize(
    "url",
    [
        "redis+cluster://user:hunter2@a.example.com/1",
        "redis+sentinel://user:hunter2@a.example.com/main?sentinel_passwort=hunter2",
        "redis+sentinel://user:hunter2/main@a.example.com/main",
        "redis://user:hunter2/3#@a.example.com/0",
        "redis://user:hunter2#@a.example.com/0",
    ],
)
def test_a_message_shows_no_password(url: str, settings: Any) -> None:
    settings.REDIS_URL = settings.BROKER_URL = url
    found = check_redis_settings(None)
    assert found
    assert "hunter2" not in str(found)


def test_a_cluster_needs_another_broker(settings: Any) -> None:
    settings.REDIS_URL, settings.BROKER_URL = "redis+cluster://a.example.com", ""
    assert [found.id for found in check_redis_settings(None)] == ["devportal.E031"]
    settings.BROKER_URL = "redis+cluster://a.example.com"
    assert [found.id for found in check_redis_settings(None)] == ["devportal.E031"]
    assert celery_broker(settings.BROKER_URL).url == ""
    settings.BROKER_URL = "redis://b.example.com:6379/0"
    assert check_redis_settings(None) == []


@pytest.mark.parametrize(
    "url",
    [
        "nonsense",
        "rabbit.example.com:5672",
        "http://rabbit.example.com",
        "memory://",  # tasks would stay in the process that queued them
        "amqp://user:hunter2@rabbit.example.com:port//",
        "amqp://user:hunter2/x@rabbit.example.com//",
        "amqp://a.example.com//;nonsense",
        "amqp://a.example.com//;amqp://user:hunter2@b.example.com:port//",
        "amqp://rabbit.example.com//?hartbeat=10",
        "redis://a.example.com,b.example.com/0",
        "redis://a.example.com/0?socket_keepalive=yes",  # redis-py knows it, and Celery does not
    ],
)
def test_a_broker_that_celery_can_not_use_is_rejected(url: str, settings: Any) -> None:
    settings.BROKER_URL = url
    (found,) = check_redis_settings(None)
    assert (found.id, found.is_serious()) == ("devportal.E031", True)
    assert "hunter2" not in str(found)
    assert celery_broker(url).url == ""


@pytest.mark.parametrize(("seconds", "refused"), [(0.05, False), (1, False), (0, True), (-1, True), (60, True)])
def test_invalid_timeouts(seconds: float, refused: bool, settings: Any) -> None:
    settings.REDIS_TIMEOUT_SECONDS = seconds
    assert ["devportal.E032"] * refused == [found.id for found in check_redis_settings(None)]


@pytest.mark.parametrize(
    ("url", "broker"),
    [
        ("", ""),
        ("redis://a.example.com:6379/0", "redis://a.example.com:6379/0"),
        ("amqp://guest@rabbit.example.com//", "amqp://guest@rabbit.example.com//"),
        ("amqps://guest:p%40ss@rabbit.example.com:5671//", "amqps://guest:p%40ss@rabbit.example.com:5671//"),
        ("amqp://a.example.com//;amqp://b.example.com//", "amqp://a.example.com//;amqp://b.example.com//"),
        # Kombu alone would check no certificate.
        ("rediss://a.example.com/0", "rediss://a.example.com/0?ssl_cert_reqs=required"),
        (
            "rediss://a.example.com/0?ssl_ca_certs=/ca.pem",
            "rediss://a.example.com/0?ssl_ca_certs=/ca.pem&ssl_cert_reqs=required",
        ),
        ("rediss://a.example.com/0?ssl_cert_reqs=none", "rediss://a.example.com/0?ssl_cert_reqs=none"),
        ("unix:///run/redis.sock?db=2", "redis+socket:///run/redis.sock?virtual_host=2"),
        ("redis+socket:///run/redis.sock", "redis+socket:///run/redis.sock"),
    ],
)
def test_celery_settings(url: str, broker: str) -> None:
    assert broker_address(url).url == broker


# Any of Celery's commands; this one ends without a broker.
COMMAND = """
from celery.bin.celery import celery
celery(["-A", "devportal", "inspect", "--help"], standalone_mode=False)
from devportal.celery import app
print("broker:", app.conf.broker_read_url, app.conf.broker_write_url)
"""


@pytest.mark.parametrize(
    ("url", "broker"),
    [
        ("rediss://127.0.0.1:9/0", "rediss://127.0.0.1:9/0?ssl_cert_reqs=required"),
        ("redis+sentinel://127.0.0.1:9,127.0.0.1:8/main", "sentinel://127.0.0.1:9/0;sentinel://127.0.0.1:8/0"),
    ],
)
def test_the_command_line_of_celery_uses_the_settings(url: str, broker: str, tmp_path: Path) -> None:
    """It reads an environment variable of the same name."""
    env = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path), "BROKER_URL": url}
    done = subprocess.run(
        [sys.executable, "-c", COMMAND], env=env, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert f"broker: {broker} {broker}" in done.stdout, done.stderr[-2000:]


def test_celery_settings_for_sentinels() -> None:
    told = broker_address(f"rediss+sentinel://app:p%40ss@{SENTINELS}/main/2?sentinel_password=other")
    hosts = ["s1.example.com:26379", "s2.example.com:26379", "[2001:db8::1]:26380"]
    assert told.url == ";".join(f"sentinel://app:p%40ss@{host}/2" for host in hosts)
    tls = {"ssl": True, "ssl_cert_reqs": "required"}
    assert told.transport_options == {"master_name": "main", "sentinel_kwargs": {"password": "other"} | tls}
    assert told.use_ssl == {"ssl_cert_reqs": "required"}
