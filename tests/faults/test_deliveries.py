"""Events to apps while everything fails: each committed cause arrives, and nothing arrives without one."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from tests.faults.rig import Rig, rig, wait_until
from tests.faults.session_ends import SESSIONS
from tests.relying_party import claims_of
from tests.services import names
from tests.services.certificates import Authority
from tests.services.service import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.redis, pytest.mark.postgres]

GOOD = "good"
FAULTY = ("slow", "late", "hanging", "failing", "gone")


@dataclass
class Outside:
    """An app's server with TLS: `behaves` says how it answers, `arrived` what it was sent, as `jti` and `sid`."""

    name: str
    behaves: str
    arrived: list[tuple[str, str]] = field(default_factory=list)
    meanwhile: Callable[[], None] | None = None  # called once, before the next answer
    port: int = 0

    @property
    def host(self) -> str:
        return f"{self.name}.test"

    def take(self, body: bytes) -> None:
        claims = claims_of(parse_qs(body.decode())["logout_token"][0])
        self.arrived.append((claims["jti"], claims["sid"]))
        act, self.meanwhile = self.meanwhile, None
        if act is not None:
            act()


class _Handler(BaseHTTPRequestHandler):
    app: Outside

    def do_POST(self) -> None:
        behaves = self.app.behaves
        self.close_connection = True
        if behaves == "gone":
            return
        self.app.take(self.rfile.read(int(self.headers["Content-Length"])))
        time.sleep({"slow": 4.5, "late": 6, "hanging": 12}.get(behaves, 0))
        status = {"failing": b"500", "hanging": b""}.get(behaves, b"200")
        with contextlib.suppress(OSError):
            self.wfile.write(b"HTTP/1.1 %b Answer\r\nContent-Length: 0\r\n\r\n" % status if status else b"")

    def log_message(self, *args: Any) -> None:
        pass


@contextlib.contextmanager
def serve(app: Outside, authority: Authority) -> Iterator[None]:
    handler = type("Handler", (_Handler,), {"app": app})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads, server.block_on_close = True, False
    server.handle_error = lambda *args: None  # type: ignore[method-assign]  # workers that are killed
    context = authority.server_context(app.host)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    app.port = server.server_port
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


@dataclass
class World:
    """A service whose people end their sessions, and the apps that are told."""

    made: Rig
    apps: dict[str, Outside]
    process: "subprocess.Popen[str]"
    sessions: list[dict[str, Any]]
    outcomes: dict[str, str] = field(default_factory=dict)
    worker: "subprocess.Popen[bytes] | None" = None

    def begin_ends(self, count: int) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()

    def await_ends(self) -> None:
        assert self.process.stdout is not None
        self.outcomes |= json.loads(self.process.stdout.readline())

    def start_worker(self, number: int) -> "subprocess.Popen[bytes]":
        schedule = str(self.made.service.home / f"beat-{number}")
        arguments = ("worker", "-B", "--schedule", schedule, "--concurrency", "4")
        self.worker = self.made.service.start_celery(*arguments, program="tests.faults.roads")
        return self.worker

    def deliveries(self) -> list[tuple[str, str, str, str]]:
        """Return the app, `sid`, `jti` and state of each delivery."""
        sql = (
            "SELECT c.name, d.sid, d.jti, d.state FROM oidc_delivery d JOIN oidc_eventreceiver r ON "
            "r.id = d.receiver_id JOIN oidc_client c ON c.id = r.client_id"
        )
        return [(*row,) for row in self.made.postgres.execute(sql) if row[1].startswith(row[0])]

    def is_delivered(self, jti: str) -> bool:
        return (jti, "delivered") in {(each, state) for _, _, each, state in self.deliveries()}

    def caused(self) -> Counter[tuple[str, str]]:
        """Return the app and `sid` of each session of an app that has ended, from the sessions and consents alone."""
        database = self.made.postgres
        alive = {key for (key,) in database.execute("SELECT session_key FROM django_session")}
        sql = (
            "SELECT c.name, a.email FROM oidc_connection o JOIN oidc_client c ON c.id = o.client_id "
            "JOIN accounts_account a ON a.id = o.account_id WHERE o.removed_at IS NOT NULL"
        )
        removed = {f"{name}-{email.removeprefix('s').partition('@')[0]}" for name, email in database.execute(sql)}
        return Counter(
            (name, sid)
            for session in self.sessions
            for name, sid in session["sids"].items()
            if session["key"] not in alive or sid in removed
        )


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    authority = Authority()
    apps = {name: Outside(name, "well" if name == GOOD else name) for name in (GOOD, *FAULTY)}
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(names.serve())
        roads = {}
        for number, app in enumerate(apps.values()):
            stack.enter_context(serve(app, authority))
            server.set(app.host, "A", f"93.184.216.{number + 1}")
            roads[f"93.184.216.{number + 1}"] = app.port
        made = stack.enter_context(
            rig(
                start=False,
                DNS_SERVERS=server.address,
                ROADS=json.dumps(roads),
                SSL_CERT_FILE=authority.trust_file(tmp_path),
                DATABASE_TASK_STATEMENT_TIMEOUT_SECONDS="3",
            )
        )
        urls = {name: f"https://{app.host}/logout" for name, app in apps.items()}
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.session_ends", json.dumps(urls)],
            cwd=ROOT,
            env=made.service.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        try:
            yield World(made, apps, process, json.loads(process.stdout.readline()))
        finally:
            process.kill()
            process.communicate()


