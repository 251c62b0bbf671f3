"""The sign-in log page: why a request was refused, and a way from a redirect mismatch to a registered address."""

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client as Browser
from django.urls import reverse
from django.utils.html import escape

from api import usage_counts
from devportal.console.logs.fixes import sign_in_url
from devportal.console.models import SignInEvent
from oidc.models import Client, Project
from oidc.sign_in_log.steps import Outcome
from tests.factories import REDIRECT_URI, make_client
from tests.oidc.test_sign_in_log import REFUSED

AT = datetime(2026, 11, 21, 4, 30, 20, tzinfo=UTC)


def log(client: Client, **values: Any) -> SignInEvent:
    """Write an entry: a refusal, unless it says otherwise."""
    entry: dict[str, Any] = {"at": AT, "endpoint": "authorize", "outcome": Outcome.REFUSED, "error": "invalid_request"}
    return SignInEvent.objects.create(client=client, **entry | {"reason": "Why.", "request_id": "r"} | values)


def address(client: Client, **filters: str) -> str:
    path = reverse("console:sign_ins", args=[client.project.public_id, client.client_id])
    return f"{path}?{urlencode(filters)}"


def page(browser: Browser, client: Client, **filters: str) -> str:
    response = browser.get(address(client, **filters))
    assert response.status_code == 200
    return str(response.content.decode())


def shown(browser: Browser, client: Client, **filters: str) -> list[str]:
    """Return the request ids on the page, from its top."""
    return [line.row.request_id for line in browser.get(address(client, **filters)).context["lines"]]


def test_an_error_is_found_by_the_id_on_its_page(as_viewer: Browser, app: Client) -> None:
    sent = f"{REDIRECT_URI}/"
    query = urlencode({"client_id": app.client_id, "redirect_uri": sent, "response_type": "code"})
    refused = Browser().get(f"/connect/authorize?{query}")
    assert refused.status_code == 400
    request_id = refused["X-Request-ID"]
    assert request_id in refused.content.decode()
    usage_counts.flush_usage()
    assert shown(as_viewer, app, request_id=request_id) == [request_id]
    text = page(as_viewer, app, request_id=request_id)
    for shows in ("Refused", "Authorization", "invalid_request", "only by the slash at the end"):
        assert shows in text, shows
    assert sign_in_url(app, request_id) == address(app, request_id=request_id)


def test_logs_of_other_clients_are_separate(as_viewer: Browser, app: Client, project: Project) -> None:
    log(make_client(project, name="Other"), request_id="other")
    log(app, request_id="mine")
    assert shown(as_viewer, app) == ["mine"]
    assert shown(as_viewer, app, request_id="other") == []


@pytest.fixture
def varied(app: Client) -> Client:
    """A log with entries of all kinds."""
    log(app, outcome=Outcome.SIGNED_IN, error="", request_id="ok", at=AT)
    log(app, outcome=Outcome.CANCELLED, error="access_denied", request_id="no", at=AT + timedelta(minutes=1))
    log(app, request_id="mismatch", at=AT + timedelta(minutes=2))
    log(
        app,
        endpoint="token",
        error="invalid_client",
        reason="secret_wrong",
        request_id="secret",
        at=AT + timedelta(minutes=3),
    )
    log(app, endpoint="revoke", error="invalid_client", request_id="revoke", at=AT + timedelta(minutes=4))
    log(app, error="app_full", request_id="full", at=AT + timedelta(minutes=5))
    return app


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({}, ["full", "revoke", "secret", "mismatch", "no", "ok"]),
        ({"outcome": "signed_in"}, ["ok"]),
        ({"outcome": "cancelled"}, ["no"]),
        ({"outcome": "refused", "endpoint": "authorize"}, ["full", "mismatch"]),
        ({"endpoint": "token"}, ["secret"]),
        ({"error": "invalid_client"}, ["revoke", "secret"]),
        ({"reason": "secret_wrong"}, ["secret"]),
        ({"from": "2026-11-21T04:34:20"}, ["full", "revoke"]),
        ({"to": "2026-11-21T04:31:20"}, ["ok"]),
        ({"q": "secret is wrong"}, ["secret"]),
        ({"outcome": "signed_in", "error": "app_full"}, []),
    ],
)
def test_filters(filters: dict[str, str], found: list[str], as_viewer: Browser, varied: Client) -> None:
    assert shown(as_viewer, varied, **filters) == found


def test_every_error_that_is_recorded_can_be_chosen(as_viewer: Browser, app: Client) -> None:
    selects = as_viewer.get(address(app)).context["bar"].more
    choices = {value for select in selects for value, _, _ in select.options}
    wanted = {error for _, error, _ in REFUSED}
    assert wanted | {"unavailable", "app_full", "access_denied", "invalid_client", "invalid_grant"} <= choices


@pytest.mark.parametrize("sent", ['"><script>alert(1)</script>', "https://x.example/'\"<b>"])
def test_hostile_urls_are_escaped(sent: str, as_owner: Browser, app: Client) -> None:
    log(app, redirect_uri=sent, reason="", error="<script>alert", request_id="<script>alert")
    log(app, redirect_uri=sent, reason="", error="")
    text = page(as_owner, app)
    assert "<script>alert" not in text
    assert "<b>" not in text
    # What turns the direction of writing stays within its frame.
    assert f"<bdi>{escape(sent)[:4]}" in text
