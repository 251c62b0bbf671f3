import json
from typing import Any
from tests.relying_party import RelyingParty, age_sign_in
from django.test.utils import CaptureQueriesContext
from django.db import connection


def test_x(app: Any) -> None:
    r = app.browser.get("/.well-known/openid-configuration")
    print(json.dumps(r.json(), indent=2))
    r = app.authorize(prompt="login")
    print(r.status_code, r.headers)
    page = app.browser.get(r["Location"])
    print(page.status_code, page.content.decode())
    print(dict(app.browser.session))
    age_sign_in(app.browser, 10)
    print(dict(app.browser.session))


def test_q(app: Any, web_app: Any) -> None:
    for a in (app, web_app):
        c = a.code()
        a.exchange(c)
        c = a.code(prompt="consent")
        with CaptureQueriesContext(connection) as q:
            t = a.exchange(c)
        print(len(q), "\n".join(x["sql"][:200] for x in q.captured_queries))
        assert t.status_code == 200
        with CaptureQueriesContext(connection) as q:
            t = a.refresh(t.json()["refresh_token"])
        print(len(q), "\n".join(x["sql"][:200] for x in q.captured_queries))
