"""Follow a guide as its reader does: pick a client, save the files, and run the commands."""

import contextlib
import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx
import pytest
from bs4 import BeautifulSoup

from devportal.docs.guides.registry import GUIDES, Guide
from tests.clients.person import PASSWORD, Forms, Person
from tests.clients.terminal import Code, Shown
from tests.guides.packages import QUICK_START
from tests.services import keeper
from tests.services.service import Service

READY_SECONDS = 180  # Java starts for minutes on a busy machine
FINISH_SECONDS = 900  # a first build compiles and downloads, for minutes on a busy machine
END_SECONDS = 20
ADA = {"password": PASSWORD, "given_name": "Ada", "family_name": "Lovelace"}


@dataclass
class OpenGuide:
    """A guide's page, filled in for a client of this reader, and the files and processes that the reader created."""

    guide: Guide
    service: Service
    folder: Path
    client: dict[str, Any]
    person: Person
    blocks: list[Shown]
    env: str  # the .env file of the console, "" for a client without a secret
    commands: list[str] = field(default_factory=list)
    _running: "list[subprocess.Popen[bytes]]" = field(default_factory=list)

    @property
    def origin(self) -> str:
        parts = urlsplit(self.client["redirect_uris"][0])
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def port(self) -> int:
        return urlsplit(self.origin).port or 80

    @property
    def log(self) -> Path:
        return self.folder / "app.log"

    def declare(self, name: str, **keys: Any) -> dict[str, Any]:
        """Declare another client of the reader's project, with the same URLs as the guide's client."""
        addresses = {key: self.client[key] for key in ("redirect_uris", "post_logout_redirect_uris")}
        project = {"name": f"{self.guide.title} project", "owner": f"{self.guide.name}@example.com"}
        declared = self.service.provision(
            projects=[project | {"clients": [{"name": name, "type": self.guide.app_type} | addresses | keys]}]
        )
        client: dict[str, Any] = declared["projects"][0]["clients"][0]
        return client

    def save(self) -> None:
        """Save the .env file of the console and the files of the page, and store the commands for a POSIX shell."""
        if self.env:
            (self.folder / ".env").write_text(self.env, encoding="utf-8")
        for block in self.blocks:
            if block.file:
                path = self.folder / block.file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"{block.code}\n", encoding="utf-8")
            elif block.language != "powershell":
                self.commands.append(block.code)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of the reader's shell. The client secret is only in the .env file."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        mine = {name: value for name, value in os.environ.items() if name != "CLIENT_SECRET"}
        return {"MAVEN_OPTS": QUICK_START} | mine | {"PATH": path}

    def finish(self, command: str, **settings: str) -> str:
        """Run a command to its end, and return its output. Fails if the command fails."""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.environment | settings,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=FINISH_SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    def run(self, command: str, **settings: str) -> None:
        """Start a command of the page in a shell, and wait until the app responds."""
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                ["bash", "-c", command],
                cwd=self.folder,
                env=self.environment | settings,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._running.append(process)
        deadline = time.monotonic() + READY_SECONDS
        while not accepts(self.port):
            said = self.log.read_text(errors="replace")[-3000:]
            assert process.poll() is None, said
            assert time.monotonic() < deadline, said
            time.sleep(0.1)

    def close(self) -> None:
        """End everything that was started, and wait until the port is free: children of the shell end after it."""
        if not self._running:
            return
        while self._running:
            process = self._running.pop()
            with contextlib.suppress(ProcessLookupError):  # it ended by itself
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        deadline = time.monotonic() + END_SECONDS
        while accepts(self.port):
            assert time.monotonic() < deadline, f"something still listens at port {self.port}"
            time.sleep(0.05)


def needs(*commands: str) -> pytest.MarkDecorator:
    """Return a mark that skips a test if this machine lacks one of these commands; the reason names the first one."""
    missing = next((command for command in commands if shutil.which(command) is None), None)
    return pytest.mark.skipif(missing is not None, reason=f"no {missing} on the PATH")


_readings = itertools.count(1)


def open_guide(
    service: Service, name: str, folder: Path, host: str = "localhost", port: int = 0, **keys: Any
) -> OpenGuide:
    """Register a client as the guide says, and read the guide's page as its developer.

    The port in the registered URLs is replaced by a free one (or by `port`), so that several guides can run at the same
    time. `keys` are further keys of the client in the provisioning file. A guide that continues another one gets the
    blocks of both.
    """
    guide = GUIDES[name]
    port, number = port or keeper.free_port(), next(_readings)
    owner, ada = f"{name}@example.com", f"ada.{number}.{name}@example.com"
    declaration = {
        # Each reader has a new client and person, because the secret of an existing client is not shown again.
        "name": f"{guide.title} app {number}",
        "type": guide.app_type,
        "redirect_uris": [_at(guide.redirect_uri, host, port)],
        "post_logout_redirect_uris": [_at(guide.signed_out_uri, host, port)],
    }
    declared = service.provision(
        people=[{"email": owner, "password": PASSWORD, "given_name": "Grace"}, ADA | {"email": ada}],
        projects=[{"name": f"{guide.title} project", "owner": owner, "clients": [declaration | keys]}],
    )
    client = declared["projects"][0]["clients"][0]
    with signed_in(service, owner) as browser:
        names = [each for each in (guide.continues, name) if each]
        pages = [browser.get(f"/docs/guides/{each}", params={"client": client["client_id"]}) for each in names]
        project = declared["projects"][0]["id"]
        env = new_env_file(browser, project, client["client_id"]) if client["client_secret"] else ""
    assert [page.status_code for page in pages] == [200] * len(pages)
    blocks = [block for page in pages for block in Code(page.text).blocks]
    return OpenGuide(guide, service, folder, client, Person(service, ada), blocks, env)


def new_env_file(browser: httpx.Client, project_id: str, client_id: str) -> str:
    """Create another secret in the console, and return the .env file that the page shows."""
    page = browser.get(f"/console/p/{project_id}/clients/{client_id}/")
    form = next(form for form in Forms(page.text).found if form.action.endswith("/secrets/new"))
    shown = browser.post(urljoin(str(page.url), form.action), data=form.fields)
    file = BeautifulSoup(shown.text, "html.parser").find(id="env")
    assert file is not None, shown.text[:3000]
    return file.get_text()


def accepts(port: int) -> bool:
    """Return whether something listens on a port of this machine."""
    with socket.socket() as caller:
        return caller.connect_ex(("127.0.0.1", port)) == 0


def _at(address: str, host: str, port: int) -> str:
    parts = urlsplit(address)
    return parts._replace(netloc=f"{host}:{port}").geturl()


@contextlib.contextmanager
def signed_in(service: Service, email: str) -> Iterator[httpx.Client]:
    """Yield the browser of someone who has signed in."""
    with httpx.Client(base_url=service.address, follow_redirects=True, timeout=20) as browser:
        page = browser.get("/account/login/")
        form = next(form for form in Forms(page.text).found if "password" in form.fields)
        filled = form.fields | {"login": email, "password": PASSWORD}
        browser.post(urljoin(str(page.url), form.action), data={name: value for name, value in filled.items() if name})
        yield browser
