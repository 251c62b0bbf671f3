"""Evidence for reviewers: usage of the app, and apps with similar names."""

from dataclasses import dataclass
from datetime import timedelta
from difflib import SequenceMatcher

from api.usage import recording
from devportal.console.reviews.snapshots import working_snapshot
from devportal.lib import clock
from oidc.clients.branding import foreign_hosts
from oidc.models import Client
from oidc.names import skeleton

DAYS = 30  # in UTC, today among them
MAX_PEOPLE = 10_000  # people are counted up to this number
# Bounds of the search for names that are alike. Equal readings and equal beginnings are found by an index among all
# apps; only the newest verified ones, which are worth imitating, are compared letter by letter.
MOST_EQUAL = 20
MOST_BEGINNINGS = 200
MOST_VERIFIED = 2000
BEGINNING = 4  # letters
ALIKE = 0.8


@dataclass(frozen=True)
class SimilarApp:
    """Another app, and the similarity of the names: 1 is the same."""

    client: Client
    likeness: float


@dataclass(frozen=True)
class Evidence:
    """Usage of an app. `error_rate` is None without calls; `people_is_more`: there are more than counted."""

    people: int
    people_is_more: bool
    calls: int
    errors: int
    error_rate: float | None
    similar: list[SimilarApp]
    foreign_hosts: list[str]


def collect_evidence(client: Client) -> Evidence:
    """Return the evidence on an app, in a fixed number of SQL statements."""
    people = client.connections.order_by()[: MAX_PEOPLE + 1].count()
    # Whole days are read from a table of their own, 30 rows a status however much was called.
    tomorrow = clock.now().replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    since = tomorrow - timedelta(days=DAYS)
    rows = recording.series(client.project, since, tomorrow, "status", client=client.client_id)
    calls = sum(row["total_count"] for row in rows)
    errors = sum(row["total_count"] for row in rows if row["status"] >= 400)
    asked = working_snapshot(client)
    return Evidence(
        people=min(people, MAX_PEOPLE),
        people_is_more=people > MAX_PEOPLE,
        calls=calls,
        errors=errors,
        error_rate=errors / calls if calls else None,
        similar=similar_apps(client, asked["name"]),
        foreign_hosts=foreign_hosts(asked["home_page_url"], list(client.registered_redirect_uris)),
    )


def similar_apps(client: Client, name: str) -> list[SimilarApp]:
    """Return apps of other projects with names similar to `name`, the most similar first."""
    wanted = skeleton(name)
    if not wanted:
        return []
    others = Client.objects.exclude(project=client.project_id)
    found = [
        others.filter(name_reading=wanted)[:MOST_EQUAL],
        others.filter(name_reading__startswith=wanted[:BEGINNING])[:MOST_BEGINNINGS],
        others.filter(verified_at__isnull=False).order_by("-verified_at")[:MOST_VERIFIED],
    ]
    readings = dict(pair for rows in found for pair in rows.values_list("pk", "name_reading"))
    scores = {pk: _likeness(wanted, other) for pk, other in readings.items()}
    best = sorted((pk for pk, score in scores.items() if score >= ALIKE), key=lambda pk: (-scores[pk], pk))[:MOST_EQUAL]
    rows = Client.objects.select_related("project").in_bulk(best)
    return [SimilarApp(rows[pk], scores[pk]) for pk in best if pk in rows]


def _likeness(one: str, other: str) -> float:
    """Return the similarity of two skeletons, 0 to 1; one that contains the other counts as nearly the same."""
    if one == other:
        return 1.0
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) >= BEGINNING and shorter in longer:
        return 0.95
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return matcher.ratio() if matcher.real_quick_ratio() >= ALIKE and matcher.quick_ratio() >= ALIKE else 0.0
