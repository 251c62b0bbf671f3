"""Deprecated endpoints: the headers that the policy in the docs promises."""

from datetime import date, timedelta
from email.utils import parsedate_to_datetime

import pytest
from django.http import HttpResponse
from django.test import Client as Browser

from api.deprecation import Deprecation
from api.endpoint import ENDPOINTS
from api.errors import EXPOSED_HEADERS
from api.me import MeView
from api.schema_views import openapi_document
from devportal.docs.context import DEPRECATION_MONTHS

ENDING = Deprecation(date(2031, 1, 15), date(2032, 1, 15))


def test_every_response_of_a_deprecated_endpoint_says_so(
    client: Browser, monkeypatch: pytest.MonkeyPatch, db: None
) -> None:
    monkeypatch.setattr(MeView, "deprecation", ENDING)
    answer = client.get("/v1/me")
    assert answer.status_code == 401
    assert answer["Deprecation"] == "@1926201600"
    assert answer["Sunset"] == "Thu, 15 Jan 2032 00:00:00 GMT"
    helped, deprecated = answer["Link"].split(", ")
    assert 'rel="help"' in helped
    assert deprecated == '<http://localhost:8000/docs/deprecation>; rel="deprecation"; type="text/html"'
    assert {"Deprecation", "Sunset", "Link"} <= set(EXPOSED_HEADERS)
    other = client.get("/v1/me/plan")
    assert not other.has_header("Deprecation")
    assert not other.has_header("Sunset")


def test_the_link_to_the_policy_leads_somewhere(client: Browser) -> None:
    response = HttpResponse()
    ENDING.add_headers(response)
    path = response["Link"].partition(">")[0].removeprefix("<http://localhost:8000")
    assert client.get(path).status_code == 200


def test_the_days_and_the_openapi_document_keep_to_the_policy() -> None:
    operations = [methods["get"] for methods in openapi_document()["paths"].values()]
    deprecated = [endpoint.deprecation for endpoint in ENDPOINTS if endpoint.deprecation]
    assert sum(operation.get("deprecated", False) for operation in operations) == len(deprecated)
    for each in [ENDING, *deprecated]:
        ends = parsedate_to_datetime(each.headers()["Sunset"]).date()
        assert ends - each.since >= timedelta(days=365 * DEPRECATION_MONTHS // 12)
