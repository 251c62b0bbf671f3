"""Tells where the time of a refresh goes: python benchmarks/profile_refresh.py [--exchange | --userinfo | --me].

The whole WSGI application answers in this process, on PostgreSQL and Redis of its own. First come the layers, each
without what it calls into the next (measured by stop-watches around a few functions); then, with --functions, what
cProfile says of single functions, which weighs small Python functions too heavily.
"""

import argparse
import base64
import contextlib
import cProfile
import functools
import hashlib
import importlib
import io
import json
import os
import pstats
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import processes
from tests.services import keeper, plugin, postgres, redis

REQUESTS = 400
WARM_UP = 60
REDIRECT_URI = "https://app.example.com/callback"

# A layer begins in any of these functions, and ends in those of another layer that they call.
LAYERS = (
    ("django: request, response, URLs", "django.core.handlers.wsgi", "WSGIHandler.__call__"),
    ("middleware: ours", "devportal.lib.request_id", "RequestIdMiddleware.__call__"),
    ("middleware: ours", "devportal.lib.headers", "PageHeadersMiddleware.__call__"),
    ("middleware: ours", "oidc.cors", "CorsMiddleware.__call__"),
    ("middleware: ours", "devportal.lib.bad_input", "BadInputMiddleware.__call__"),
    ("middleware: Django's and allauth's", "django.utils.deprecation", "MiddlewareMixin.__call__"),
    ("middleware: Django's and allauth's", "whitenoise.middleware", "WhiteNoiseMiddleware.__call__"),
    ("middleware: Django's and allauth's", "allauth.usersessions.middleware", "UserSessionsMiddleware.__call__"),
    ("view: token endpoint", "oidc.views.token", "TokenEndpoint.dispatch"),
    ("view: userinfo endpoint", "oidc.views.token", "UserInfoEndpoint.dispatch"),
    ("view: /v1", "api.views", "Endpoint.dispatch"),
    ("oauthlib and the library's views", "oauth2_provider.views.mixins", "OAuthLibMixin.create_token_response"),
    ("oauthlib and the library's views", "oauth2_provider.views.mixins", "OAuthLibMixin.create_userinfo_response"),
    ("our rules (validator, tokens, claims)", "oidc.validator", "Validator.authenticate_client"),
    ("our rules (validator, tokens, claims)", "oidc.validator", "Validator.validate_refresh_token"),
    ("our rules (validator, tokens, claims)", "oidc.validator", "Validator.validate_code"),
    ("our rules (validator, tokens, claims)", "oidc.validator", "Validator.validate_bearer_token"),
    ("our rules (validator, tokens, claims)", "oidc.validator", "Validator.finalize_id_token"),
    ("our rules (validator, tokens, claims)", "oidc.validator", "Validator.get_userinfo_claims"),
    ("our rules (validator, tokens, claims)", "oidc.validator", "Validator._save_bearer_token"),
    ("our rules (validator, tokens, claims)", "oidc.tokens", "access_token"),
    ("our rules (validator, tokens, claims)", "oidc.tokens", "find_access_token"),
    ("reading the credential: rows to instances", "oidc.presented", "look_up"),
    ("reading the credential: rows to instances", "devportal.lib.statements", "Read.rows"),
    ("ORM: building and compiling statements", "django.db.models.query", "QuerySet.create"),
    ("ORM: building and compiling statements", "django.db.models.query", "QuerySet.update"),
    ("ORM: building and compiling statements", "django.db.models.query", "QuerySet.first"),
    ("ORM: building and compiling statements", "django.db.models.query", "QuerySet._fetch_all"),
    ("ORM: building and compiling statements", "django.db.models.base", "Model.save"),
    ("Django's cursor wrappers", "django.db.backends.utils", "CursorWrapper.execute"),
    ("Django's cursor wrappers", "django.db.backends.postgresql.base", "DatabaseWrapper.create_cursor"),
    ("PostgreSQL: statements, there and back", "psycopg", "Cursor.execute"),
    ("PostgreSQL: statements, there and back", "psycopg", "Cursor.fetchall"),
    ("transaction: Python around BEGIN and COMMIT", "django.db.transaction", "Atomic.__enter__"),
    ("transaction: Python around BEGIN and COMMIT", "django.db.transaction", "Atomic.__exit__"),
    ("PostgreSQL: BEGIN, COMMIT, there and back", "psycopg", "Connection.commit"),
    ("PostgreSQL: connection check at the request's ends", "django.db", "close_old_connections"),
    ("PostgreSQL: connection check at the request's ends", "django.db.backends.base.base", "BaseDatabaseWrapper.close_if_health_check_failed"),
    ("limits: Python", "devportal.lib.limits", "check"),
    ("limits: Django's cache", "django.core.cache.backends.redis", "RedisCache.get"),
    ("limits: Django's cache", "django.core.cache.backends.redis", "RedisCache.add"),
    ("limits: Django's cache", "django.core.cache.backends.redis", "RedisCache.incr"),
    ("limits: Redis client, there and back", "redis.client", "Redis.execute_command"),
    ("signing: jwcrypto and RSA", "oidc.signatures", "sign"),
    ("checking a signature", "oidc.signatures", "read"),
)  # fmt: skip


