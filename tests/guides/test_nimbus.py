"""The guide for Nimbus' OpenID Connect SDK."""

from collections.abc import Callable

import pytest

from tests.guides.java import managed
from tests.guides.journey import Paths, walk
from tests.guides.reading import OpenGuide, needs
from tests.guides.runs import record_run

pytestmark = [pytest.mark.slow, needs("java", "mvn")]


def test_nimbus(guide: Callable[..., OpenGuide]) -> None:
    app = guide("nimbus")
    app.save()
    load, run, _pac4j = app.commands
    app.run(f"{load}\n{run}")
    walk(app, Paths(refresh="/refresh", sign_out="/sign-out"))
    record_run("nimbus", managed(app, "com.nimbusds:oauth2-oidc-sdk"))