def test_each_session_end_that_was_committed_is_told_and_no_other(world: World) -> None:
    database, good = world.made.postgres, world.apps[GOOD]
    worker = world.start_worker(1)

    # Five of six apps don't answer as they should. The other one gets its tokens meanwhile.
    world.begin_ends(SESSIONS // 3)
    world.await_ends()
    assert set(world.outcomes.values()) == {"committed", "rolled back"}
    told = {sid for name, sid in world.caused() if name == GOOD}
    wait_until(lambda: told <= {sid for _, sid in good.arrived}, "an app waits for others")
    assert {state for name, _, _, state in world.deliveries() if name in ("hanging", "failing", "gone")} == {"waiting"}
    wait_until(lambda: bool(world.apps["late"].arrived), "an app that is not fast has no turn")

    # The worker dies after an app got a token, and before it can say so.
    good.meanwhile = lambda: os.killpg(worker.pid, signal.SIGKILL)
    world.begin_ends(SESSIONS - SESSIONS // 3)
    wait_until(lambda: worker.poll() is not None, "the worker lives")
    again, _ = good.arrived[-1]
    database.execute("UPDATE oidc_eventreceiver SET busy_until = now()")  # as if its claims had run out
    world.start_worker(2)
    # Once this is stored, the faults below can't cause a third token. A worker starts slowly on a busy machine.
    wait_until(lambda: world.is_delivered(again), "the next worker does not send it again", 150)
    with database.frozen():
        time.sleep(1)
    database.stop()
    database.start()
    world.made.redis.stop()
    time.sleep(1)
    world.made.redis.start()
    world.await_ends()

    # Everything works again, and the developers resume: tries that are under way don't count any more.
    for app in world.apps.values():
        app.behaves = "well"
    well = "failures = 0, failing_since = NULL, retry_at = NULL"
    database.execute(f"UPDATE oidc_eventreceiver SET busy_until = now(), {well}")
    database.execute("UPDATE oidc_delivery SET not_before = now(), attempts = 0 WHERE state = 'waiting'")

    def all_are_delivered() -> bool:
        # Celery may end when it loses the broker. Then systemd or the container engine starts it again.
        if world.worker is None or world.worker.poll() is not None:
            world.start_worker(3)
        return all(state == "delivered" for *_, state in world.deliveries())

    wait_until(all_are_delivered, "deliveries wait")

    assert len(world.outcomes) == SESSIONS
    check(world)
    assert [jti for jti, _ in good.arrived].count(again) == 2


def check(world: World) -> None:
    """Compare sessions, deliveries and what the apps got."""
    deliveries, caused = world.deliveries(), world.caused()
    assert Counter((name, sid) for name, sid, _, _ in deliveries) == caused
    assert set(caused.values()) == {1}
    for session in world.sessions:
        outcome = world.outcomes[session["key"]]
        expected = [session["removed"]] if session["removed"] else list(session["sids"])
        ended = [name for name in session["sids"] if (name, session["sids"][name]) in caused]
        assert ended in {"committed": [expected], "rolled back": [[]], "unknown": [expected, []]}[outcome]
    for app in world.apps.values():
        sent = {jti: sid for name, sid, jti, _ in deliveries if name == app.name}
        assert dict(app.arrived) == sent, app.name  # duplicates have the same jti
        assert {sid for _, sid in app.arrived} == set(sent.values())
    late = world.apps["late"]
    assert len(late.arrived) > len(set(late.arrived)), "what was answered too late is sent again"
