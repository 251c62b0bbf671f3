"""The guide for Spring Security's client, with a secret and without one."""

from collections.abc import Callable

import pytest

from tests.guides.java import managed
from tests.guides.journey import Paths, Press, walk
from tests.guides.reading import OpenGuide, needs
from tests.guides.runs import record_run

pytestmark = [pytest.mark.slow, needs("java", "mvn")]

PATHS = Paths(sign_in="/oauth2/authorization/service", refresh="/refresh", sign_out=Press("Sign out"))


def test_spring(guide: Callable[..., OpenGuide]) -> None:
    app = guide("spring")
    app.save()
    run, _public = app.commands
    app.run(run)
    walk(app, PATHS)
    record_run(
        "spring",
        managed(app, "org.springframework.boot:spring-boot", "org.springframework.security:spring-security-core"),
    )


def test_spring_without_a_secret(guide: Callable[..., OpenGuide]) -> None:
    app = guide("spring")
    app.save()
    run, public = app.commands
    installed = app.declare("Spring native app", type="native")
    settings = app.folder / "src/main/resources/application.yml"
    text = settings.read_text()
    assert text.count("      client-secret: ${CLIENT_SECRET}") == 1
    text = text.replace("      client-secret: ${CLIENT_SECRET}", public)
    settings.write_text(text.replace(app.client["client_id"], installed["client_id"]))
    app.client = installed  # whose refresh tokens the walk counts
    app.run(run)
    walk(app, PATHS)
