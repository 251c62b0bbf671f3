"""A picture in two projects: the answers share nothing but what it shows; and its address ends with the access."""

import hashlib
import io
from collections.abc import Callable
from datetime import timedelta
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.db import transaction
from django.test import Client as Browser
from PIL import Image, ImageChops, ImageStat

from accounts.models import Account, PairwiseSubject
from accounts.profile import files
from api import keys
from core import clock
from oidc.authorization import consent
from oidc.models import Client, Project, ProjectMember
from oidc.projects import lifecycle
from tests.at_once import at_once
from tests.factories import make_account, make_client, make_key, make_project
from tests.relying_party import RelyingParty, claims_of

# Headers of every answer of the service. Values that differ at each request are not compared.
SAID_TO_ALL = {
    "Content-Type",
    "Cache-Control",
    "Access-Control-Allow-Origin",
    "Cross-Origin-Resource-Policy",
    "Cross-Origin-Opener-Policy",
    "Content-Security-Policy",
    "Permissions-Policy",
    "Referrer-Policy",
    "X-Content-Type-Options",
    "X-Frame-Options",
    "Vary",
}


def drawn(kind: str) -> Image.Image:
    if kind == "plain":
        return Image.new("RGB", (64, 48), (200, 30, 30))
    if kind == "small":
        return Image.new("RGB", (1, 1), "white")
    return Image.frombytes("RGB", (70, 60), Random(7).randbytes(70 * 60 * 3)).resize((700, 600))


