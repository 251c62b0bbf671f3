"""`[[apis]]` of a provisioned file: declared state, what other sections may name, and errors that name the key."""

from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from api.models import ApiKey
from core.credentials import digest
from devportal.console.models import AuditEvent
from devportal.operations.provisioning import provision as apply_file
from oidc.apis import registry
from oidc.apis.credentials import create_credential
from oidc.apis.declarations import rule_lines
from oidc.authorization.consent import record_consent
from oidc.models import Api, ApiCredential, ApiScope, Client
from tests.devportal.operations.provisioning.test_provision import FILE, provision
from tests.factories import make_account, make_api

pytestmark = pytest.mark.django_db

APIS = """
[[apis]]
slug = "calendar"
name = "Orbit Calendar"
identifier = "https://calendar.example.com"

[[apis.scopes]]
name = "calendar.read"
title = "See your events"

[[apis.scopes]]
name = "calendar.write"
title = "Change your events"
sensitive = true
api_keys = false

[[apis.rules]]
method = "GET"
path = "/events*"
scope = "calendar.read"

[[apis.rules]]
method = "*"
path = "/*"
scope = "calendar.write"
"""
OTHER = """
[[apis]]
slug = "tasks"
name = "Tasks"
identifier = "https://tasks.example.com"
scopes = [{name = "tasks.read", title = "See your tasks"}]
"""
# A client and a key that name the scopes of the file's own API, before the API.
USING = FILE.replace(
    'approved_scopes = ["account.read"]',
    'approved_scopes = ["account.read", "calendar.write"]\noptional_scopes = ["calendar.read", "calendar.write"]',
)
KEY = """
[[projects.api_keys]]
name = "Nightly"
owner = "dana@example.com"
permissions = ["calendar.read"]
"""


def test_it_declares_apis_in_the_order_of_the_file(tmp_path: Path) -> None:
    result = provision(tmp_path, OTHER + APIS)
    assert [api["slug"] for api in result["apis"]] == ["tasks", "calendar"]
    declared = result["apis"][1]
    assert set(declared) == {"slug", "identifier", "credential"}
    assert declared["identifier"] == "https://calendar.example.com"
    credential = ApiCredential.objects.get(api__slug="calendar")
    assert declared["credential"]["id"] == credential.public_id
    assert digest(declared["credential"]["secret"]) == credential.digest
    api = Api.objects.get(slug="calendar")
    assert (api.description, api.documentation_url, api.openapi_url, api.enabled) == ("", "", "", True)
    assert (api.calls_per_minute, api.calls_per_person_per_minute) == (600, 120)
    assert rule_lines(api) == ["GET /events* calendar.read", "* /* calendar.write"]
    read, write = api.scopes.order_by("pk")
    assert (read.description, read.sensitive, read.needs_approval, read.api_keys) == ("", False, False, True)
    assert (write.sensitive, write.api_keys) == (True, False)


def test_a_second_run_changes_nothing_and_shows_no_secret(tmp_path: Path) -> None:
    first = provision(tmp_path, USING + KEY + APIS)
    events = AuditEvent.objects.count()
    second = provision(tmp_path, USING + KEY + APIS)
    assert second["apis"][0]["credential"] == first["apis"][0]["credential"] | {"secret": None}
    assert AuditEvent.objects.count() == events
    assert ApiCredential.objects.count() == 1


def test_clients_and_keys_of_the_file_use_its_scopes(tmp_path: Path) -> None:
    provision(tmp_path, USING + KEY + APIS)
    client = Client.objects.get(name="Web")
    assert client.approved_scopes == "account.read calendar.write"
    assert client.optional_scopes == "calendar.read calendar.write"
    assert ApiKey.objects.get().permissions == "calendar.read"


