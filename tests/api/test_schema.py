"""The OpenAPI document: valid, complete, and kept to by everything that is served."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as drawn
from hypothesis import strategies as st

from api.errors import ERRORS
from api.schema_views import openapi_document
from core import clock
from oidc.apis.scopes import known_scopes
from oidc.models import Client
from tests.api.calls import ME, PLAN, call
from tests.factories import make_access_token, make_account, make_client, make_key, make_project

SCHEMA = "/v1/openapi.json"
GOLDEN = Path(__file__).resolve().parents[1] / "golden"
OPERATIONS = {ME: "read_me", PLAN: "read_my_plan"}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    response = call(SCHEMA)
    assert response.status_code == 200
    document: dict[str, Any] = response.json()
    return document


def validator(document: dict[str, Any], schema: dict[str, Any]) -> Any:
    """Return a validator of one schema of the document, formats included, that knows the others."""
    # Imported here, as in the test below: jsonschema takes more than a second, in each process that collects tests.
    from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", "components": document["components"], **schema}
    return Draft202012Validator(whole, format_checker=Draft202012Validator.FORMAT_CHECKER)


def fault_of(document: dict[str, Any], path: str, response: Any) -> str | None:
    """Return what is undocumented about an answer to GET, or None."""
    told = document["paths"][path]["get"]["responses"].get(str(response.status_code))
    if told is None:
        return f"undocumented status {response.status_code}"
    content = told.get("content")
    if content is None:
        return "an undocumented body" if response.content else None
    if response["Content-Type"] not in content:
        return f"undocumented type {response['Content-Type']}"
    for fault in validator(document, content[response["Content-Type"]]["schema"]).iter_errors(response.json()):
        return str(fault)
    documented = {name.lower() for name in told.get("headers", {})}
    carried = {name.lower() for name in response.headers if name.lower().startswith(("ratelimit-", "retry-", "www-"))}
    return None if carried <= documented else f"undocumented headers {carried - documented}"


# --- The document ---


def test_it_is_openapi_3_1(document: dict[str, Any]) -> None:
    from drf_spectacular.validation import validate_schema
    from jsonschema import Draft202012Validator

    assert document["openapi"] == "3.1.0"
    validate_schema(document)  # type: ignore[no-untyped-call]
    for schema in document["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


def test_its_code_flow_is_the_one_of_the_discovery_document(document: dict[str, Any]) -> None:
    flows = document["components"]["securitySchemes"]["oauth2"]["flows"]
    discovered = call("/.well-known/openid-configuration").json()
    assert list(flows) == ["authorizationCode"]
    flow = flows["authorizationCode"]
    assert flow["authorizationUrl"] == discovered["authorization_endpoint"]
    assert flow["tokenUrl"] == flow["refreshUrl"] == discovered["token_endpoint"]
    assert list(flow["scopes"]) == list(known_scopes())
    assert set(flow["scopes"]) == set(discovered["scopes_supported"])
    assert all(flow["scopes"].values())


def test_it_shows_the_present_settings(document: dict[str, Any], settings: Any) -> None:
    assert openapi_document() == document
    settings.AUTH_URL = "https://auth.example.com"
    flow = openapi_document()["components"]["securitySchemes"]["oauth2"]["flows"]["authorizationCode"]
    assert flow["tokenUrl"] == "https://auth.example.com/connect/token"


def test_it_lists_every_error_with_an_example(document: dict[str, Any]) -> None:
    for path in OPERATIONS:
        shown = {}
        for status, told in document["paths"][path]["get"]["responses"].items():
            for example in told.get("content", {}).get("application/json", {}).get("examples", {}).values():
                if "error" in example["value"]:
                    shown[example["value"]["error"]["code"]] = int(status)
        # What no endpoint answers stands in the description of the whole.
        assert shown == {code: error.status for code, error in ERRORS.items() if code != "not_found"}
    assert "not_found" in document["info"]["description"]
    assert "404" in document["info"]["description"]


def test_its_examples_are_as_it_says(document: dict[str, Any]) -> None:
    count = 0
    for path in OPERATIONS:
        for told in document["paths"][path]["get"]["responses"].values():
            for content in told.get("content", {}).values():
                for example in content.get("examples", {}).values():
                    validator(document, content["schema"]).validate(example["value"])
                    count += 1
    assert count >= 20


def test_no_query_and_no_header_changes_it(document: dict[str, Any]) -> None:
    for query in ("version=%0a", "version=9", "lang=de", "lang=%00", "format=yaml", "format=zz", "x=%ff"):
        response = call(f"{SCHEMA}?{query}")
        assert (response.status_code, response.json()) == (200, document), query
    for accept in ("text/html", "application/yaml", "*/*", "application/json", "nonsense", ""):
        response = call(SCHEMA, Accept=accept)
        assert (response.status_code, response["Content-Type"]) == (200, "application/json"), accept
        assert response.json() == document
    assert call(SCHEMA, "op_key_x").json() == document


# --- What is served ---


@pytest.mark.parametrize(
    "file", sorted([*GOLDEN.glob("v1_me*.json"), *GOLDEN.glob("v1_plan*.json")]), ids=lambda file: file.stem
)
def test_the_agreed_answers_are_as_it_says(file: Path, document: dict[str, Any]) -> None:
    golden = json.loads(file.read_text(encoding="utf-8"))
    path = PLAN if "plan" in file.stem else ME
    told = document["paths"][path]["get"]["responses"][str(golden["status"])]
    if golden["body"] is not None:
        validator(document, told["content"]["application/json"]["schema"]).validate(golden["body"])
    promised = {name for name in told.get("headers", {}) if name != "X-Request-ID"}
    # A header that only some answers of a status carry is promised to none of them.
    assert {"RateLimit-Limit", "Retry-After"} & set(golden["headers"]) <= promised


names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=60)
credentials = st.one_of(
    st.none(),
    st.sampled_from(["key", "powerless", "token", "openid", "all", "op_key_x", "a.b.c", "Bearer"]),
    st.text(st.characters(min_codepoint=1, max_codepoint=255, exclude_characters="\r\n"), max_size=80),
)
conditions = st.one_of(
    st.none(), st.just("*"), st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=60)
)


def credentials_of(client: Client) -> dict[str, str]:
    ada = make_account(family_name=None)
    return {
        "key": make_key(make_project(ada), ada)[1],
        "powerless": make_key(make_project(ada), ada, permissions=())[1],
        "token": make_access_token(client, ada),
        "openid": make_access_token(client, ada, ["openid"]),
        "all": make_access_token(client, ada, ["openid", "email", "profile", "account.read"]),
    }


def test_no_call_gets_an_answer_that_it_does_not_tell(document: dict[str, Any], db: None, settings: Any) -> None:
    settings.API_GUESSES_PER_MINUTE = 40
    real = credentials_of(make_client(approved_scopes="account.read"))
    seen = set()

    @drawn(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(st.sampled_from([ME, PLAN]), credentials, conditions, st.text(max_size=20), names)
    def calls(path: str, credential: str | None, condition: str | None, query: str, name: str) -> None:
        headers = {} if condition is None else {"If-None-Match": condition}
        if name.isascii() and name.isprintable():
            headers["X-Request-ID"] = headers["Accept"] = name
        response = call(f"{path}?{quote(query)}", real.get(credential or "", credential), **headers)
        assert response.status_code < 500
        assert fault_of(document, path, response) is None
        seen.add(response.status_code)

    calls()
    assert {200, 401, 403, 429} <= seen


def test_every_method_and_path_gets_the_same_format(db: None) -> None:
    @drawn(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(
        st.sampled_from(["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "X"]),
        st.one_of(st.sampled_from(["", "me", "me/plan", "openapi.json"]), names),
        st.binary(max_size=40),
    )
    def calls(method: str, rest: str, body: bytes) -> None:
        response = call(f"/v1/{quote(rest, safe='/')}", method=method)
        assert response.status_code in (200, 401, 404, 405)
        if response.status_code != 200:
            assert set(response.json()) == {"error"}
        assert response["Access-Control-Allow-Origin"] == "*"

    calls()


def test_names_of_all_kinds_fit(document: dict[str, Any], db: None) -> None:
    # Reviewed, or it would be full.
    client = make_client(verified_at=clock.now())

    @drawn(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(names, st.one_of(st.none(), names))
    def people(given_name: str, family_name: str | None) -> None:
        account = make_account(given_name=given_name, family_name=family_name)
        assert fault_of(document, ME, call(ME, make_access_token(client, account))) is None

    people()
