"""Every role of deploy/compose.yaml runs from the one image, and a dump of it all lives on elsewhere."""

import contextlib
from pathlib import Path

import pytest
import redis

from tests.image import mailbox, stack
from tests.image.journey import SECTIONS, Journey
from tests.image.stack import Stack, Stores, soon
from tests.services import keeper, podman, proxies
from tests.services.proxies import HOSTS, Proxy

pytestmark = [pytest.mark.image, pytest.mark.proxy, pytest.mark.redis]

# What belongs to which host; everywhere else it is 404.
CALLS = 5
PARTS = {"auth": "/docs/", "api": "/v1/me", "admin": "/admin/"}


def test_all_roles_run_from_one_image_and_move_with_their_data(redis_url: str) -> None:
    image = podman.build()
    with contextlib.ExitStack() as ends:
        home = ends.enter_context(keeper.folder())
        mails = ends.enter_context(mailbox.listening())
        here = ends.enter_context(stack.stores(home, "here", mails.port))
        port = keeper.free_port()
        proxy = ends.enter_context(proxies.caddy(port))
        deployed = deployment(image, here, proxy, port, redis_url)
        refuses_to_write(deployed)
        deployed.once("migrate")
        journey = Journey.begin(proxy, deployed.provision(**SECTIONS))
        with deployed.running():
            hosts_are_split(journey)
            journey.live()
            owner = journey.invite("eve@example.com")
            soon(lambda: mails.holds("eve@example.com"), "an email")
            for _ in range(CALLS):
                journey.call(journey.api_key)
            soon(lambda: journey.counted(owner) >= 1, "a count of calls")
            journey.refresh()
            deployed.check()
        there = ends.enter_context(stack.stores(home, "there", mails.port, like=here))
        arrived = deployment(image, there, proxy, port, redis_url)
        move(deployed, arrived, home / "portal.dump")
        redis.Redis.from_url(redis_url).flushall()  # nothing of it is moved
        with arrived.running():
            journey.lives_on()


def deployment(image: str, held: Stores, proxy: Proxy, port: int, redis_url: str) -> Stack:
    """Return a deployment on these stores; it has the loopback addresses of this test in place of a network's."""
    hosts = {f"{name.upper()}_HOST": f"{host}:{proxy.https}" for name, host in HOSTS.items()}
    variables = {"LISTEN": "127.0.0.1", "DEFAULT_FROM_EMAIL": "Openport <no-reply@example.com>"} | hosts
    return Stack(image, held, variables, {"PORT": str(port), "REDIS_URL": redis_url, "TRUSTED_PROXIES": "127.0.0.1"})


def refuses_to_write(deployed: Stack) -> None:
    """The roles can write to /tmp and DATA_DIR alone, and are nobody in particular."""
    said = deployed.once(
        "web", "sh", "-c", "id -u; for f in /opt/portal /var /tmp $DATA_DIR; do test -w $f; echo $?; done"
    )
    assert said.split() == ["1000", "1", "1", "0", "0"]
    assert deployed.once("web", "sh", "-c", "grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status").split()[1::2] == [
        "0" * 16,
        "0" * 16,
        "1",
    ]


def hosts_are_split(journey: Journey) -> None:
    for part, path in PARTS.items():
        for host in PARTS:
            status = journey.at(host, path).status_code
            assert (status == 404) == (host != part), (host, path, status)


def move(deployed: Stack, arrived: Stack, dump: Path) -> None:
    """Take database and pictures to other stores, as docs/deployment.md#to-another-machine says."""
    here, there = deployed.stores, arrived.stores
    here.psql("--format", "custom", "--file", str(dump), f"{here.superuser}/portal", program="pg_dump")
    there.psql("--dbname", f"{there.superuser}/portal", str(dump), program="pg_restore")
    packed = deployed.once("web", "tar", "-C", "/var/lib/portal", "-cf", "-", "media", text=False)
    arrived.once("web", "tar", "-C", "/var/lib/portal", "-xf", "-", text=False, input=packed)
