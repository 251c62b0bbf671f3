"""The console's secrets are in the one answer that shows them, and nowhere else (docs/security.md#the-console)."""

import base64
import io
import logging
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.contrib.sessions.models import Session
from django.core import mail
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client as Browser
from PIL import Image

from accounts.models import Outbox
from devportal.console.playground.flow import SESSION_KEY
from oidc.models import Client
from oidc.values.redirect_uris import playground_redirect_uri
from tests.devportal.console.forms import at, send
from tests.devportal.console.playground.playing import Playground, parameters_of, tokens_on
from tests.relying_party import sign_in
from tests.security.consoles import READ, Place, make_place


class Kept(logging.Handler):
    """Keeps every record that is logged, as text with its traceback."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.texts: list[str] = []
        self.setFormatter(logging.Formatter())

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(f"{self.format(record)} {record.__dict__}")


@pytest.fixture
def logs() -> Any:
    kept, root = Kept(), logging.getLogger()
    before = root.level
    root.addHandler(kept)
    root.setLevel(logging.DEBUG)
    yield kept.texts
    root.setLevel(before)
    root.removeHandler(kept)


def everything() -> str:
    """Return every column of every table as text, what sessions hold opened."""
    rows = [str(row) for model in apps.get_models() for row in model._base_manager.values()]
    return "\n".join([*rows, *(str(session.get_decoded()) for session in Session.objects.all())])


def picture() -> SimpleUploadedFile:
    data = io.BytesIO()
    Image.new("RGB", (128, 128), "teal").save(data, "PNG")
    return SimpleUploadedFile("logo.png", data.getvalue(), "image/png")


def raw_in(answer: Any, prefix: str) -> str:
    """Return the one secret that an answer shows."""
    assert answer.status_code == 200, answer.headers
    (found,) = set(re.findall(rf"{re.escape(prefix)}[A-Za-z0-9_-]{{20,}}", answer.content.decode()))
    return str(found)


def test_secrets_are_in_one_response_only(
    db: None, logs: list[str], settings: Any, django_capture_on_commit_callbacks: Callable[..., Any]
) -> None:
    place = make_place("olga@example.com")
    place.browser = sign_in(Browser(), place.owner)
    with django_capture_on_commit_callbacks(execute=True):
        secrets = use_everything(place, settings)
    assert len(secrets) == len(set(secrets.values()))
    pages = [place.browser.get(place.url(name)) for name in READ]
    texts: list[Any] = [
        b"".join(page.streaming_content) if page.streaming else page.content  # type: ignore[attr-defined]
        for page in pages
    ]
    places = {
        "database": everything(),
        "logs": "\n".join(logs),
        "mails": str([message.message() for message in mail.outbox]) + str(list(Outbox.objects.values())),
        "pages": b"\n".join(texts).decode(errors="replace"),
        "headers": str([page.headers for page in pages]),
    }
    for text in (places["database"], places["pages"]):
        assert "Starling" in text  # it is all looked through
    assert any("was rejected" in line for line in logs)
    found = [
        (what, where)
        for what, secret in secrets.items()
        for where, text in places.items()
        if any(form in text for form in (secret, base64.b64encode(secret.encode()).decode()))
    ]
    # While a run lasts its session holds the verifier; after the exchange it is no longer valid.
    assert [pair for pair in found if pair != ("verifier", "database")] == []


def use_everything(place: Place, settings: Any) -> dict[str, str]:
    """Do all that makes a secret, through the pages; return the secrets as the answers showed them."""
    browser, project = place.browser, place.project
    made: dict[str, str] = {}
    form = {"name": "Starling", "type": "web", "redirect_uris": playground_redirect_uri()}
    made["secret"] = raw_in(send(browser, at("client_new", project), form), settings.CLIENT_SECRET_PREFIX)
    client = Client.objects.get(name="Starling")
    second = send(browser, at("client_secret_new", project, client), {}, at("client_settings", project, client))
    made["second secret"] = raw_in(second, settings.CLIENT_SECRET_PREFIX)
    assert "no-store" in second["Cache-Control"]
    key = send(browser, at("key_new", project), {"name": "Nightly", "permissions": "account.read"})
    made["key"] = raw_in(key, settings.API_KEY_PREFIX)
    assert "no-store" in key["Cache-Control"]
    review = {"step": "save", "name": "Starling", "logo": picture(), "home_page_url": "https://a.example.com/"}
    assert browser.post(at("review", project, client), review).status_code == 302
    assert browser.post(at("members", project), {"email": "new@example.com", "role": "viewer"}).status_code == 302
    playground = Playground(client, browser)
    location = playground.sign_in(playground.begin("email"))
    made["code"] = parameters_of(location)["code"]
    assert playground.arrive(location).status_code == 302
    made["verifier"] = str(browser.session[SESSION_KEY]["verifier"])
    assert made["code"] not in everything()
    made["wrong secret"] = "not-the-secret-" + "x" * 20
    assert made["wrong secret"] not in playground.exchange(made["wrong secret"]).content.decode()
    playground.begin("email")
    location = playground.sign_in(playground.page().context["run"].url())
    made["second code"] = parameters_of(location)["code"]
    playground.arrive(location)
    tokens = tokens_on(playground.exchange(made["secret"]))
    made |= {name: tokens[name] for name in ("access_token", "id_token") if name in tokens}
    made |= {"refresh_token": tokens["refresh_token"]} if tokens.get("refresh_token") else {}
    return made
