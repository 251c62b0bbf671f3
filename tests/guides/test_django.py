"""The guides for Django."""

from collections.abc import Callable

import pytest

from tests.clients.quick_start import check_installable
from tests.guides.journey import Paths, Press, walk
from tests.guides.reading import OpenGuide
from tests.guides.runs import installed, record_run

pytestmark = pytest.mark.slow
UNSET = {"DJANGO_SETTINGS_MODULE": ""}  # the tests' own would be found


def prepare(app: OpenGuide) -> tuple[str, dict[str, str]]:
    """Save the files in `saved`, and return the command that starts a project, puts them in and runs it."""
    app.save()
    install, run = app.commands
    check_installable(install)
    start = install.splitlines()[1]
    # The project is started before the files are saved in it.
    (app.folder / "mysite").rename(app.folder / "saved")
    return f"{start} && cp saved/* mysite/ && {' && '.join(run.splitlines())}", UNSET


def run_in_a_new_project(app: OpenGuide) -> None:
    command, settings = prepare(app)
    app.run(command, **settings)


def test_django_with_allauth(guide: Callable[..., OpenGuide]) -> None:
    app = guide("django-allauth")
    run_in_a_new_project(app)
    paths = Paths(sign_in=Press("Sign in"), refresh=Press("Refresh"), sign_out=Press("Sign out"))
    walk(app, paths, refusal="Login Cancelled")
    record_run("django-allauth", installed("Django", "django-allauth"))


def test_django_with_mozilla_django_oidc(guide: Callable[..., OpenGuide]) -> None:
    app = guide("django-mozilla")
    run_in_a_new_project(app)
    paths = Paths(sign_in="/oidc/authenticate/", refresh=Press("Refresh"), sign_out=Press("Sign out"))
    walk(app, paths, refusal="Not signed in")
    record_run("django-mozilla", installed("Django", "mozilla-django-oidc"))
