"""Apps whose names read alike (docs/review.md#similar-names), and reviewed ones whose logos look alike."""

from difflib import SequenceMatcher

from devportal.console.reviews.evidence.gathered import SimilarApp, SimilarLogo
from devportal.console.reviews.evidence.logo_hashes import is_telling
from devportal.lib.image_hashes import hash_distance
from oidc.models import Client
from oidc.names import skeleton

# Bounds of the search for names that are alike. Equal readings and equal beginnings are found by an index among all
# apps; only the newest verified ones, which are worth imitating, are compared letter by letter.
MOST_EQUAL = 20
MOST_BEGINNINGS = 200
MOST_VERIFIED = 2000
BEGINNING = 4  # letters
ALIKE = 0.8
# Logos are alike up to this many of 64 bits. The same picture recoloured, resized, encoded anew or with another margin
# differs in at most 4 (tests/console/reviews/evidence/test_logos.py); pictures that share nothing, in ten and more.
ALIKE_BITS = 5
MOST_LOGOS = 5


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
    scores = {pk: _similarity(wanted, other) for pk, other in readings.items()}
    best = sorted((pk for pk, score in scores.items() if score >= ALIKE), key=lambda pk: (-scores[pk], pk))[:MOST_EQUAL]
    rows = Client.objects.select_related("project").in_bulk(best)
    return [SimilarApp(rows[pk], scores[pk]) for pk in best if pk in rows]


def _similarity(one: str, other: str) -> float:
    """Return the similarity of two skeletons, 0 to 1; one that contains the other counts as nearly the same."""
    if one == other:
        return 1.0
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) >= BEGINNING and shorter in longer:
        return 0.95
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return matcher.ratio() if matcher.real_quick_ratio() >= ALIKE and matcher.quick_ratio() >= ALIKE else 0.0


def similar_logos(client: Client, logo_hash: str) -> list[SimilarLogo]:
    """Return reviewed apps of other projects whose logos look like the one with this hash, the nearest first.

    The newest 2,000 verified apps are compared, as with names.
    """
    if not is_telling(logo_hash):
        return []
    others = Client.objects.exclude(project=client.project_id).filter(verified_at__isnull=False)
    newest = others.order_by("-verified_at").values_list("pk", "logo_hash")[:MOST_VERIFIED]
    distances = {pk: hash_distance(logo_hash, other) for pk, other in newest if is_telling(other)}
    near = sorted((distance, pk) for pk, distance in distances.items() if distance <= ALIKE_BITS)[:MOST_LOGOS]
    rows = Client.objects.select_related("project").in_bulk([pk for _, pk in near])
    return [SimilarLogo(rows[pk], distance) for distance, pk in near if pk in rows]
