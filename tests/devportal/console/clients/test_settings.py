"""A client's settings: addresses, the tester, off and on, another type, deletion."""

import re
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client as Browser

from accounts.models import Account
from api import usage_counts
from core import clock
from devportal.console.models import AuditEvent, SignInEvent
from oidc.models import Client, ClientSecret, Project, TokenFamily
from tests.core.test_names import DISGUISES
from tests.devportal.console.forms import URI, at, trail
from tests.factories import SIGN_OUT_URI, make_access_token, make_account, make_client, make_web_client
from tests.relying_party import RelyingParty


@pytest.fixture
def client_of(project: Project) -> Client:
    return make_client(project)


def save(browser: Browser, client: Client, **changes: Any) -> Any:
    """Send the settings form as it stands, with some changes."""
    fields = {
        "name": client.name,
        "redirect_uris": client.redirect_uris.split(),
        "post_logout_redirect_uris": client.post_logout_redirect_uris.split(),
    }
    return browser.post(at("client_settings", client.project, client), fields | changes)


def settings_of(client: Client) -> tuple[Any, ...]:
    row = Client.objects.get(pk=client.pk)
    return row.name, row.redirect_uris, row.post_logout_redirect_uris, row.type, row.enabled


# --- Name and addresses ---


def test_a_developer_changes_name_and_addresses(as_developer: Browser, developer: Account, client_of: Client) -> None:
    response = save(as_developer, client_of, name=" Orbit Diary ", redirect_uris=["", f"{URI}/2", URI, URI])
    assert response["Location"] == at("client_settings", client_of.project, client_of)
    assert settings_of(client_of)[:2] == ("Orbit Diary", f"{URI}/2 {URI}")
    (event,) = trail("client.changed")
    assert event.actor == developer
    assert event.target == client_of.client_id
    assert event.before == {"name": "Orbit Notes", "redirect_uris": [URI]}
    assert event.after == {"name": "Orbit Diary", "redirect_uris": [f"{URI}/2", URI]}


def test_a_name_that_is_older_than_a_rule_stays_while_other_settings_change(
    as_developer: Browser, client_of: Client
) -> None:
    Client.objects.filter(pk=client_of.pk).update(name="Support")
    page = as_developer.get(at("client_settings", client_of.project, client_of)).content.decode()
    assert 'data-saved-name="Support"' in page  # static/js/check-name.js does not ask about this one
    assert save(as_developer, client_of, name="Support", redirect_uris=[f"{URI}/2"]).status_code == 302
    assert settings_of(client_of)[:2] == ("Support", f"{URI}/2")
    assert save(as_developer, client_of, name="Support Team").status_code == 200
    assert settings_of(client_of)[0] == "Support"


def test_a_developer_sets_what_sign_in_needs(as_developer: Browser, client_of: Client) -> None:
    page = as_developer.get(at("client_settings", client_of.project, client_of)).content.decode()
    assert "Required sign-in" in page
    save(as_developer, client_of, least_acr="phr")
    assert Client.objects.get().least_acr == "phr"
    (event,) = trail("client.changed")
    assert (event.before, event.after) == ({"least_acr": ""}, {"least_acr": "phr"})
    save(as_developer, client_of)  # a form without the field
    assert Client.objects.get().least_acr == "phr"
    save(as_developer, client_of, least_acr="")
    assert Client.objects.get().least_acr == ""


def test_a_developer_forgives_lost_responses(as_developer: Browser, client_of: Client) -> None:
    page = as_developer.get(at("client_settings", client_of.project, client_of)).content.decode()
    assert "Forgive a lost response for 30 seconds" in page
    assert "Recommended for mobile and desktop apps" in page
    save(as_developer, client_of, forgive_lost_responses="on")
    assert Client.objects.get().forgive_lost_responses is True
    (event,) = trail("client.changed")
    assert (event.before, event.after) == ({"forgive_lost_responses": False}, {"forgive_lost_responses": True})
    assert "checked" in as_developer.get(at("client_settings", client_of.project, client_of)).content.decode()
    save(as_developer, client_of)
    assert Client.objects.get().forgive_lost_responses is False


@pytest.mark.parametrize("level", ["phrh", "PHR"])
def test_an_unknown_level_is_rejected(as_developer: Browser, client_of: Client, level: str) -> None:
    response = save(as_developer, client_of, least_acr=level)
    assert "Choose one of these three." in response.content.decode()
    assert Client.objects.get().least_acr == ""


