"""The calls of the developer API in the demo's week: each is in the request log, and in the counts of usage."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings

from api.models import LATENCY_EDGES_MS, ApiKey, RequestLog
from api.request_log import mask_subject
from api.usage import store
from devportal.console.provisioning.demo_week.rhythm import Week, share, text
from oidc.models import Client, Project

BY_APPS, BY_KEY = 2400, 700  # calls a week
_ROWS = 500


@dataclass(frozen=True)
class Caller:
    """Who calls: a client in the name of somebody, or a key."""

    client: str = ""
    key: str = ""
    sub: str = ""


def make_calls(week: Week, project: Project, clients: list[Client], subs: list[str], key: ApiKey) -> None:
    """Write the week's calls, of the apps with tokens and of one key."""
    rows = sorted([*_of_apps(week, project, clients, subs), *_of_key(week, project, key)], key=lambda row: row.at)
    store.add_counts([_count(row) for row in rows])
    oldest = week.until - timedelta(days=settings.REQUEST_LOG_DAYS)
    RequestLog.objects.bulk_create([row for row in rows if row.at >= oldest], batch_size=_ROWS)
    ApiKey.objects.filter(pk=key.pk).update(last_used_at=max(row.at for row in rows if row.credential))


def _of_apps(week: Week, project: Project, clients: list[Client], subs: list[str]) -> Iterator[RequestLog]:
    for at in week.moments("calls", BY_APPS):
        client = clients[int(share("client", at) ** 2 * len(clients))]
        caller = Caller(client=client.client_id, sub=subs[int(share("sub", at) * len(subs))])
        luck = share("call", at)
        if luck < 0.02:
            yield _call(project, caller, at, "me/plan", 403, "insufficient_scope")
        elif luck < 0.045:
            yield _call(project, caller, at, "me", 401, "invalid_token")
        elif week.is_incident(at) and luck < 0.4:
            yield _call(project, caller, at, "me", 500, "internal_error", slower=20)
        else:
            yield _call(project, caller, at, "me", 200, slower=6 if week.is_incident(at) else 1)


def _of_key(week: Week, project: Project, key: ApiKey) -> Iterator[RequestLog]:
    """Yield an export of two minutes each night; on the evening of the incident it runs again and again."""
    caller = Caller(key=key.public_id, sub=key.subject.sub)
    nights = [week.since.replace(hour=2) + timedelta(days=day) for day in range(8)]
    for night in nights:
        for number in range(BY_KEY // len(nights)):
            at = night + timedelta(seconds=1.3 * number)
            if week.since <= at < week.until:
                yield _call(project, caller, at, "me/plan" if number % 3 else "me", 200)
    begin, _ = week.incident
    for number in range(240):
        at = begin + timedelta(seconds=20 * number + share("again", number))
        if number % 4:
            yield _call(project, caller, at, "me/plan", 200, slower=4)
        else:
            yield _call(project, caller, at, "me/plan", 429, "rate_limited")


def _call(
    project: Project, caller: Caller, at: datetime, endpoint: str, status: int, code: str = "", slower: float = 1
) -> RequestLog:
    milliseconds = int((3 + 30 * share("time", at) ** 4) * slower) + 1
    return RequestLog(
        project=project,
        at=at,
        method="GET",
        path=f"/v1/{endpoint}",
        status=status,
        code=code,
        milliseconds=milliseconds,
        credential=caller.key,
        client=caller.client,
        subject=mask_subject(caller.sub),
        request_id=text(20, "call", at, endpoint),
    )


def _count(row: RequestLog) -> store.UsageCount:
    latency = next(
        (place for place, edge in enumerate(LATENCY_EDGES_MS) if row.milliseconds <= edge), len(LATENCY_EDGES_MS)
    )
    endpoint, minute = row.path.removeprefix("/v1/"), int(row.at.timestamp()) // 60
    return store.UsageCount(
        row.project_id, row.credential, row.client, endpoint, row.status, row.code, minute, latency, 1
    )
