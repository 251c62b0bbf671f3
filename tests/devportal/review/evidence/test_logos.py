"""Logos that look alike: the hash, when it is computed, and what it is compared with."""

import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageOps

from accounts.models import Account
from core import clock
from core.storage import stored_files
from core.storage.images import difference_hash, hash_distance
from devportal.review.evidence import collecting, similarity, tasks
from devportal.review.evidence.similarity import NOT_COMPARABLE
from devportal.review.models import AppReview
from devportal.review.submission import developer_actions
from oidc.domains.branding import clean_logo
from oidc.models import Client
from tests.devportal.review.reviewing import approved, decide, fresh, sent
from tests.factories import make_client

CLEAR = (0, 0, 0, 0)
Picture = Image.Image


def canvas() -> tuple[Picture, ImageDraw.ImageDraw]:
    picture = Image.new("RGBA", (256, 256), CLEAR)
    return picture, ImageDraw.Draw(picture)


def letter(text: str) -> Picture:
    picture, draw = canvas()
    draw.text((40, 10), text, font_size=220, fill="navy")
    return picture


def planet() -> Picture:
    picture, draw = canvas()
    draw.ellipse([60, 60, 196, 196], fill="navy")
    draw.line([(20, 200), (236, 50)], fill="navy", width=24)
    return picture


def bars() -> Picture:
    picture, draw = canvas()
    for number in range(4):
        draw.rectangle([30 + 50 * number, 200 - 40 * number, 65 + 50 * number, 236], fill="navy")
    return picture


def tile() -> Picture:
    picture = Image.new("RGBA", (256, 256), "darkred")
    ImageDraw.Draw(picture).polygon([(128, 50), (210, 200), (46, 200)], fill="white")
    return picture


LOGOS: dict[str, Callable[[], Picture]] = {
    "planet": planet,
    "bars": bars,
    "tile": tile,
    "A": partial(letter, "A"),
    "R": partial(letter, "R"),
}


def on_white(picture: Picture) -> Picture:
    whole = Image.new("RGBA", picture.size, "white")
    whole.alpha_composite(picture)
    return whole


def encoded(picture: Picture, form: str, quality: int) -> Picture:
    out = io.BytesIO()
    picture.convert("RGB" if form == "JPEG" else "RGBA").save(out, form, quality=quality)
    return Image.open(io.BytesIO(out.getvalue())).convert("RGBA")


def in_margin(picture: Picture, colour: Any) -> Picture:
    whole = Image.new("RGBA", (400, 330), colour)
    whole.alpha_composite(picture, (120, 10))
    return whole


def recoloured(picture: Picture) -> Picture:
    red, green, blue, alpha = picture.split()
    return Image.merge("RGBA", (blue, red, green, alpha))


SAME: dict[str, Callable[[Picture], Picture]] = {
    "smaller": lambda picture: picture.resize((96, 96)),
    "larger": lambda picture: picture.resize((600, 600)),
    "recoloured": recoloured,
    "negative": lambda picture: ImageOps.invert(on_white(picture).convert("RGB")).convert("RGBA"),
    "JPEG": lambda picture: encoded(on_white(picture), "JPEG", 75),
    "WebP": lambda picture: encoded(picture, "WEBP", 50),
    "on white": on_white,
    "clear margin": lambda picture: in_margin(picture, CLEAR),
    "white margin": lambda picture: in_margin(on_white(picture), "white"),
}


@pytest.mark.parametrize("name", LOGOS)
def test_the_same_logo_in_another_form_has_nearly_the_same_hash(name: str) -> None:
    before = difference_hash(LOGOS[name]()) or ""
    for what, change in SAME.items():
        after = difference_hash(change(LOGOS[name]())) or ""
        assert hash_distance(before, after) <= similarity.ALIKE_BITS - 1, what


def test_different_logos_have_different_hashes() -> None:
    hashes = {name: difference_hash(make()) or "" for name, make in LOGOS.items()}
    pairs = [(one, other) for one in LOGOS for other in LOGOS if one < other]
    distances = {(one, other): hash_distance(hashes[one], hashes[other]) for one, other in pairs}
    assert min(distances.values()) > 2 * similarity.ALIKE_BITS, distances


