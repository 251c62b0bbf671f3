"""Similar apps: names that read the same (docs/review.md), and similar logos."""

from difflib import SequenceMatcher

from django.db.models import F

from core.names import skeleton
from core.storage.images import difference_hash, hash_distance, open_converted
from core.storage.stored_files import StoreUnavailable, read_file
from devportal.review.evidence.gathered import SimilarApp, SimilarLogo
from oidc.models import Client

# Replaces a hash if the logo has a single color, or its file is missing or can't be read.
NOT_COMPARABLE = "-"
MAX_FILLED = 50  # logos that one run of the periodic task reads


def is_comparable(logo_hash: str) -> bool:
    """Return whether this hash can be compared with others."""
    return logo_hash not in ("", NOT_COMPARABLE)


def hash_logo(name: str) -> str:
    """Return the hash of a stored logo, "" for no logo. Raises StoreUnavailable."""
    if not name:
        return ""
    try:
        pixels = open_converted(read_file(name))
    except StoreUnavailable:
        raise
    except OSError:  # the file is missing or broken
        return NOT_COMPARABLE
    return difference_hash(pixels) or NOT_COMPARABLE


def hash_asked(client: Client, name: str) -> str:
    """Return the hash of a requested logo; "" without a logo, or if the store is not available."""
    if name and name == client.logo.name and client.logo_hash:
        return client.logo_hash
    try:
        return hash_logo(name)
    except StoreUnavailable:
        return ""


def _fill(pk: int) -> bool:
    """Compute the hash of an app's logo; return False if the store is not available, or the logo has changed."""
    client = Client.objects.only("logo", "logo_hash").get(pk=pk)
    try:
        found = hash_logo(client.logo.name or "")
    except StoreUnavailable:
        return False
    return bool(Client.objects.filter(pk=pk, logo=client.logo.name).update(logo_hash=found))


def fill_missing() -> int:
    """Compute the missing logo hashes of at most 50 reviewed apps; return how many were computed."""
    rows = Client.objects.filter(verified_at__isnull=False, logo_hash="").exclude(logo="")
    keys = list(rows.order_by("-verified_at").values_list("pk", flat=True)[:MAX_FILLED])
    return sum(_fill(pk) for pk in keys)


# Bounds of the search for similar names. An index finds names that read the same or begin the same among all apps. Only
# the newest reviewed apps, which are worth imitating, are compared letter by letter.
MOST_EQUAL = 20
MOST_BEGINNINGS = 200
MOST_VERIFIED = 2000
BEGINNING = 4  # letters
ALIKE = 0.8
# Logos are similar if at most this many of 64 bits differ. The same picture recolored, resized, re-encoded or with
# another margin differs in at most 4 bits (tests/devportal/review/evidence/test_logos.py), unrelated pictures in 10 or
# more.
ALIKE_BITS = 5
MOST_LOGOS = 5


def similar_apps(client: Client, name: str) -> list[SimilarApp]:
    """Return apps of other projects with names similar to `name`: reviewed ones first, and of these the most similar.

    So apps that nobody reviewed, which anyone can register in numbers, never hide a reviewed one.
    """
    wanted = skeleton(name)
    if not wanted:
        return []
    others = Client.objects.exclude(project=client.project_id)
    found = [
        others.filter(name_reading=wanted).order_by(F("verified_at").desc(nulls_last=True))[:MOST_EQUAL],
        others.filter(name_reading__startswith=wanted[:BEGINNING])[:MOST_BEGINNINGS],
        others.filter(verified_at__isnull=False).order_by("-verified_at")[:MOST_VERIFIED],
    ]
    rows = [row for some in found for row in some.values_list("pk", "name_reading", "verified_at")]
    known = {pk: (reading, verified_at is None) for pk, reading, verified_at in rows}
    scores = {pk: _similarity(wanted, reading) for pk, (reading, _) in known.items()}
    alike = [pk for pk, score in scores.items() if score >= ALIKE]
    best = sorted(alike, key=lambda pk: (known[pk][1], -scores[pk], pk))[:MOST_EQUAL]
    apps = Client.objects.select_related("project").in_bulk(best)
    return [SimilarApp(apps[pk], scores[pk]) for pk in best if pk in apps]


def _similarity(one: str, other: str) -> float:
    """Return the similarity of two skeletons, 0 to 1. If one contains the other, they count as nearly the same."""
    if one == other:
        return 1.0
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) >= BEGINNING and shorter in longer:
        return 0.95
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return matcher.ratio() if matcher.real_quick_ratio() >= ALIKE and matcher.quick_ratio() >= ALIKE else 0.0


def similar_logos(client: Client, logo_hash: str) -> list[SimilarLogo]:
    """Return reviewed apps of other projects with logos similar to this hash, the most similar first.

    The newest 2,000 reviewed apps are compared, as with names.
    """
    if not is_comparable(logo_hash):
        return []
    others = Client.objects.exclude(project=client.project_id).filter(verified_at__isnull=False)
    newest = others.order_by("-verified_at").values_list("pk", "logo_hash")[:MOST_VERIFIED]
    distances = {pk: hash_distance(logo_hash, other) for pk, other in newest if is_comparable(other)}
    near = sorted((distance, pk) for pk, distance in distances.items() if distance <= ALIKE_BITS)[:MOST_LOGOS]
    rows = Client.objects.select_related("project").in_bulk([pk for _, pk in near])
    return [SimilarLogo(rows[pk], distance) for distance, pk in near if pk in rows]
