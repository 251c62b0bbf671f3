"""deploy/install-debian leads from a bare Debian to the first sign-in."""

import configparser
import ctypes
import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.clients.person import Person
from tests.image.stack import LIMITS, soon
from tests.services import keeper, podman
from tests.services.proxies import DEPLOY, HOSTS, Proxy

pytestmark = pytest.mark.image

ROOT = DEPLOY.parent
SCRIPT, MANAGE, OPERATOR = "/opt/portal/deploy/install-debian", "/opt/portal/deploy/manage", "ada@example.com"
PSQL = "runuser -u postgres -- psql"
# What the script would download, kept for the next run. The servers of packages don't start during the build.
PIP = "pip install --quiet --no-cache-dir --only-binary :all: --require-hashes -r"
CONTAINERFILE = f"""
FROM {podman.BASE}
RUN printf '#!/bin/sh\\nexit 101\\n' >/usr/sbin/policy-rc.d && chmod +x /usr/sbin/policy-rc.d \\
    && apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends PACKAGES
COPY runtime.txt /opt/portal/requirements/
RUN --mount=type=secret,id=pip.conf,target=/etc/pip.conf \\
    cd /opt/portal && python3 -m venv .venv && .venv/bin/python -m {PIP} requirements/runtime.txt
"""
SOURCE = "LICENSE manage.py requirements accounts api core devportal oidc static templates deploy"
NETWORK_NAMESPACE = 0x40000000  # CLONE_NEWNET of sched.h
FILES = "find /etc/portal /etc/nginx /etc/redis -type f -exec sha256sum {} + | sort"


@dataclass
class Machine:
    """A container with a network that has only a loopback interface, so that all servers get their usual ports."""

    name: str

    def run(self, command: str, *flags: str) -> str:
        return str(podman.podman("exec", *flags, self.name, "sh", "-c", command).stdout)

    def start(self, unit: str) -> None:
        """Start the process of a unit as systemd would."""
        parsed = configparser.RawConfigParser(strict=False)
        parsed.optionxform = str  # type: ignore[assignment,method-assign]
        parsed.read_string(self.run(f"cat /etc/systemd/system/{unit}.service"))
        line = parsed["Service"]["ExecStart"]
        script = f"set -a; . /etc/portal/environment; WEB_WORKERS=1; cd /opt/portal; exec {line} >/tmp/{unit}.log 2>&1"
        self.run(script, "--detach", "--user", "portal")


@dataclass
class Site:
    """The pages for people behind nginx."""

    proxy: Proxy
    address: str = f"https://{HOSTS['auth']}"

    def client(self) -> httpx.Client:
        return httpx.Client(transport=self.proxy.transport(), timeout=20)

    def owns(self, url: str) -> bool:
        return urlsplit(url).netloc == urlsplit(self.address).netloc


@pytest.fixture
def machine() -> Iterator[Machine]:
    image, name = f"{podman.IMAGE.partition(':')[0]}-install", f"portal-test-install-{secrets.token_hex(4)}"
    packages = re.search(r'^packages="(.*)"$', (DEPLOY / "install-debian").read_text(encoding="utf-8"), re.MULTILINE)
    assert packages is not None
    with keeper.folder() as context:
        shutil.copy2(ROOT / "requirements" / "runtime.txt", context)
        podman.build_from(CONTAINERFILE.replace("PACKAGES", packages[1]), context, image)
    limits = [*LIMITS[2:], "--network", "none", "--volume", f"{ROOT}:/source:ro"]
    podman.podman("run", "--detach", "--rm", "--name", name, *limits, image, "sleep", "infinity")
    try:
        made = Machine(name)
        made.run(f"cd /source && cp -r {SOURCE} /opt/portal/")
        yield made
    finally:
        podman.podman("rm", "--force", "--time", "0", name)


def test_one_command_leads_to_the_first_sign_in_and_can_be_repeated(machine: Machine, tmp_path: Path) -> None:
    answers = (DEPLOY / "answers.example").read_text(encoding="utf-8")
    changes = {".example.com\n": ".localhost\n", "you@example.com": OPERATOR, "TLS=certbot": "TLS=ca"}
    for old, new in changes.items():
        assert old in answers
        answers = answers.replace(old, new)
    podman.podman("exec", "--interactive", machine.name, "tee", "/etc/portal-answers", input=answers)

    said = machine.run(f"{SCRIPT} /etc/portal-answers")
    password = re.search(rf"The password of {OPERATOR} is (\S+)", said)
    assert password is not None, said
    files = machine.run(FILES)
    machine.start("portal-web@")
    (tmp_path / "ca.pem").write_text(machine.run("cat /etc/portal/authority/ca.pem"))
    pid = podman.podman("inspect", "--format", "{{.State.Pid}}", machine.name).stdout.strip()
    with ThreadPoolExecutor(1, initializer=enter_network, initargs=(pid,)) as inside:
        site = Site(Proxy(80, 443, tmp_path / "ca.pem", tmp_path))
        person = inside.submit(sign_in, site, password[1]).result()
        restore_backup(machine)
        inside.submit(see_profile, person).result()
        assert person.asked == []  # still signed in

    assert "password" not in machine.run(f"{SCRIPT} /etc/portal-answers")
    assert machine.run(FILES) == files


def enter_network(pid: str) -> None:
    """Connect the sockets of this thread in the network of another process."""
    namespace = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    assert ctypes.CDLL(None, use_errno=True).setns(namespace, NETWORK_NAMESPACE) == 0, os.strerror(ctypes.get_errno())
    os.close(namespace)


def restore_backup(machine: Machine) -> None:
    """Back up, lose the database, and restore it, as docs/operations.md#backups says."""
    folder = machine.run(f"{MANAGE} backup").split()[0]
    listed = machine.run(f"ls {folder}; find /var/lib/portal/last-backup -newer {folder}/database.dump")
    assert listed.split() == ["database.dump", "/var/lib/portal/last-backup"]
    with pytest.raises(subprocess.CalledProcessError) as refused:
        machine.run(f"{MANAGE} backup --restore {folder}")
    assert "The database is not empty" in refused.value.__notes__[0]
    machine.run(f"{PSQL} --command 'DROP DATABASE portal WITH (FORCE)' --command 'DROP ROLE portal'")
    machine.run(f"{PSQL} --file /opt/portal/deploy/database.sql </etc/portal/secrets/database_password")
    machine.run(f"{MANAGE} backup --restore {folder}")


def sign_in(site: Site, password: str) -> Person:
    with site.client() as client:
        ready = f"{site.address}/health/ready"
        soon(lambda: client.get(ready).status_code == 200, "the service", 60)
        soon(lambda: client.get(ready).json()["status"] == "ok", "a Redis that accepts the password")
        statuses = {name: client.get(f"https://{host}/").status_code for name, host in HOSTS.items()}
    assert statuses == {"auth": 200, "api": 404, "admin": 302}
    person = Person(site, OPERATOR, password)
    see_profile(person)
    assert person.asked == ["sign-in"]
    return person


def see_profile(person: Person) -> None:
    person.asked = []
    page = person.visit(f"{person.service.address}/account/profile")
    assert (page.status_code, page.url.path) == (200, "/account/profile")