@pytest.mark.parametrize("colour", ["white", "navy", CLEAR, (250, 250, 250, 3)])
def test_a_picture_of_one_colour_tells_nothing(colour: Any) -> None:
    assert difference_hash(Image.new("RGBA", (128, 128), colour)) is None
    assert difference_hash(Image.new("RGBA", (1, 1), colour)) is None


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA"])
def test_every_mode_of_picture_has_a_hash(mode: str) -> None:
    assert len(difference_hash(on_white(planet()).convert(mode)) or "") == 16


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path


def uploaded(picture: Picture) -> Any:
    out = io.BytesIO()
    picture.save(out, "PNG")
    return clean_logo(io.BytesIO(out.getvalue()))


@pytest.mark.django_db
def test_the_periodic_task_hashes_the_logos_of_reviewed_apps(
    app: Client, developer: Account, reviewer: Account
) -> None:
    developer_actions.save_submission(app, developer, {}, logo=uploaded(planet()))
    assert tasks.fill_logo_hashes() == 0, "not reviewed: nobody is compared with it"
    approved(app, developer, reviewer)
    gone = make_client(logo="logos/gone.webp", verified_at=clock.now())
    make_client(verified_at=clock.now())
    assert [tasks.fill_logo_hashes(), tasks.fill_logo_hashes()] == [2, 0]
    first = fresh(app).logo_hash
    assert len(first) == 16
    assert fresh(gone).logo_hash == NOT_COMPARABLE
    developer_actions.save_submission(fresh(app), developer, {}, logo=uploaded(bars()))
    assert fresh(app).logo_hash == first, "a draft of a reviewed app changes nothing yet"
    decide(developer_actions.submit(fresh(app), developer), reviewer, "approved")
    assert tasks.fill_logo_hashes() == 1
    assert hash_distance(first, fresh(app).logo_hash) > similarity.ALIKE_BITS


@pytest.mark.django_db
def test_a_run_of_the_task_reads_a_bounded_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "MAX_FILLED", 2)
    for _ in range(3):
        make_client(logo="logos/gone.webp", verified_at=clock.now())
    assert [tasks.fill_logo_hashes() for _ in range(3)] == [2, 1, 0]


@pytest.mark.django_db
def test_a_failing_file_store_blocks_nothing(app: Client, developer: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    def down(name: str) -> bytes:
        raise stored_files.StoreUnavailable("gone")

    monkeypatch.setattr("devportal.review.evidence.similarity.read_file", down)
    developer_actions.save_submission(app, developer, {}, logo=uploaded(planet()))
    [fact] = [fact for fact in collecting.collect_evidence(sent(fresh(app), developer)).facts if fact.code == "logos"]
    assert fact.result == "warn"
    Client.objects.filter(pk=app.pk).update(verified_at=clock.now())
    assert tasks.fill_logo_hashes() == 0


@pytest.mark.django_db
def test_a_logo_is_compared_with_those_of_reviewed_apps_of_other_projects(app: Client, developer: Account) -> None:
    own = difference_hash(planet()) or ""
    near = f"{int(own, 16) ^ 0b11111:016x}"
    far = f"{int(own, 16) ^ 0b1111111:016x}"
    now = clock.now()
    twin = make_client(name="Twin", logo_hash=own, verified_at=now)
    cousin = make_client(name="Cousin", logo_hash=near, verified_at=now)
    make_client(name="Stranger", logo_hash=far, verified_at=now)
    make_client(name="Not reviewed", logo_hash=own)
    make_client(name="Empty", logo_hash="", verified_at=now)
    make_client(name="Blank", logo_hash=NOT_COMPARABLE, verified_at=now)
    make_client(app.project, name="Sister", logo_hash=own, verified_at=now)
    developer_actions.save_submission(app, developer, {}, logo=uploaded(planet()))
    sent(fresh(app), developer)
    evidence = collecting.collect_evidence(AppReview.objects.get(client=app))
    assert [(other.client, other.distance) for other in evidence.gathered.logos] == [(twin, 0), (cousin, 5)]
    [fact] = [fact for fact in evidence.facts if fact.code == "logos"]
    assert fact.result == "fail"


@pytest.mark.django_db
def test_the_number_of_compared_logos_is_limited(app: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "MOST_VERIFIED", 2)
    own = "0123456789abcdef"
    make_client(logo_hash=own, verified_at=clock.now())
    for _ in range(2):
        make_client(logo_hash="fedcba9876543210", verified_at=clock.now())
    assert similarity.similar_logos(app, own) == []
