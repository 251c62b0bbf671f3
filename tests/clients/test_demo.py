"""The demo of `make run`: the people named in the terminal can sign in."""

import sys
from dataclasses import dataclass

import httpx
import pytest

from tests.clients.person import Forms
from tests.services import keeper
from tests.services.service import Service

pytestmark = pytest.mark.slow


@dataclass
class Demo(Service):
    """The service as `make run` starts it."""

    @property
    def command(self) -> list[str]:
        return [sys.executable, "manage.py", "serve", "--demo", "deploy/demo.toml"]


def test_a_person_of_the_demo_signs_in() -> None:
    with keeper.folder() as home:
        service = Demo(home)
        try:
            service.start()
            with service.client() as browser:
                page = browser.get("/account/login/")
                (form,) = [form for form in Forms(page.text).found if "password" in form.fields]
                filled = form.fields | {"login": "ada@example.com", "password": "demo-person-1"}
                answer: httpx.Response = browser.post("/account/login/", data={k: v for k, v in filled.items() if k})
                assert answer.status_code == 302, answer.text
                assert browser.get("/account/").status_code == 200
            assert service.stop() == 0
        finally:
            service.end()
