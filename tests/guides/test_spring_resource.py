"""The guide for Spring Security's resource server: which tokens an API of the reader's takes, and which it does not."""

import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.clients.app import App
from tests.guides.java import managed
from tests.guides.reading import OpenGuide, needs
from tests.guides.runs import record_run

pytestmark = [pytest.mark.slow, needs("java", "mvn", "curl")]


def tokens_of(app: OpenGuide, client: dict[str, str | None]) -> dict[str, str]:
    """Sign the person in to a client, and return its tokens."""
    party = App(app.service, app.origin, "", client_id=str(client["client_id"]), client_secret=client["client_secret"])
    arrived_at = app.person.go(party.authorization_url())
    code = parse_qs(urlsplit(arrived_at).query)["code"][0]
    answer: dict[str, str] = party.exchange(code).json()
    return answer


def check_tokens(app: OpenGuide, call: str, own: dict[str, str], other: dict[str, str]) -> None:
    said = app.finish(call, ACCESS_TOKEN=own["access_token"])
    assert '"notes":[]' in said
    me = httpx.get(f"{app.service.address}/v1/me", headers={"Authorization": f"Bearer {own['access_token']}"}).json()
    assert f'"owner":"{me["id"]}"' in said
    for refused in (other["access_token"], own["id_token"], "x"):
        answer = httpx.get(f"{app.origin}/notes", headers={"Authorization": f"Bearer {refused}"})
        assert answer.status_code == 401, (answer.text, refused)
        assert "invalid_token" in answer.headers["WWW-Authenticate"]
    assert httpx.get(f"{app.origin}/notes").status_code == 401


def test_spring_resource(guide: Callable[..., OpenGuide]) -> None:
    app = guide("spring-resource")
    app.save()
    run, _token, call, before = app.commands
    own, other = tokens_of(app, app.client), tokens_of(app, app.declare("Other app"))
    app.run(run)
    check_tokens(app, call, own, other)
    artifacts = ("org.springframework.boot:spring-boot", "org.springframework.security:spring-security-core")
    record_run("spring-resource", managed(app, *artifacts))

    app.close()
    use_older_decoder(app, before)
    app.run(run)
    check_tokens(app, call, own, other)


def use_older_decoder(app: OpenGuide, before: str) -> None:
    """Put the decoder for older versions into the place of the other; its calls are still there."""
    file = app.folder / "src/main/java/com/example/Api.java"
    code = file.read_text()
    decoder = r"        var decoder = .*?(?=        return decoder;)"
    code, replaced = re.subn(decoder, lambda _: f"{before}\n", code, flags=re.DOTALL)
    assert replaced == 1
    imports = (
        "com.nimbusds.jose.JOSEObjectType",
        "com.nimbusds.jose.proc.DefaultJOSEObjectTypeVerifier",
        "org.springframework.security.oauth2.core.DelegatingOAuth2TokenValidator",
    )
    added = "".join(f"import {name};\n" for name in imports)
    file.write_text(code.replace("import java.util.List;\n", f"{added}import java.util.List;\n"))
