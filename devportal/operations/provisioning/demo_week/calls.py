"""The calls and rejected requests of the demo's week, and their times."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.conf import settings

from api import usage_counts
from api.models import LATENCY_EDGES_MS, ApiKey, RequestLog
from api.request_log import mask_subject
from oidc.models import Client, Project
from oidc.sign_in_log.steps import UNAVAILABLE, Step
from oidc.values.reasons import Facts, Reason
from oidc.values.redirect_uris import explain_mismatch

_HOUR = timedelta(hours=1)
# The relative activity of each hour of a day (UTC), and of each day of a week from Monday on.
_BY_HOUR = (1, 1, 1, 1, 1, 2, 4, 7, 10, 12, 11, 10, 9, 11, 12, 11, 10, 9, 8, 8, 7, 5, 3, 2)
_BY_WEEKDAY = (10, 11, 11, 10, 9, 5, 4)
_ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz23456789"


def share(*parts: object) -> float:
    """Return a pseudorandom number from 0 to below 1, which is always the same for the same parts."""
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=6).digest(), "big") / 2**48


def text(length: int, *parts: object) -> str:
    """Return pseudorandom letters and digits, which are always the same for the same parts."""
    raw = hashlib.blake2b(repr(parts).encode(), digest_size=length).digest()
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in raw)


@dataclass(frozen=True)
class Week:
    """Seven days up to `until`, and the evening on which things went wrong: from 18:40 of the last but one day on."""

    until: datetime

    @property
    def since(self) -> datetime:
        return self.until.replace(minute=0, second=0, microsecond=0) - timedelta(days=7)

    @property
    def incident(self) -> tuple[datetime, datetime]:
        begin = (self.until - timedelta(days=2)).replace(hour=18, minute=40, second=0, microsecond=0)
        return begin, begin + timedelta(hours=2, minutes=20)

    def is_incident(self, moment: datetime) -> bool:
        begin, end = self.incident
        return begin <= moment < end

    def moments(self, what: str, number: int) -> Iterator[datetime]:
        """Yield about `number` times of the week in order, distributed by activity."""
        hours = [self.since + place * _HOUR for place in range(7 * 24 + 1)]
        weights = [_BY_HOUR[hour.hour] * _BY_WEEKDAY[hour.weekday()] for hour in hours]
        scale = number / sum(weights)
        for hour, weight in zip(hours, weights, strict=True):
            times = int(weight * scale + share(what, hour))
            for moment in sorted(hour + share(what, hour, place) * _HOUR for place in range(times)):
                if moment < self.until:
                    yield moment


@dataclass(frozen=True)
class Refusal:
    """One kind: where, its reason with the parameters, and the redirect URL as it came.

    `page` is the log's name of the page that the person sees, where the app gets no error.
    """

    step: Step
    reason: Reason
    parameters: Facts = field(default_factory=dict)
    redirect_uri: str = ""
    page: str = ""

    @property
    def error(self) -> str:
        return self.page or self.reason.error


SUPERSEDED = Refusal(Step.NOT_REFRESHED, Reason.REFRESH_TOKEN_SUPERSEDED)
NOT_SIGNED_IN = Refusal(Step.REFUSED, Reason.NOT_SIGNED_IN)


def wrong_secret(client: Client) -> Refusal:
    """Return the refusal of an exchange with a secret that has ended."""
    live = list(client.secrets.filter(revoked_at=None).values_list("last_four", flat=True))
    return Refusal(Step.NOT_EXCHANGED, Reason.SECRET_WRONG, {"last_four": live})


def requests_refused(client: Client) -> list[Refusal]:
    """Return the authorization requests of a client that were rejected before they started."""
    (registered, *_) = client.registered_redirect_uris
    scheme, _, rest = registered.partition("://")
    sent = (f"{registered}/", f"{scheme}://{rest.partition('/')[0]}/auth/callback", f"https://staging.{rest}")
    scope: Facts = {"name": "account.read", "scopes": ["account.read"]}
    return [
        *(Refusal(Step.TURNED_AWAY, *explain_mismatch(uri, client.registered_redirect_uris), uri) for uri in sent),
        Refusal(Step.TURNED_AWAY, Reason.CODE_CHALLENGE_MISSING, {}, registered),
        Refusal(Step.TURNED_AWAY, Reason.STATE_MISSING, {}, registered),
        Refusal(Step.TURNED_AWAY, Reason.SCOPE_NOT_APPROVED, scope, registered),
        Refusal(Step.TURNED_AWAY, Reason.RESPONSE_TYPE_UNSUPPORTED, {}, registered),
        Refusal(Step.TURNED_AWAY, Reason.CLIENT_OFF, {}, registered, page=UNAVAILABLE),
    ]


def exchanges_refused(client: Client) -> list[Refusal]:
    """Return the ways in which exchanging a client's code failed."""
    uri = f"{client.registered_redirect_uris[0]}?from=app"
    found = [
        Refusal(Step.NOT_EXCHANGED, Reason.VERIFIER_WRONG),
        Refusal(Step.NOT_EXCHANGED, Reason.CODE_EXPIRED, {"seconds": settings.AUTHORIZATION_CODE_SECONDS}),
        Refusal(Step.NOT_EXCHANGED, Reason.REDIRECT_URI_DIFFERS, {}, uri),
    ]
    return [
        *found,
        Refusal(Step.NOT_EXCHANGED, Reason.SECRET_MISSING if client.has_secret else Reason.SECRET_UNEXPECTED),
    ]


BY_APPS, BY_KEY = 2400, 700  # calls a week
_ROWS = 500


@dataclass(frozen=True)
class Caller:
    """The caller: a client on behalf of a person, or a key."""

    client: str = ""
    key: str = ""
    sub: str = ""


def make_calls(week: Week, project: Project, clients: list[Client], subs: list[str], key: ApiKey) -> None:
    """Write the week's calls by apps with tokens and by one key."""
    rows = sorted([*_of_apps(week, project, clients, subs), *_of_key(week, project, key)], key=lambda row: row.at)
    usage_counts.add_counts([_count(row) for row in rows])
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
    """Yield the calls of a nightly export of two minutes. On the evening of the incident it runs repeatedly."""
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


_MISSING: Facts = {"one_of": ["account.read"], "has": ["email", "openid", "profile"]}


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
        parameters=_MISSING if code == "insufficient_scope" else {},
        milliseconds=milliseconds,
        credential=caller.key,
        client=caller.client,
        subject=mask_subject(caller.sub),
        request_id=text(20, "call", at, endpoint),
    )


def _count(row: RequestLog) -> usage_counts.UsageCount:
    latency = next(
        (place for place, edge in enumerate(LATENCY_EDGES_MS) if row.milliseconds <= edge), len(LATENCY_EDGES_MS)
    )
    endpoint, minute = row.path.removeprefix("/v1/"), int(row.at.timestamp()) // 60
    assert row.project_id is not None
    return usage_counts.UsageCount(
        row.project_id, row.credential, row.client, endpoint, row.status, row.code, minute, latency, 1
    )