def test_the_name_of_a_verified_client_is_read_only(as_developer: Browser, client_of: Client) -> None:
    Client.objects.update(verified_at=clock.now())
    page = as_developer.get(at("client_settings", client_of.project, client_of)).content.decode()
    assert 'name="name"' not in page
    assert at("review", client_of.project, client_of) in page
    assert save(as_developer, client_of, name="Another", redirect_uris=[f"{URI}2"]).status_code == 302
    assert settings_of(client_of)[:2] == ("Orbit Notes", f"{URI}2")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": DISGUISES[12]}, "A name can"),
        ({"redirect_uris": ["http://app.example.com/"]}, "http is allowed only for localhost and 127.0.0.1."),
        ({"redirect_uris": []}, "Add at least one URL"),
        ({"post_logout_redirect_uris": ["myapp:/bye"]}, "Custom schemes are not accepted"),
        (
            {"post_logout_redirect_uris": [f"{URI}{n}" for n in range(21)]},
            "at most 20 of these URLs, but 21 were entered",
        ),
    ],
)
def test_errors_are_shown_and_nothing_is_stored(
    as_developer: Browser, client_of: Client, changes: dict[str, Any], said: str
) -> None:
    before = settings_of(client_of)
    response = save(as_developer, client_of, **changes)
    assert response.status_code == 200
    assert response.context["form"].errors.keys() == changes.keys()
    assert said in response.content.decode()
    assert settings_of(client_of) == before
    assert not AuditEvent.objects.exists()


def test_a_form_with_errors_keeps_the_input(as_developer: Browser, client_of: Client) -> None:
    hostile = "https://app.example.com/\"><script>alert('x')</script>"
    page = save(as_developer, client_of, redirect_uris=[hostile, URI]).content.decode()
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page


def seen_by(browser: Browser, client: Client) -> str:
    return str(browser.get(at("client_settings", client.project, client)).context["form"]["seen"].value())


def test_a_form_from_before_someone_elses_change_does_not_undo_it(
    as_developer: Browser, as_owner: Browser, client_of: Client
) -> None:
    old, leaked = seen_by(as_developer, client_of), f"{URI}/leaked"
    save(as_developer, client_of, redirect_uris=[URI, leaked], seen=old)
    client_of = Client.objects.select_related("project").get()
    seen = seen_by(as_developer, client_of)
    assert save(as_owner, client_of, redirect_uris=[URI], seen=seen_by(as_owner, client_of)).status_code == 302
    response = save(as_developer, client_of, name="Orbit Diary", redirect_uris=[URI, leaked], seen=seen)
    assert "this was changed after you opened the page" in response.content.decode()
    assert settings_of(client_of)[:2] == ("Orbit Notes", URI)
    assert [(row.entry.address, row.is_unsaved) for row in response.context["form"]["redirect_uris"].rows][:2] == [
        (URI, False),
        (leaked, True),
    ]
    # Adding a row, or another error, does not hide the change.
    for change in ({"more": "redirect_uris"}, {"name": ""}):
        shown = save(as_developer, client_of, redirect_uris=[URI, leaked], seen=seen, **change)
        assert shown.context["form"]["seen"].value() == seen
    shown = response.context["form"]["seen"].value()
    assert save(as_developer, client_of, redirect_uris=[URI, leaked], seen=shown).status_code == 302
    assert settings_of(client_of)[1] == f"{URI} {leaked}"


def test_a_settings_form_may_be_sent_twice(as_developer: Browser, client_of: Client) -> None:
    seen = seen_by(as_developer, client_of)
    for _ in range(2):
        assert save(as_developer, client_of, redirect_uris=[f"{URI}2"], seen=seen).status_code == 302
    assert len(trail("client.changed")) == 1


def test_adding_rows_saves_nothing(as_developer: Browser, client_of: Client) -> None:
    response = save(as_developer, client_of, redirect_uris=[f"{URI}2"], more="redirect_uris")
    assert len(response.context["form"]["redirect_uris"].rows) == 1 + 1 + 1
    assert "Not saved yet" in response.content.decode()
    assert settings_of(client_of)[1] == URI


def test_fifty_long_addresses_fit(as_developer: Browser, client_of: Client) -> None:
    many = [f"https://app.example.com/{number}/" + "a" * 1900 for number in range(50)]
    assert save(as_developer, client_of, redirect_uris=many).status_code == 302
    assert settings_of(client_of)[1].split() == many


