"""The guide for Spring Security's client, with a secret and without one."""

import itertools
from collections.abc import Callable

import pytest

from oidc.events.tokens import EVENT_TOKEN_TYP, LOGOUT_TOKEN_TYP
from oidc.values.event_types import EventType
from tests.clients.ended_sessions import check_sessions_end, delivered
from tests.guides.java import managed
from tests.guides.journey import Paths, Press, sign_in, walk
from tests.guides.reading import OpenGuide, needs
from tests.guides.receiving import EVENTS, LOGOUT, Receiver, Signer, odd_tokens, wrong_tokens
from tests.guides.runs import record_run
from tests.services import keeper

pytestmark = [pytest.mark.slow, needs("java", "mvn")]

PATHS = Paths(sign_in="/oauth2/authorization/service", refresh="/refresh", sign_out=Press("Sign out"))
BACK_CHANNEL = "/logout/connect/back-channel/service"


def test_spring(guide: Callable[..., OpenGuide], signer: Signer) -> None:
    port = keeper.free_port()
    receivers = {
        "backchannel_logout_uri": f"http://localhost:{port}{BACK_CHANNEL}",
        "events_url": f"http://localhost:{port}{EVENTS}",
    }
    app = guide("spring", port=port, **receivers)
    app.save()
    run, _public = app.commands
    app.run(run)
    walk(app, PATHS)
    receiver = Receiver(app, PATHS, signer)
    check_logout_tokens(receiver)
    check_events(receiver)
    record_run(
        "spring",
        managed(app, "org.springframework.boot:spring-boot", "org.springframework.security:spring-security-core"),
    )


def check_logout_tokens(one: Receiver) -> None:
    """Check that a session that ends at the service ends in the app, and that the service's own deliveries arrive."""
    app, ada = one.guide, one.guide.person
    ada.browser.cookies.clear()
    ada.decision = "allow"
    with delivered(app.service, one.client_id, "tokens-revoked"):  # by the last cause
        check_sessions_end(app.service, one.client_id, ada, one.sign_in, f"{app.origin}/")


def check_events(one: Receiver) -> None:
    """Check that the app forgets a person's tokens after an event of the service, once, and after no other token."""
    sub, sid = one.sign_in()
    refused = dict(itertools.chain(wrong_tokens(one, EVENTS, sub, sid), odd_tokens(one, EVENTS, sub)))
    refused |= {"logout": one.signer.sign(one.claims(LOGOUT, sub), LOGOUT_TOKEN_TYP), "empty": "", "huge": "x" * 10**6}
    for name, token in refused.items():
        answer = one.send(EVENTS, token)
        assert answer.status_code == 400, (name, answer.status_code, answer.text[:2000])
        assert answer.json().keys() == {"err", "description"}, name
    assert one.post(EVENTS, refused["logout"], "application/json").status_code == 415
    assert person_id(one) == sub

    token = one.signer.sign(one.claims(EVENTS, sub, EventType.TOKENS_REVOKED), EVENT_TOKEN_TYP)
    assert one.send(EVENTS, token).status_code == 202
    assert one.guide.person.browser.get(f"{one.guide.origin}/me").has_redirect_location, "the tokens are gone"
    sign_in(one.guide, PATHS)  # and back to that page
    assert one.send(EVENTS, token).status_code == 202, "it is accepted again, because the first response may be lost"
    assert person_id(one) == sub


def person_id(one: Receiver) -> str:
    """Return the person's id from the page for which the app needs their tokens."""
    return str(one.guide.person.browser.get(f"{one.guide.origin}/me").json()["id"])


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