def test_a_turned_off_api_keeps_what_the_file_gave(tmp_path: Path) -> None:
    provision(tmp_path, USING + KEY + APIS)
    off = APIS.replace('slug = "calendar"', 'slug = "calendar"\nenabled = false')
    provision(tmp_path, USING + KEY + off)
    assert not Api.objects.get().enabled
    provision(tmp_path, USING + KEY + APIS)
    assert not Api.objects.get().enabled, "a key that is left out changes nothing"
    assert ApiKey.objects.get().permissions == "calendar.read"


def test_an_approval_may_be_declared_before_a_scope_needs_one(tmp_path: Path) -> None:
    text = FILE.replace('approved_scopes = ["account.read"]', 'approved_scopes = ["calendar.read"]')
    provision(tmp_path, text + APIS)
    assert Client.objects.get(name="Web").approved_scopes == "calendar.read"


def test_a_file_that_tightens_a_scope_takes_it_from_nobody(tmp_path: Path) -> None:
    provision(tmp_path, FILE + APIS)
    client = Client.objects.get(name="Web")
    record_consent(make_account(), client, ["openid", "calendar.read"])
    stricter = APIS.replace('title = "See your events"', 'title = "See your events"\nneeds_approval = true')
    for text, approved, kept in (
        (FILE, "account.read calendar.read", "calendar.read"),
        (FILE, "account.read calendar.read", "calendar.read"),
        (FILE.replace('"account.read"]', '"account.read", "calendar.read"]'), "account.read calendar.read", ""),
        (FILE, "account.read", ""),
    ):
        provision(tmp_path, text + stricter)
        client.refresh_from_db()
        assert (client.approved_scopes, client.kept_scopes) == (approved, kept)


def test_rotating_replaces_all_credentials(tmp_path: Path) -> None:
    first = provision(tmp_path, APIS)["apis"][0]["credential"]
    create_credential(Api.objects.get())
    second = provision(tmp_path, APIS, "--rotate-secrets")["apis"][0]["credential"]
    assert second["secret"] not in (None, first["secret"])
    assert [row.public_id for row in ApiCredential.objects.live()] == [second["id"]]


def test_an_update_changes_what_the_file_names(tmp_path: Path) -> None:
    provision(tmp_path, APIS)
    changed = """
    [[apis]]
    slug = "calendar"
    name = "Calendar"
    identifier = "https://calendar.example.com"
    description = "Events."
    calls_per_minute = 10
    scopes = [{name = "calendar.read", title = "See your calendar"}, {name = "calendar.share", title = "Share it"}]
    """
    provision(tmp_path, changed)
    api = Api.objects.get()
    assert (api.name, api.description, api.calls_per_minute) == ("Calendar", "Events.", 10)
    assert [scope.name for scope in api.scopes.order_by("pk")] == ["calendar.read", "calendar.write", "calendar.share"]
    assert ApiScope.objects.get(name="calendar.read").title == "See your calendar"
    assert ApiScope.objects.get(name="calendar.write").sensitive
    assert len(rule_lines(api)) == 2, "rules that the file does not name stay"
    provision(tmp_path, changed + "\nrules = []")
    assert rule_lines(api) == []


def test_a_dry_run_and_a_refused_file_leave_no_api_in_the_process(tmp_path: Path) -> None:
    file = tmp_path / "state.toml"
    file.write_text(USING + APIS)
    apply_file(file, dry_run=True)
    assert "calendar" not in registry.current_registry().apis
    with pytest.raises(CommandError):
        provision(tmp_path, USING + APIS + 'surprise = "x"')
    assert "calendar" not in registry.current_registry().apis
    assert not Api.objects.exists()