@pytest.mark.parametrize("name", ["redirect_uris", "post_logout_redirect_uris"])
def test_a_long_list_gets_the_forms_error(as_developer: Browser, client_of: Client, name: str) -> None:
    before, number = settings_of(client_of), 300
    response = save(as_developer, client_of, **{name: [f"https://a{row}.test/cb" for row in range(number)]})
    assert f"but {number} were entered" in response.content.decode()
    assert len(response.context["form"][name].rows) == number + 1
    assert settings_of(client_of) == before


@pytest.mark.parametrize("many", [[URI] * 2000, [f"https://a{row}.test/{'a' * 1900}" for row in range(300)]])
def test_a_form_that_holds_too_much_says_so(as_developer: Browser, client_of: Client, many: list[str]) -> None:
    before = settings_of(client_of)
    response = save(as_developer, client_of, redirect_uris=many)
    assert response.status_code == 400
    assert "The form contains too much, so nothing was saved." in response.content.decode()
    assert settings_of(client_of) == before


# --- A proposed address ---


def test_a_proposed_address_is_a_row_and_is_not_saved(as_developer: Browser, client_of: Client) -> None:
    response = as_developer.get(at("client_settings", client_of.project, client_of), {"add": f"{URI}/"})
    rows = response.context["form"]["redirect_uris"].rows
    assert [(row.entry.address, row.is_unsaved) for row in rows[:2]] == [(URI, False), (f"{URI}/", True)]
    page = response.content.decode()
    assert page.count("Not saved yet") == 1
    assert "only by a trailing slash" in page
    assert settings_of(client_of)[1] == URI


def propose(browser: Browser, client: Client, added: str) -> str:
    return str(browser.get(at("client_settings", client.project, client), {"add": added}).content.decode())


def test_the_save_button_of_a_proposed_url_has_the_focus(as_developer: Browser, client_of: Client) -> None:
    page = propose(as_developer, client_of, f"{URI}/")
    (button,) = re.findall(r"<button[^>]*autofocus>[^<]*", page)
    assert button.endswith(">Save")
    (note,) = re.findall(r'aria-describedby="([^"]*)"', button)
    assert re.search(f'id="{note}">\\s*<p class="addresses__note">Not saved yet. Press Save to add it.', page)
    for nothing_to_add in ("", URI, f" {URI} ", "http://evil.example/"):
        page = propose(as_developer, client_of, nothing_to_add)
        assert "autofocus" not in page
        assert ("Not saved yet" in page) is (nothing_to_add == "http://evil.example/")


@pytest.mark.parametrize("name", ["add", "add_sign_out"])
@pytest.mark.parametrize(
    ("added", "warning"),
    [
        ("https://evil.test:444/x", "evil.test:444 has nothing in common"),
        ("https://xn--pp-via.test/x", "xn--pp-via.test has nothing in common"),
        ("http://localhost:3000/x", "localhost:3000 is the machine of the person who signs in"),
        ("https://other.example.com/x", ""),
    ],
)
def test_a_proposed_host_unlike_the_registered_ones_is_warned_of(
    as_developer: Browser, client_of: Client, name: str, added: str, warning: str
) -> None:
    page = as_developer.get(at("client_settings", client_of.project, client_of), {name: added}).content.decode()
    assert f'value="{added}"' in page
    assert warning in page
    assert ("Add it only if" in page) is bool(warning)
    assert ("autofocus>" in page) is not bool(warning)  # Enter must not save it unread


def test_hosts_of_registered_urls_are_not_warned_of(
    as_developer: Browser, as_viewer: Browser, client_of: Client
) -> None:
    assert "evil.test" not in propose(as_viewer, client_of, "https://evil.test/x"), "viewers can add nothing"
    Client.objects.update(post_logout_redirect_uris="https://evil.test/")
    assert "nothing in common" not in propose(as_developer, client_of, "https://evil.test/x")
    Client.objects.update(redirect_uris=f"{URI} https://evil.test/x")
    assert "nothing in common" not in propose(as_developer, client_of, "")


