"""Measure the time that a request spends in each layer, without the time in the layers that it calls."""

import functools
import importlib
import time
from collections.abc import Callable
from typing import Any, Protocol

_HEALTH_CHECK = "BaseDatabaseWrapper.close_if_health_check_failed"

# A layer starts at a call of one of its functions, and ends where they call a function of another layer.
LAYERS = (
    ("django: request, response, URLs", "django.core.handlers.wsgi", "WSGIHandler.__call__"),
    ("middleware: ours", "core.http.request_id", "RequestIdMiddleware.__call__"),
    ("middleware: ours", "core.http.headers", "PageHeadersMiddleware.__call__"),
    ("middleware: ours", "oidc.cors", "CorsMiddleware.__call__"),
    ("middleware: ours", "core.http.error_pages", "MalformedInputMiddleware.__call__"),
    ("middleware: Django's and allauth's", "django.utils.deprecation", "MiddlewareMixin.__call__"),
    ("middleware: ours", "core.storage.static_files", "StaticFilesMiddleware.__call__"),
    ("view: token endpoint", "oidc.views.token", "TokenEndpoint.dispatch"),
    ("view: userinfo endpoint", "oidc.views.token", "UserInfoEndpoint.dispatch"),
    ("view: /v1", "api.endpoint", "Endpoint.dispatch"),
    ("oauthlib and the library's views", "oauth2_provider.views.mixins", "OAuthLibMixin.create_token_response"),
    ("oauthlib and the library's views", "oauth2_provider.views.mixins", "OAuthLibMixin.create_userinfo_response"),
    ("our rules (validator, tokens, claims)", "oidc.server", "Validator.authenticate_client"),
    ("our rules (validator, tokens, claims)", "oidc.server", "Validator.validate_refresh_token"),
    ("our rules (validator, tokens, claims)", "oidc.server", "Validator.validate_code"),
    ("our rules (validator, tokens, claims)", "oidc.server", "Validator.validate_bearer_token"),
    ("our rules (validator, tokens, claims)", "oidc.server", "Validator.finalize_id_token"),
    ("our rules (validator, tokens, claims)", "oidc.server", "Validator.get_userinfo_claims"),
    ("our rules (validator, tokens, claims)", "oidc.server", "Validator._save_bearer_token"),
    ("our rules (validator, tokens, claims)", "oidc.tokens.access_tokens", "create_access_token"),
    ("our rules (validator, tokens, claims)", "oidc.tokens.access_tokens", "find_access_token"),
    ("reading the credential: rows to instances", "oidc.tokens.lookup", "look_up_credentials"),
    ("reading the credential: rows to instances", "core.database.prepared_queries", "PreparedQuery.rows"),
    ("ORM: building and compiling statements", "django.db.models.query", "QuerySet.create"),
    ("ORM: building and compiling statements", "django.db.models.query", "QuerySet.update"),
    ("ORM: building and compiling statements", "django.db.models.query", "QuerySet.first"),
    ("ORM: building and compiling statements", "django.db.models.query", "QuerySet._fetch_all"),
    ("ORM: building and compiling statements", "django.db.models.base", "Model.save"),
    ("Django's cursor wrappers", "django.db.backends.utils", "CursorWrapper.execute"),
    ("Django's cursor wrappers", "django.db.backends.postgresql.base", "DatabaseWrapper.create_cursor"),
    ("PostgreSQL: statements, there and back", "psycopg", "Cursor.execute"),
    ("PostgreSQL: statements, there and back", "psycopg", "Cursor.fetchall"),
    ("our rules (validator, tokens, claims)", "oidc.server", "Validator.save_bearer_token"),
    ("transaction: Python around BEGIN and COMMIT", "django.db.transaction", "Atomic.__enter__"),
    ("transaction: Python around BEGIN and COMMIT", "django.db.transaction", "Atomic.__exit__"),
    ("PostgreSQL: BEGIN, COMMIT, there and back", "psycopg", "Connection.commit"),
    ("PostgreSQL: connection check at the request's ends", "django.db", "close_old_connections"),
    ("PostgreSQL: connection check at the request's ends", "django.db.backends.base.base", _HEALTH_CHECK),
    ("limits: Python", "core.limits.counters", "check_rate"),
    ("limits: Python", "oidc.limits", "count_client"),
    ("limits: Python", "oidc.limits", "refuse_after_failures"),
    ("limits: Python", "api.throttling", "CallThrottle.allow_request"),
    ("usage: noting a call", "api.usage_counts", "record_call"),
    ("view: /v1", "api.authentication", "BearerAuthentication.authenticate"),
    ("limits: Django's cache", "django.core.cache.backends.redis", "RedisCache.get"),
    ("limits: Django's cache", "django.core.cache.backends.redis", "RedisCache.add"),
    ("limits: Django's cache", "django.core.cache.backends.redis", "RedisCache.incr"),
    ("limits: Redis client, there and back", "redis.client", "Redis.execute_command"),
    ("signing: RSA", "oidc.tokens.jwt", "sign"),
    ("checking a signature", "oidc.tokens.jwt", "verify"),
)  # fmt: skip


