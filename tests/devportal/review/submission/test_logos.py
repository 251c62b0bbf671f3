"""The files of logos: stored once, there as long as something names them, gone afterwards."""

import io
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.test import Client as Browser
from PIL import Image

from accounts.models import Account
from devportal.review.models import AppReview
from devportal.review.rules.workflow import IllegalReviewStep
from devportal.review.submission import developer_actions
from oidc.domains import branding
from oidc.models import Client
from tests.devportal.review.reviewing import BRANDING, Status, decide, fill, fresh, resent

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Path) -> Path:
    settings.MEDIA_ROOT = tmp_path
    return tmp_path


@pytest.fixture
def committed(django_capture_on_commit_callbacks: Any) -> Any:
    return lambda: django_capture_on_commit_callbacks(execute=True)


def logo() -> ContentFile[bytes]:
    out = io.BytesIO()
    Image.new("RGB", (128, 128), "red").save(out, "PNG")
    return branding.clean_logo(io.BytesIO(out.getvalue()))


def files(media: Path) -> set[str]:
    return {str(path.relative_to(media)) for path in media.rglob("*") if path.is_file()}


def test_replaced_and_removed_logos_are_deleted(app: Client, developer: Account, media: Path, committed: Any) -> None:
    with committed():
        first = developer_actions.save_submission(app, developer, {}, logo=logo()).snapshot["logo"]
    assert files(media) == {first} == {fresh(app).logo.name}
    with committed():
        second = developer_actions.save_submission(app, developer, {}, logo=logo()).snapshot["logo"]
    assert files(media) == {second}
    with committed():
        developer_actions.save_submission(app, developer, {"name": "Orbit Two"})
    assert files(media) == {second}
    with committed():
        developer_actions.save_submission(app, developer, {}, remove_logo=True)
    assert files(media) == set()
    assert fresh(app).logo.name == ""


def test_the_approved_logo_stays_while_another_is_reviewed(
    app: Client, developer: Account, reviewer: Account, media: Path, committed: Any
) -> None:
    with committed():
        fill(app, developer)
        old = developer_actions.save_submission(app, developer, {}, logo=logo()).snapshot["logo"]
        decide(developer_actions.submit(app, developer), reviewer, Status.APPROVED)
    address = branding.public_logo_path(fresh(app))
    with committed():
        developer_actions.save_submission(app, developer, {}, logo=logo())
        new = developer_actions.save_submission(app, developer, {}, logo=logo()).snapshot["logo"]
    assert files(media) == {old, new}, "a draft's replaced logo is gone"
    assert branding.public_logo_path(fresh(app)) == address
    with committed():
        decide(developer_actions.submit(app, developer), reviewer, Status.APPROVED)
    assert fresh(app).logo.name == new
    assert branding.public_logo_path(fresh(app)) != address
    assert files(media) == {old, new}, "the review that approved the old one still shows it"


def test_earlier_revisions_keep_their_logo_for_the_comparison(
    app: Client, developer: Account, reviewer: Account, as_reviewer: Browser, media: Path, committed: Any
) -> None:
    with committed():
        fill(app, developer)
        old = developer_actions.save_submission(app, developer, {}, logo=logo()).snapshot["logo"]
        decide(developer_actions.submit(app, developer), reviewer, Status.CHANGES_REQUESTED)
        new = developer_actions.save_submission(app, developer, {}, logo=logo()).snapshot["logo"]
        review = resent(app, developer)
    assert files(media) == {old, new}
    assert as_reviewer.get(f"/admin/review/appreview/{review.pk}/logo/previous/").status_code == 200
    with committed():
        Client.objects.get(pk=app.pk).delete()
    assert files(media) == set()


def test_starting_over_forgets_the_drafts_logo(
    app: Client, developer: Account, reviewer: Account, media: Path, committed: Any
) -> None:
    with committed():
        fill(app, developer)
        decide(developer_actions.submit(app, developer), reviewer, Status.APPROVED)
        developer_actions.save_submission(app, developer, {}, logo=logo())
        assert len(files(media)) == 1
        developer_actions.start_over(app, developer)
    assert files(media) == set()


def test_a_refused_edit_leaves_no_file(app: Client, developer: Account, media: Path) -> None:
    fill(app, developer)
    developer_actions.submit(app, developer)
    with pytest.raises(IllegalReviewStep):
        developer_actions.save_submission(app, developer, {}, logo=logo())
    assert files(media) == set()


def test_deleting_an_app_deletes_its_logos(
    app: Client, developer: Account, reviewer: Account, media: Path, committed: Any
) -> None:
    with committed():
        fill(app, developer)
        developer_actions.save_submission(app, developer, {}, logo=logo())
        decide(developer_actions.submit(app, developer), reviewer, Status.APPROVED)
        developer_actions.save_submission(app, developer, BRANDING, logo=logo())
    assert len(files(media)) == 2
    with committed():
        app.project.delete()
    assert not AppReview.objects.exists()
    assert files(media) == set()