@pytest.mark.parametrize(
    ("added", "said"),
    [
        ("http://evil.example/", "http is allowed only"),
        ("https://a.example/" + "a" * 20_000, "at most 2000"),
        ("https://a.example/\u202e", "only contain ASCII"),
    ],
)
def test_an_invalid_proposed_url_shows_the_reason(
    as_developer: Browser, client_of: Client, added: str, said: str
) -> None:
    response = as_developer.get(at("client_settings", client_of.project, client_of), {"add": added})
    assert response.status_code == 200
    assert said in response.content.decode()


# --- The tester ---


def try_it(browser: Browser, client: Client, text: str) -> Any:
    return browser.post(at("client_tester", client.project, client), {"url": text})


def test_any_member_tries_a_request(as_viewer: Browser, client_of: Client) -> None:
    query = urlencode(RelyingParty(client_of, as_viewer).parameters())
    page = try_it(as_viewer, client_of, f"http://localhost:8000/connect/authorize?{query}").content.decode()
    assert "The request passes." in page
    assert "Failed" not in page
    wrong = query.replace("callback", "callback%2F")
    page = try_it(as_viewer, client_of, wrong).content.decode()
    assert "The request would be refused." in page
    assert f"Differs from {URI} only by the slash at the end." in page
    assert "your app would get no response" in page
    page = try_it(as_viewer, client_of, query.replace("S256", "plain")).content.decode()
    assert "<code>invalid_request</code>" in page


@pytest.mark.parametrize(
    ("changes", "link"),
    [
        ({"redirect_uri": "https://app.example.com/new"}, "?add=https%3A%2F%2Fapp.example.com%2Fnew"),
        ({"code_challenge": None}, "/quick-start"),
        ({"scope": "openid account.read"}, "/review"),
        ({"resource": "https://nobody.example.com"}, "#scopes"),
        ({"scope": "openid emial"}, "/docs/"),
        ({"state": None}, "/docs/"),
    ],
)
def test_each_failure_has_its_fix(as_developer: Browser, client_of: Client, changes: dict[str, Any], link: str) -> None:
    query = urlencode(RelyingParty(client_of, as_developer).parameters(**changes))
    (failed,) = [step for step in try_it(as_developer, client_of, query).context["steps"] if step.fix]
    assert link in failed.fix.url
    assert failed.fix.text


def test_a_client_that_is_off_is_turned_on_from_the_tester(as_developer: Browser, client_of: Client) -> None:
    Client.objects.update(enabled=False)
    query = urlencode(RelyingParty(client_of, as_developer).parameters())
    assert "#switch" in try_it(as_developer, client_of, query).content.decode()


def test_viewers_get_no_link_to_changes(as_viewer: Browser, client_of: Client) -> None:
    query = RelyingParty(client_of, as_viewer).parameters(redirect_uri="https://app.example.com/new")
    page = try_it(as_viewer, client_of, urlencode(query)).content.decode()
    assert "?add=" not in page
    assert "A developer or owner of the project can" in page


def test_the_settings_show_the_issuer_and_endpoints(as_viewer: Browser, client_of: Client) -> None:
    page = as_viewer.get(at("client_settings", client_of.project, client_of)).content.decode().replace("<wbr>", "")
    told = Browser().get("/.well-known/openid-configuration").json()
    for name in ("issuer", "authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri"):
        assert f">{told[name]}</code>" in page
    assert f">{told['end_session_endpoint']}</code>" in page


def test_nonsense_in_the_tester_is_handled(as_viewer: Browser, client_of: Client) -> None:
    for text in ("", "x" * 16_001, "?a=\x00"):
        assert try_it(as_viewer, client_of, text).context["tester"].errors.keys() == {"url"}
    for text in ("?a=%00", "?%ff=%ff", "://?x", "?<script>alert(1)</script>"):
        page = try_it(as_viewer, client_of, text).content.decode()
        assert "The request would be refused." in page, text
        assert "<script>alert" not in page


def test_the_tester_stores_nothing(as_viewer: Browser, client_of: Client) -> None:
    session = dict(as_viewer.session)
    try_it(
        as_viewer,
        client_of,
        urlencode(RelyingParty(client_of, as_viewer).parameters(redirect_uri="https://x.example/")),
    )
    usage_counts.flush_usage()
    assert dict(as_viewer.session) == session
    assert not SignInEvent.objects.exists()
    assert not AuditEvent.objects.exists()


# --- Off and on ---