class HasApplication(Protocol):
    """A sender of requests, with the WSGI application that it calls."""

    application: Any


class StopWatch:
    """Sums the time in watched functions, without the time in watched functions that they call.

    It measures both clock time and the processor time of this thread. Their difference is waiting.
    """

    def __init__(self) -> None:
        self.clock: dict[str, float] = {}
        self.processor: dict[str, float] = {}
        self.calls: dict[str, int] = {}
        self._inside: list[list[float]] = []

    def watch(self, layer: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return `function`, wrapped so that its time is measured."""

        @functools.wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            inside = [0.0, 0.0]
            self._inside.append(inside)
            clock, processor = time.perf_counter(), time.thread_time()
            try:
                return function(*args, **kwargs)
            finally:
                took = time.perf_counter() - clock, time.thread_time() - processor
                self._inside.pop()
                self.clock[layer] = self.clock.get(layer, 0.0) + took[0] - inside[0]
                self.processor[layer] = self.processor.get(layer, 0.0) + took[1] - inside[1]
                self.calls[layer] = self.calls.get(layer, 0) + 1
                if self._inside:
                    outside = self._inside[-1]
                    outside[0] += took[0]
                    outside[1] += took[1]

        return watched

    def put_on(self, layer: str, module: str, name: str) -> None:
        """Watch a function or method. Names that no longer exist in the code are skipped."""
        owner: Any = importlib.import_module(module)
        *path, last = name.split(".")
        for part in path:
            owner = getattr(owner, part, None)
        if owner is not None and hasattr(owner, last):
            setattr(owner, last, self.watch(layer, getattr(owner, last)))

    def forget(self) -> None:
        for figures in (self.clock, self.processor, self.calls):
            figures.clear()


def table(app: HasApplication, send: Callable[[], object], requests: int) -> str:
    """Return the table of layers, the slowest first, in microseconds per request. `send` sends `requests` requests."""
    watch = StopWatch()
    for layer, module, name in LAYERS:
        watch.put_on(layer, module, name)
    app.application = watch.watch("between the layers", app.application)
    send()
    watch.forget()
    send()
    lines = [f"{'layer':<52} {'processor us':>12} {'clock us':>9} {'calls':>6}"]
    for layer, processor in sorted(watch.processor.items(), key=lambda pair: -pair[1]):
        clock, calls = 1e6 * watch.clock[layer] / requests, watch.calls[layer] / requests
        lines.append(f"{layer:<52} {1e6 * processor / requests:>12.0f} {clock:>9.0f} {calls:>6.1f}")
    sums = (1e6 * sum(figures.values()) / requests for figures in (watch.processor, watch.clock))
    lines.append("{:<52} {:>12.0f} {:>9.0f}".format("a request, stop-watches included", *sums))
    return "\n".join(lines)