class StopWatch:
    """Counts calls, and time less the time of the watched functions that are called inside."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.calls: dict[str, int] = {}
        self._inside: list[float] = []

    def watch(self, layer: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            self._inside.append(0.0)
            begun = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                took = time.perf_counter() - begun
                own = took - self._inside.pop()
                self.seconds[layer] = self.seconds.get(layer, 0.0) + own
                self.calls[layer] = self.calls.get(layer, 0) + 1
                if self._inside:
                    self._inside[-1] += took

        return watched

    def put_on(self, layer: str, module: str, name: str) -> None:
        """Watch a function or method; a name that the present code no longer has is passed over."""
        owner: Any = importlib.import_module(module)
        *path, last = name.split(".")
        for part in path:
            owner = getattr(owner, part, None)
        if owner is not None and hasattr(owner, last):
            setattr(owner, last, self.watch(layer, getattr(owner, last)))


@contextlib.contextmanager
def services() -> Iterator[None]:
    """Run the databases on another core than this process, and tell Django where they are."""
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
            "CLIENT_REQUESTS_PER_MINUTE": str(10**9),
            "API_REQUESTS_PER_MINUTE": str(10**9),
            "API_PERSON_REQUESTS_PER_MINUTE": str(10**9),
        }
        with processes.on_core(tested):
            yield


class App:
    """The measured app: it sends the next request of its kind, and keeps the answer for the one after."""

    def __init__(self, operation: str) -> None:
        from benchmarks import prepare_ours

        verifier = secrets.token_urlsafe(32)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        made: Any = prepare_ours.make(
            {"redirect_uri": REDIRECT_URI, "code_challenge": challenge},
            people=8,
            codes=3 * REQUESTS + 2 * WARM_UP if operation == "exchange" else 1,
        )
        self.operation = operation
        self._codes: list[str] = made["codes"]
        self._form = {"redirect_uri": REDIRECT_URI, "code_verifier": verifier}
        pair = f"{made['client_id']}:{made['client_secret']}"
        self._basic = f"Basic {base64.b64encode(pair.encode()).decode()}"
        self._tokens: dict[str, str] = {}
        from devportal.wsgi import application

        self._application = application
        self._exchange()

    def send(self) -> None:
        """Send one request. Fails unless it is answered with 200."""
        if self.operation == "exchange":
            self._exchange()
        elif self.operation == "refresh":
            self._post({"grant_type": "refresh_token", "refresh_token": self._tokens["refresh_token"]})
        else:
            path = "/v1/me" if self.operation == "me" else "/connect/userinfo"
            self._call("GET", path, b"", f"Bearer {self._tokens['access_token']}")

    def _exchange(self) -> None:
        self._post({"grant_type": "authorization_code", "code": self._codes.pop(), **self._form})

    def _post(self, form: dict[str, str]) -> None:
        self._tokens = json.loads(self._call("POST", "/connect/token", urlencode(form).encode(), self._basic))

    def _call(self, method: str, path: str, body: bytes, authorization: str) -> bytes:
        environ = {
            "REQUEST_METHOD": method,
            "SCRIPT_NAME": "",
            "PATH_INFO": path,
            "QUERY_STRING": "",
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": "8000",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "HTTP_HOST": "127.0.0.1:8000",
            "HTTP_AUTHORIZATION": authorization,
            "CONTENT_TYPE": "application/x-www-form-urlencoded" if body else "",
            "CONTENT_LENGTH": str(len(body)),
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(body),
            "wsgi.errors": sys.stderr,
        }
        statuses: list[str] = []
        response = self._application(environ, lambda status, headers, exc_info=None: statuses.append(status))
        answer = b"".join(response)
        response.close()
        if not statuses[0].startswith("200"):
            raise SystemExit(f"{path} answered {statuses[0]}: {answer[:300]!r}")
        return answer


def timed(app: App, requests: int = REQUESTS) -> float:
    """Return the microseconds that a request takes."""
    begun = time.perf_counter()
    for _ in range(requests):
        app.send()
    return 1e6 * (time.perf_counter() - begun) / requests


def layers(app: App) -> str:
    """Return the layers, the most expensive first, in microseconds a request."""
    watch = StopWatch()
    for layer, module, name in LAYERS:
        watch.put_on(layer, module, name)
    app._application = watch.watch("between the layers", app._application)
    timed(app, 5)
    watch.seconds.clear()
    watch.calls.clear()
    whole = timed(app)
    lines = [f"{'layer':<52} {'us':>7} {'calls':>6}"]
    for layer, seconds in sorted(watch.seconds.items(), key=lambda pair: -pair[1]):
        lines.append(f"{layer:<52} {1e6 * seconds / REQUESTS:>7.0f} {watch.calls[layer] / REQUESTS:>6.1f}")
    return "\n".join([*lines, f"{'a request, stop-watches included':<52} {whole:>7.0f}"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    kind = parser.add_mutually_exclusive_group()
    for name in ("exchange", "userinfo", "me"):
        kind.add_argument(f"--{name}", dest="operation", action="store_const", const=name)
    parser.add_argument("--functions", action="store_true", help="add what cProfile says of single functions")
    parser.set_defaults(operation="refresh")
    given = parser.parse_args()
    with services():
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        app = App(given.operation)
        timed(app, WARM_UP)
        print(f"{given.operation}: {timed(app):.0f} us a request, one after the other, unwatched\n")
        if given.functions:
            profile = cProfile.Profile()
            profile.runcall(timed, app)
            statistics = pstats.Stats(profile).sort_stats("cumulative")
            statistics.print_stats(90)
            statistics.sort_stats("tottime").print_stats(45)
        else:
            print(layers(app))
        from django.db import connections

        connections.close_all()
    return 0


if __name__ == "__main__":
    sys.exit(main())