def test_a_client_is_turned_off_and_on(as_developer: Browser, developer: Account, client_of: Client) -> None:
    url = at("client_switch", client_of.project, client_of)
    page = as_developer.get(at("client_settings", client_of.project, client_of)).content.decode()
    assert "within 30 seconds" in page
    as_developer.post(url, {"enabled": "off"})
    assert Client.objects.get().enabled is False
    as_developer.post(url, {"enabled": "maybe"})
    assert Client.objects.get().enabled is False
    as_developer.post(url, {"enabled": "on"})
    assert Client.objects.get().enabled is True
    assert [event.actor for event in (*trail("client.turned_off"), *trail("client.turned_on"))] == [developer] * 2


# --- Another type ---


def test_changing_the_type_lists_what_ends_and_needs_confirmation(
    as_developer: Browser, developer: Account, project: Project
) -> None:
    client, _ = make_web_client(project)
    make_access_token(client, make_account())
    url = at("client_type", project, client)
    page = as_developer.get(url).content.decode()
    assert "Its secret. Requests with it are refused." in page
    assert "Their access and refresh tokens are refused" in page
    for fields in (
        {"type": "spa"},
        {"understood": "on"},
        {"type": "web", "understood": "on"},
        {"type": "x\x00", "understood": "on"},
    ):
        assert as_developer.post(url, fields).status_code == 200
    assert Client.objects.get().type == "web"
    assert ClientSecret.objects.filter(revoked_at=None).exists()
    assert as_developer.post(url, {"type": "spa", "understood": "on"})["Location"] == at(
        "client_settings", project, client
    )
    assert Client.objects.get().type == "spa"
    assert not ClientSecret.objects.filter(revoked_at=None).exists()
    assert not TokenFamily.objects.filter(revoked_at=None).exists()
    (event,) = trail("client.type_changed")
    assert (event.actor, event.before, event.after) == (developer, {"type": "web"}, {"type": "spa"})


def test_a_client_that_becomes_a_web_app_is_led_to_its_secrets(as_developer: Browser, client_of: Client) -> None:
    response = as_developer.post(at("client_type", client_of.project, client_of), {"type": "web", "understood": "on"})
    assert response["Location"] == at("client_settings", client_of.project, client_of) + "#secrets"
    assert "Create a secret" in as_developer.get(response["Location"]).content.decode()


# --- Deletion ---


@pytest.mark.parametrize("typed", ["", "orbit notes", "Orbit Notes\x00"])
def test_deleting_needs_the_name(as_developer: Browser, client_of: Client, typed: str) -> None:
    response = as_developer.post(at("client_delete", client_of.project, client_of), {"typed": typed})
    assert response.status_code == 200
    assert response.context["form"].errors.keys() == {"typed"}
    assert Client.objects.filter(pk=client_of.pk).exists()


@pytest.mark.parametrize("name", ["Orbit Notes", "Orbit   Notes", "Ärger & <Söhne> “x”"])
def test_a_deleted_client_is_gone(as_developer: Browser, developer: Account, project: Project, name: str) -> None:
    client, other = make_client(project, name=name), make_client(project, name="Other")
    token = make_access_token(client, make_account())
    response = as_developer.post(at("client_delete", project, client), {"typed": " ".join(name.split())})
    assert response["Location"] == at("clients", project)
    assert list(Client.objects.all()) == [other]
    assert as_developer.get(at("client_settings", project, client)).status_code == 404
    assert Browser().get("/v1/me", headers={"Authorization": f"Bearer {token}"}).status_code == 401
    (event,) = trail("client.deleted")
    assert (event.actor, event.target, event.before["name"]) == (developer, client.client_id, name)


def test_viewers_can_read_settings_but_not_change_them(as_viewer: Browser, client_of: Client) -> None:
    before = settings_of(client_of)
    page = as_viewer.get(at("client_settings", client_of.project, client_of)).content.decode()
    assert URI in page
    assert SIGN_OUT_URI in page
    for button in ("Save", "Turn it off", "Change its type", "Delete it"):
        assert button not in page
    assert save(as_viewer, client_of, name="Mine").status_code == 403
    for page_name in ("client_switch", "client_type", "client_delete"):
        fields = {"enabled": "off", "type": "web", "understood": "on", "typed": client_of.name}
        assert as_viewer.post(at(page_name, client_of.project, client_of), fields).status_code == 403
    assert settings_of(client_of) == before
    assert not AuditEvent.objects.exists()
