"""Health checks for load balancers: liveness and readiness."""

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from core.limits.counters import counters
from oidc.tokens import signing_keys


@never_cache
@require_safe
def live(request: HttpRequest) -> HttpResponse:
    """GET /health/live: 200 as long as the process responds, with the running version."""
    return JsonResponse({"status": "ok", "version": settings.VERSION})


@never_cache
@require_safe
def ready(request: HttpRequest) -> HttpResponse:
    """GET /health/ready: 200, or 503 without a database or a signing key.

    An unreachable counter store (Redis) is reported, but does not make the service unready.
    """
    missing = [name for name, is_there in (("database", _database), ("signing_key", _key)) if not is_there()]
    degraded = [] if counters().answers() else ["counters"]
    status = "not ready" if missing else "degraded" if degraded else "ok"
    return JsonResponse({"status": status, "missing": missing + degraded}, status=503 if missing else 200)


def _database() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return False
    return True


def _key() -> bool:
    try:
        signing_keys.signing_key()
    except (signing_keys.NoSigningKey, DatabaseError):
        return False
    return True
