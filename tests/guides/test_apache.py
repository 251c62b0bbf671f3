"""The guide for Apache with mod_auth_openidc."""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.clients.ended_sessions import check_sessions_end
from tests.guides.journey import Paths, sign_in, walk
from tests.guides.reading import OpenGuide, needs
from tests.guides.runs import record_run
from tests.services import keeper

MODULE = Path("/usr/lib/apache2/modules/mod_auth_openidc.so")
pytestmark = [
    pytest.mark.slow,
    needs("/usr/sbin/apache2", "openssl"),
    pytest.mark.skipif(not MODULE.exists(), reason="no mod_auth_openidc on this machine"),
]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that Apache's own user can read: root starts it, and it gives that up."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_apache(guide: Callable[..., OpenGuide], folder: Path) -> None:
    port = keeper.free_port()
    app = guide("apache", port=port, backchannel_logout_uri=f"http://localhost:{port}/callback?logout=backchannel")
    app.folder = folder
    app.save()
    install, load, run = app.commands
    user = " -c 'User www-data'" if os.geteuid() == 0 else ""
    app.run(f"{load}\nexec {run} -c 'LogLevel auth_openidc:debug'{user}")
    callback = "/callback"
    paths = Paths(
        sign_in="/",
        refresh=f"{callback}?info=json&access_token_refresh_interval=1",
        sign_out=f"{callback}?logout={app.origin}/signed-out.html".replace(":", "%3A"),
    )
    walk(app, paths, before_refresh=lambda: time.sleep(2.1))
    app.person.decision = "allow"
    check_sessions_end(app.service, app.client["client_id"], app.person, partial(sign_in, app, paths), f"{app.origin}/")

    assert "grant_type=refresh_token" in app.log.read_text(errors="replace")
    packages = install.removeprefix("sudo apt-get install ").split()
    record_run("apache", {package: installed_by_apt(package) for package in packages})


def installed_by_apt(package: str) -> str:
    shown = ["dpkg-query", "--show", "--showformat=${Version}", package]
    version = subprocess.run(shown, capture_output=True, text=True, check=True).stdout
    # Debian's security updates change the third number.
    return ".".join(version.partition("-")[0].split(".")[:2])
