"""Show where a request spends its time: python benchmarks/profile_requests.py [OPERATION].

The whole WSGI application runs in this process, with a separate PostgreSQL and Redis. cProfile measures the functions;
its overhead makes small functions look too slow.
"""

import argparse
import base64
import contextlib
import cProfile
import hashlib
import io
import json
import os
import pstats
import secrets
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import processes
from benchmarks.contenders import REDIRECT_URI, UNLIMITED
from benchmarks.rounds import OPERATIONS
from benchmarks.servers import OUR_PATHS
from tests.services import keeper, plugin, postgres, redis

REQUESTS = 400
WARM_UP = 60


@contextlib.contextmanager
def services() -> Iterator[None]:
    """Run PostgreSQL and Redis on a different core than this process, and configure Django to use them."""
    tested, rest = processes.cores() or (None, None)
    with contextlib.ExitStack() as stack:
        with processes.on_core(rest):
            folder = stack.enter_context(keeper.folder())
            database, store = stack.enter_context(postgres.start()), stack.enter_context(redis.start())
        for name in plugin.SETTINGS:
            os.environ.pop(name, None)
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "devportal.settings",
            "DATABASE_URL": f"{database.rpartition('/')[0]}/postgres",
            "REDIS_URL": store,
            "DATA_DIR": str(folder / "data"),
            "AUTHORIZATION_CODE_SECONDS": "3600",
            **UNLIMITED,
        }
        with processes.on_core(tested):
            yield


class App:
    """The measured app. It sends requests of one operation, and keeps each response for the next request."""

    def __init__(self, operation: str) -> None:
        from benchmarks import prepare_ours

        verifier = secrets.token_urlsafe(32)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        made: Any = prepare_ours.make(
            {"redirect_uri": REDIRECT_URI, "code_challenge": challenge},
            people=8,
            codes=4 * REQUESTS if operation == "exchange" else 1,
        )
        self.operation = operation
        self._codes: list[str] = made["codes"]
        self._form = {"redirect_uri": REDIRECT_URI, "code_verifier": verifier}
        pair = f"{made['client_id']}:{made['client_secret']}"
        self._basic = f"Basic {base64.b64encode(pair.encode()).decode()}"
        self._tokens: dict[str, str] = {}
        from devportal.wsgi import application

        self.application: Any = application
        self._exchange()

    def send(self) -> None:
        """Send one request. Fails if the response is not 200."""
        if self.operation == "exchange":
            self._exchange()
        elif self.operation == "refresh":
            self._post({"grant_type": "refresh_token", "refresh_token": self._tokens["refresh_token"]})
        elif self.operation in ("discovery", "jwks"):
            self._call("GET", getattr(OUR_PATHS, self.operation), b"", "")
        else:
            self._call("GET", getattr(OUR_PATHS, self.operation), b"", f"Bearer {self._tokens['access_token']}")

    def _exchange(self) -> None:
        self._post({"grant_type": "authorization_code", "code": self._codes.pop(), **self._form})

    def _post(self, form: dict[str, str]) -> None:
        self._tokens = json.loads(self._call("POST", "/connect/token", urlencode(form).encode(), self._basic))

    def _call(self, method: str, path: str, body: bytes, authorization: str) -> bytes:
        environ: dict[str, Any] = {
            "REQUEST_METHOD": method,
            "SCRIPT_NAME": "",
            "PATH_INFO": path,
            "QUERY_STRING": "",
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": "8000",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "HTTP_HOST": "127.0.0.1:8000",
            "CONTENT_TYPE": "application/x-www-form-urlencoded" if body else "",
            "CONTENT_LENGTH": str(len(body)),
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(body),
            "wsgi.errors": sys.stderr,
        }
        if authorization:
            environ["HTTP_AUTHORIZATION"] = authorization
        statuses: list[str] = []
        response = self.application(environ, lambda status, headers, exc_info=None: statuses.append(status))
        answer = b"".join(response)
        response.close()
        if not statuses[0].startswith("200"):
            raise SystemExit(f"{path} answered {statuses[0]}: {answer[:300]!r}")
        return answer


def send(app: App, requests: int) -> None:
    """Send requests one after the other."""
    for _ in range(requests):
        app.send()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("operation", nargs="?", default="refresh", choices=OPERATIONS, help="default: refresh")
    given = parser.parse_args()
    with services():
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        app = App(given.operation)
        send(app, WARM_UP)
        begun = time.process_time()
        send(app, REQUESTS)
        taken = 1e6 * (time.process_time() - begun) / REQUESTS
        print(f"{given.operation}, without cProfile: {taken:.0f} us of processor time per request\n")
        profile = cProfile.Profile()
        profile.runcall(send, app, REQUESTS)
        statistics = pstats.Stats(profile).sort_stats("cumulative")
        statistics.print_stats(90)
        statistics.sort_stats("tottime").print_stats(45)
        from django.db import connections

        connections.close_all()
    return 0


if __name__ == "__main__":
    sys.exit(main())