def replaced(old: str, new: str) -> str:
    assert old in APIS
    return APIS.replace(old, new, 1)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (replaced('slug = "calendar"', 'slug = "account"'), "apis[0].slug: The service itself"),
        (replaced('slug = "calendar"', ""), "apis[0].slug: is missing"),
        (replaced('name = "Orbit Calendar"', 'name = " "'), "apis[0].name"),
        (replaced("https://calendar.example.com", "https://calendar.example.com/#x"), "apis[0].identifier: Remove"),
        (replaced("https://calendar.example.com", "http://localhost:8000"), "apis[0].identifier: This URL belongs"),
        (replaced("https://calendar.example.com", "https://taken.example.com"), "apis[0].identifier: the API taken"),
        (
            APIS + OTHER.replace("https://tasks", "https://calendar").replace('com"', 'com/"'),
            "apis[1].identifier: another",
        ),
        (replaced("[[apis.scopes]]", "calls_per_minute = 0\n[[apis.scopes]]"), "apis[0].calls_per_minute"),
        (
            replaced("[[apis.scopes]]", 'documentation_url = "javascript:x"\n[[apis.scopes]]'),
            "apis[0].documentation_url",
        ),
        (replaced("[[apis.scopes]]", "enabled = 1\n[[apis.scopes]]"), "apis[0].enabled: must be true or false"),
        (replaced("[[apis.scopes]]", 'audience = "x"\n[[apis.scopes]]'), "apis[0].audience: is unknown"),
        (replaced('"calendar.read"', '"openid"'), "apis[0].scopes[0].name: This scope belongs"),
        (replaced('"calendar.read"', '"taken.read"'), "apis[0].scopes[0].name: the API taken has this scope"),
        (replaced('"calendar.read"', '"a b"'), "apis[0].scopes[0].name"),
        (replaced('"calendar.write"', '"calendar.read"'), "apis[0].scopes[1].name: names something twice"),
        (replaced('title = "See your events"', ""), "apis[0].scopes[0].title: is missing"),
        (replaced("sensitive = true", 'sensitive = "yes"'), "apis[0].scopes[1].sensitive"),
        (replaced('method = "GET"', 'method = "get"'), "apis[0].rules[0].method"),
        (replaced('path = "/events*"', 'path = "events"'), "apis[0].rules[0].path"),
        (
            replaced('path = "/events*"\nscope = "calendar.read"', 'path = "/"\nscope = "account.read"'),
            "rules[0].scope",
        ),
        (replaced('path = "/events*"\nscope = "calendar.read"', 'path = "/"'), "apis[0].rules[0].scope: is missing"),
        (APIS + APIS.replace("https://", "https://2."), "apis[1].slug: another API of this file"),
        (APIS + OTHER.replace("tasks.example.com", "calendar.example.com"), "apis[1].identifier: another API"),
        (APIS + OTHER.replace("tasks.read", "calendar.read"), "apis[1].scopes[0].name: another API"),
        ("apis = [7]", "apis[0]: must be a table"),
        (USING.replace('"calendar.write"]\n', '"calendar.share"]\n') + APIS, "approved_scopes[1]"),
        (FILE + KEY.replace("calendar.read", "calendar.write") + APIS, "api_keys[0].permissions[0]"),
        (USING, "approved_scopes[1]"),
    ],
)
def test_a_bad_file_names_the_key_and_changes_nothing(tmp_path: Path, text: str, key: str) -> None:
    make_api("taken")
    with pytest.raises(CommandError) as error:
        provision(tmp_path, text)
    assert key in str(error.value)
    assert list(Api.objects.values_list("slug", flat=True)) == ["taken"]
    assert not Client.objects.exists()
    assert not AuditEvent.objects.exists()


def test_too_many_scopes_of_several_files_are_refused(tmp_path: Path) -> None:
    many: Any = ", ".join(f'{{name = "s{number}", title = "x"}}' for number in range(100))
    table = '[[apis]]\nslug = "big"\nname = "Big"\nidentifier = "https://big.example.com"\nscopes = [{}]'
    provision(tmp_path, table.format(many))
    with pytest.raises(CommandError, match=r"apis\[0\]: An API can have at most 100 scopes"):
        provision(tmp_path, table.format('{name = "one.more", title = "x"}'))
