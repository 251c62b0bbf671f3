"""The guide for Spring Security's client, with a secret and without one."""

from collections.abc import Callable
from functools import partial

import pytest

from tests.clients.ended_sessions import check_sessions_end, delivered
from tests.guides.event_tokens import EVENT, check_forged, event_claims, forged, send
from tests.guides.java import managed
from tests.guides.journey import Paths, Press, sign_in, walk
from tests.guides.reading import OpenGuide, needs
from tests.guides.runs import record_run
from tests.services import keeper

pytestmark = [pytest.mark.slow, needs("java", "mvn")]

PATHS = Paths(sign_in="/oauth2/authorization/service", refresh="/refresh", sign_out=Press("Sign out"))
LOGOUT, EVENTS = "/logout/connect/back-channel/service", "/events"


def test_spring(guide: Callable[..., OpenGuide]) -> None:
    port = keeper.free_port()
    receivers = {
        "backchannel_logout_uri": f"http://localhost:{port}{LOGOUT}",
        "events_url": f"http://localhost:{port}{EVENTS}",
    }
    app = guide("spring", port=port, **receivers)
    app.save()
    run, _public = app.commands
    app.run(run)
    walk(app, PATHS)
    check_logout_tokens(app)
    check_events(app)
    record_run(
        "spring",
        managed(app, "org.springframework.boot:spring-boot", "org.springframework.security:spring-security-core"),
    )


def check_logout_tokens(app: OpenGuide) -> None:
    """Check that a session that ends at the service ends in the app, and that the service's own deliveries arrive."""
    client_id, ada = app.client["client_id"], app.person
    ada.browser.cookies.clear()
    ada.decision = "allow"
    with delivered(app.service, client_id, "tokens-revoked"):  # by the last cause
        check_sessions_end(app.service, client_id, ada, partial(sign_in, app, PATHS), f"{app.origin}/")


def check_events(app: OpenGuide) -> None:
    """Check that the app forgets a person's tokens after a genuine event, once, and after no other."""
    sign_in(app, PATHS)
    sub, url = person_id(app), f"{app.origin}{EVENTS}"
    check_forged(url, forged(app.service, app.client["client_id"], sub))
    assert send(url, "x", "application/json").status_code == 415
    assert person_id(app) == sub

    (token,) = app.service.sign((EVENT, event_claims(app.service, app.client["client_id"], sub)))
    assert send(url, token).status_code == 202
    assert app.person.browser.get(f"{app.origin}/me").has_redirect_location, "the tokens are gone"
    sign_in(app, PATHS)
    assert send(url, token).status_code == 202, "it is accepted again, because the first response may be lost"
    assert person_id(app) == sub


def person_id(app: OpenGuide) -> str:
    """Return the person's id from the page for which the app needs their tokens."""
    return str(app.person.browser.get(f"{app.origin}/me").json()["id"])


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