@pytest.fixture(autouse=True)
def drawn_lots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw keys and file names that are the same in each run: two lengths could be equal by chance."""
    files.encode_picture_for.cache_clear()
    numbers = count()
    monkeypatch.setattr("accounts.profile.files.new_picture_key", lambda: f"key{next(numbers):029}")
    monkeypatch.setattr("accounts.profile.claims.random_text", lambda length: "f" * length)


@pytest.fixture(params=["plain", "small", "rich"])
def pictured(request: pytest.FixtureRequest, person: Account, settings: Any, tmp_path: Path) -> Account:
    """The person, with a photo that they uploaded."""
    from accounts.profile.claims import clean_picture

    settings.MEDIA_ROOT = tmp_path
    upload = io.BytesIO()
    drawn(request.param).save(upload, "PNG")
    upload.seek(0)
    person.picture = clean_picture(upload)
    person.save()
    return person


@pytest.fixture
def face(person: Account, settings: Any, tmp_path: Path) -> Account:
    """The person, with any photo."""
    settings.MEDIA_ROOT = tmp_path
    data = io.BytesIO()
    drawn("plain").save(data, "WEBP")
    person.picture = ContentFile(data.getvalue(), name="face.webp")
    person.save()
    return person


def path_in(app: RelyingParty, **changes: str) -> str:
    url: str = claims_of(app.tokens(**changes)["id_token"])["picture"]
    return url.removeprefix("http://localhost:8000")


def fetch(path: str) -> Any:
    return Browser(raise_request_exception=False).get(path)


def body_of(response: Any) -> bytes:
    return b"".join(response.streaming_content) if response.streaming else bytes(response.content)


# --- Two projects ---


def test_responses_to_two_projects_share_no_identifying_data(
    pictured: Account, app: RelyingParty, web_app: RelyingParty
) -> None:
    one, other = fetch(path_in(app)), fetch(path_in(web_app))
    assert one.status_code == other.status_code == 200
    for name, value in one.headers.items():
        # Two lengths may be the same by chance; the next test compares more of them.
        if name not in {*SAID_TO_ALL, "Content-Length"} and name in other.headers:
            assert other.headers[name] != value, name
    assert set(one.headers) == set(other.headers)
    assert not {"Content-Disposition", "ETag", "Last-Modified", "Location", "Set-Cookie"} & set(one.headers)
    stored = Path(pictured.picture.name or "").stem
    assert stored not in str(one.headers) + str(other.headers)
    first, second = body_of(one), body_of(other)
    assert one["Content-Length"] == str(len(first))
    assert hashlib.sha256(first).digest() != hashlib.sha256(second).digest()


def test_no_part_of_the_two_files_is_the_same_data(face: Account, app: RelyingParty, web_app: RelyingParty) -> None:
    """Who cuts the container away still holds two encodings: its pieces have other bytes and other lengths."""

    def equally_long() -> set[str]:
        face.picture.save("face.webp", ContentFile(rich()))
        first, second = (dict(chunks(body_of(fetch(path_in(party))))) for party in (app, web_app))
        assert "VP8 " in first
        names = set(first) - {"VP8X"}  # which holds the size in pixels
        assert all(first[name] != second.get(name) for name in names)
        return {name for name in names if len(first[name]) == len(second.get(name, b""))}

    # Lengths are drawn at random: for one photo in some thousands, they are equal.
    assert not equally_long() & equally_long()


def rich() -> bytes:
    data = io.BytesIO()
    drawn("rich").resize((512, 512)).save(data, "WEBP", quality=85)
    return data.getvalue()


def chunks(webp: bytes) -> list[tuple[str, bytes]]:
    """Return the pieces of a WebP by name (RFC 9649 §2.3)."""
    assert (webp[:4], webp[8:12]) == (b"RIFF", b"WEBP")
    assert int.from_bytes(webp[4:8], "little") == len(webp) - 8
    found, at = [], 12
    while at < len(webp):
        length = int.from_bytes(webp[at + 4 : at + 8], "little")
        found.append((webp[at : at + 4].decode(), webp[at + 8 : at + 8 + length]))
        at += 8 + length + length % 2
    assert at == len(webp)
    return found


def test_both_files_show_the_same_picture(pictured: Account, app: RelyingParty, web_app: RelyingParty) -> None:
    shown = [Image.open(io.BytesIO(body_of(fetch(path_in(party))))) for party in (app, web_app)]
    with pictured.picture.open("rb") as file:
        shown.append(Image.open(io.BytesIO(file.read())))
    assert {image.format for image in shown} == {"WEBP"}
    assert len({image.size for image in shown}) == 1
    for image in shown[:2]:
        difference = ImageChops.difference(image.convert("RGB"), shown[2].convert("RGB"))
        assert max(ImageStat.Stat(difference).mean) < 12


def test_one_picture_url_always_returns_the_same_bytes(pictured: Account, app: RelyingParty) -> None:
    path = path_in(app)
    first = body_of(fetch(path))
    for _ in range(2):
        assert body_of(fetch(path)) == first


def test_a_new_picture_has_a_different_url_in_each_project(
    face: Account, app: RelyingParty, web_app: RelyingParty
) -> None:
    before = [path_in(app), path_in(web_app)]
    face.picture.save("another.webp", ContentFile(rich()))
    after = [path_in(app), path_in(web_app)]
    assert len({*before, *after}) == 4
    versions = {path.rpartition("/")[2] for path in (*before, *after)}
    assert len(versions) == 4
    assert [fetch(path).status_code for path in (*before, *after)] == [404, 404, 200, 200]


def test_pictures_are_cached_privately_and_briefly(face: Account, app: RelyingParty) -> None:
    directives = fetch(path_in(app))["Cache-Control"].replace(" ", "").split(",")
    assert "private" in directives
    (age,) = (int(each.partition("=")[2]) for each in directives if each.startswith("max-age="))
    assert age <= 300


@pytest.mark.parametrize("headers", [{"Range": "bytes=0-9"}, {"If-None-Match": "*"}, {"If-Modified-Since": "0"}, {}])
def test_no_request_header_makes_two_projects_pictures_equal(
    face: Account, app: RelyingParty, web_app: RelyingParty, headers: dict[str, str]
) -> None:
    one, other = (Browser().get(path_in(party), headers=headers) for party in (app, web_app))
    assert one.status_code == other.status_code == 200
    assert body_of(one) != body_of(other)
    head = Browser().head(path_in(app), headers=headers)
    assert head["Content-Length"] == one["Content-Length"]


def test_the_owners_picture_url_hides_the_stored_name(face: Account, app: RelyingParty) -> None:
    own = app.browser.get("/account/picture")
    assert "Content-Disposition" not in own
    assert Path(face.picture.name or "").stem not in str(own.headers)


@pytest.mark.django_db
def test_lengths_of_picture_files_follow_no_pattern(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path
    (tmp_path / "face.webp").write_bytes(rich())
    lengths = [len(files.encode_picture_for("face.webp", f"key-{number}")) for number in range(24)]
    assert len(set(lengths)) > 20
    assert max(lengths) - min(lengths) > 1000


# --- An address ends with the access ---


def remove(app: RelyingParty, account: Account) -> None:
    connection = consent.find_connection(account, app.client)
    assert connection is not None
    assert app.browser.post(f"/account/apps/{connection.pk}/remove").status_code == 302


def test_a_removed_apps_address_ends_at_once_and_a_new_permission_gets_a_new_one(
    face: Account, app: RelyingParty, web_app: RelyingParty
) -> None:
    before, elsewhere = path_in(app), path_in(web_app)
    remove(app, face)
    assert fetch(before).status_code == 404
    assert fetch(elsewhere).status_code == 200
    after = path_in(app)
    assert after.split("/")[2] != before.split("/")[2]
    assert fetch(after).status_code == 200
    assert fetch(before).status_code == 404
    assert fetch(elsewhere).status_code == 200


def test_the_id_stays_when_the_address_changes(face: Account, app: RelyingParty) -> None:
    before = claims_of(app.tokens()["id_token"])["sub"]
    remove(app, face)
    assert claims_of(app.tokens()["id_token"])["sub"] == before


def test_the_address_lives_while_another_app_of_the_project_has_access(face: Account, app: RelyingParty) -> None:
    sibling = RelyingParty(make_client(app.client.project, name="Orbit Mobile"), app.browser)
    path = path_in(app)
    assert path_in(sibling) == path
    remove(app, face)
    assert fetch(path).status_code == 200
    assert path_in(app) == path
    remove(app, face)
    remove(sibling, face)
    assert fetch(path).status_code == 404
    assert path_in(sibling) != path


def test_an_app_that_may_not_see_the_photo_keeps_no_address_alive(face: Account, app: RelyingParty) -> None:
    sibling = RelyingParty(make_client(app.client.project, name="Orbit Mobile"), app.browser)
    path = path_in(app)
    sibling.tokens(scope="openid email")
    remove(app, face)
    assert fetch(path).status_code == 404
    sibling.tokens(scope="openid email")
    assert path_in(sibling, scope="openid profile") != path


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_apps_that_begin_at_once_get_one_address() -> None:
    account, project = make_account(picture="pictures/photo.webp"), make_project()
    apps = [make_client(project), make_client(project)]
    for client in apps:
        consent.remove_consent(consent.record_consent(account, client, ["openid", "profile"]))
    before = PairwiseSubject.objects.get(account=account).picture_key

    def allow(number: int) -> str:
        with transaction.atomic():
            consent.record_consent(account, apps[number], ["openid", "profile"])
            return PairwiseSubject.objects.get(account=account).picture_key

    assert len({before, *at_once(2, allow)}) == 2


def turn_off(client: Client) -> None:
    Client.objects.filter(pk=client.pk).update(enabled=False)


def suspend(client: Client) -> None:
    Project.objects.filter(pk=client.project_id).update(suspended_at=clock.now())


def delete_project(client: Client) -> None:
    owner = ProjectMember.objects.get(project=client.project, role=ProjectMember.Role.OWNER).account
    lifecycle.delete_project(client.project, owner)


@pytest.mark.parametrize("end", [turn_off, suspend, delete_project, Client.delete])
def test_nobody_sees_the_photo_through_an_app_that_can_not_be_used(
    face: Account, app: RelyingParty, end: Callable[[Client], None]
) -> None:
    path = path_in(app)
    end(app.client)
    assert fetch(path).status_code == 404


def test_after_a_client_is_deleted_its_projects_next_app_gets_a_new_address(face: Account, app: RelyingParty) -> None:
    path, project = path_in(app), app.client.project
    app.client.delete()
    assert path_in(RelyingParty(make_client(project, name="Orbit Mobile"), app.browser)) != path
    assert fetch(path).status_code == 404


def test_a_deactivated_persons_addresses_do_not_come_back_with_them(face: Account, app: RelyingParty) -> None:
    path = path_in(app)
    face.is_active = False
    face.save()
    assert fetch(path).status_code == 404
    face.is_active = True
    face.save()
    assert fetch(path).status_code == 404


def test_picture_urls_of_deleted_people_are_404(face: Account, app: RelyingParty) -> None:
    path = path_in(app)
    face.delete()
    assert fetch(path).status_code == 404
    assert not PairwiseSubject.objects.exists()


# --- API keys show their owner's photo ---


@pytest.fixture
def own_project(face: Account) -> Project:
    return make_project(face)


def address_by_key(raw: str) -> str:
    url: str = Browser().get("/v1/me", headers={"Authorization": f"Bearer {raw}"}).json()["picture"]
    return url.removeprefix("http://localhost:8000")


def test_a_keys_address_lives_as_long_as_the_key(own_project: Project, face: Account) -> None:
    row, raw = make_key(own_project, face)
    path = address_by_key(raw)
    assert fetch(path).status_code == 200
    keys.API_KEYS.revoke(row, face)
    assert fetch(path).status_code == 404
    _, raw = make_key(own_project, face)
    assert address_by_key(raw) != path
    assert fetch(path).status_code == 404


def test_a_key_that_runs_out_takes_its_address_along(
    own_project: Project, face: Account, later: Callable[[float], None]
) -> None:
    _, raw = make_key(own_project, face, expires_at=clock.now() + timedelta(hours=1))
    path = address_by_key(raw)
    assert fetch(path).status_code == 200
    later(3601)
    assert fetch(path).status_code == 404


def test_a_key_keeps_the_address_that_an_app_had_and_the_other_way_round(
    own_project: Project, face: Account, app: RelyingParty
) -> None:
    row, raw = make_key(own_project, face)
    mine = RelyingParty(make_client(own_project, name="Orbit Mobile"), app.browser)
    path = path_in(mine)
    assert address_by_key(raw) == path
    remove(mine, face)
    assert fetch(path).status_code == 200
    assert path_in(mine) == path
    keys.API_KEYS.revoke(row, face)
    assert fetch(path).status_code == 200


def test_a_key_without_permission_shows_and_keeps_nothing(own_project: Project, face: Account) -> None:
    row, raw = make_key(own_project, face)
    path = address_by_key(raw)
    make_key(own_project, face, permissions=())
    keys.API_KEYS.revoke(row, face)
    assert fetch(path).status_code == 404


def test_a_member_who_left_has_no_address_there(face: Account) -> None:
    project = make_project(make_account())
    member = ProjectMember.objects.create(project=project, account=face, role=ProjectMember.Role.DEVELOPER)
    _, raw = make_key(project, face)
    path = address_by_key(raw)
    assert fetch(path).status_code == 200
    member.delete()
    assert fetch(path).status_code == 404
