"""What operators do with projects, clients, keys, mails and plans, and that the audit has it."""

import json
from typing import Any

import pytest
from django.conf import settings
from django.test import Client as Browser

from accounts.models import Account, Family, Feature, Organization, Outbox, Plan
from core import clock
from devportal.console.models import AuditEvent
from devportal.console.notices.tasks import send_notices
from devportal.review.cases import cases
from devportal.review.models import AppReview
from oidc.models import Client, SigningKey
from oidc.tokens import signing_keys
from tests.accounts.plans.test_admin import formset
from tests.api.calls import ME, call
from tests.devportal.admin.conftest import World, last_event
from tests.devportal.review.reviewing import sent
from tests.factories import make_account, make_client, make_key
from tests.relying_party import RelyingParty, sign_in


def press(browser: Browser, path: str, **form: Any) -> str:
    response = browser.post(f"/admin/{path}/", form, follow=True)
    assert response.status_code == 200, path
    text: str = response.content.decode()
    return text


def test_a_suspension_applies_until_it_is_lifted(as_operator: Browser, operator: Account, world: World) -> None:
    app = RelyingParty(world.client, sign_in(Browser(), world.person))
    path = f"oidc/project/{world.project.pk}/do"
    assert "30 seconds" in as_operator.get(f"/admin/{path}/suspend/").content.decode()
    form = {"reasons": ["harmful"], "text": "It mines coins."}
    seen = press(as_operator, f"{path}/suspend", **form)
    assert app.authorize().status_code == 302, "the email was shown, and nothing done"
    press(as_operator, f"{path}/suspend", **form, confirm="1")
    assert app.authorize().status_code == 403
    send_notices()
    mail = Outbox.objects.order_by("-pk")[0]
    assert mail.to == world.person.email
    assert "It mines coins." in mail.body
    assert "It mines coins." in seen
    event = last_event()
    assert (event.actor, event.project) == (operator, world.project.public_id)
    assert event.details["reasons"] == ["harmful"]
    before = AuditEvent.objects.count()
    assert "not possible now" in press(as_operator, f"{path}/suspend", **form, confirm="1")
    assert AuditEvent.objects.count() == before
    shown = as_operator.get(f"/admin/{path}/lift/").context["form"]["suspended_at"].value()
    press(as_operator, f"{path}/lift", text="They stopped.", confirm="1", suspended_at=shown)
    assert app.authorize().status_code == 302
    assert last_event().actor == operator


def test_open_cases_are_named_after_a_suspension_and_its_end(
    as_operator: Browser, as_superuser: Browser, world: World
) -> None:
    """A report was not answered because of a suspension or its end, so a reviewer closes it."""
    path = f"oidc/project/{world.project.pk}/do"

    def suspend_and_lift(browser: Browser) -> list[str]:
        form = {"reasons": ["harmful"], "text": "It mines coins.", "confirm": "1"}
        said = press(browser, f"{path}/suspend", **form)
        shown = browser.get(f"/admin/{path}/lift/").context["form"]["suspended_at"].value()
        return [said, press(browser, f"{path}/lift", text="They stopped.", confirm="1", suspended_at=shown)]

    assert not any("of the project stay" in said for said in suspend_and_lift(as_operator))
    case = cases.open_case("report", world.project, world.client, text="It mines coins.")
    assert all("One case of the project stays open." in said for said in suspend_and_lift(as_operator))
    cases.open_case("changed", world.project)
    link = f'<a href="/admin/review/reviewcase/?project__id__exact={world.project.pk}">Cases of the project</a>'
    assert all(f"2 cases of the project stay open. {link}" in said for said in suspend_and_lift(as_superuser))
    case.refresh_from_db()
    assert case.is_open


def test_operators_see_where_reviews_stand(as_operator: Browser, reviewer: Account, world: World) -> None:
    page = f"/admin/oidc/project/{world.project.pk}/change/"
    app = make_client(world.project, name="Orbit")
    review = AppReview.objects.create(client=app, number=1, created_at=clock.now())
    assert "Orbit:" not in as_operator.get(page).content.decode(), "drafts belong to the developers"
    for status, said in (("submitted", "Orbit: Submitted, since "), ("approved", "Orbit: Approved, since ")):
        review.status, review.submitted_at, review.decided_at = status, clock.now(), clock.now()
        review.save()
        text = as_operator.get(page).content.decode()
        assert said in text
        assert ("with nobody yet" in text[text.index(said) :].partition("</div>")[0]) == (status == "submitted")
    AppReview.objects.create(
        client=app, number=2, status="in_review", created_at=clock.now(), assignee=reviewer, submitted_at=clock.now()
    )
    text = as_operator.get(page).content.decode()
    assert f", with {reviewer}" in text
    assert "Orbit: Approved" not in text


@pytest.mark.parametrize("page", ["change", "history", "delete", "do/approve"])
def test_operators_do_not_learn_which_reviews_exist(
    as_operator: Browser, app: Client, developer: Account, page: str
) -> None:
    review = sent(app, developer)
    paths = [f"/admin/review/appreview/{pk}/{page}/" for pk in (review.pk, review.pk + 1000)]
    responses = [as_operator.get(path) for path in paths]
    assert [response.status_code for response in responses] == [403, 403]


def test_an_operator_does_not_suspend_a_project_of_their_own(
    as_operator: Browser, operator: Account, world: World
) -> None:
    world.project.members.create(account=operator, role="viewer")
    form = {"reasons": ["harmful"], "text": "x", "confirm": "1"}
    assert "other reviewers decide on it" in press(as_operator, f"oidc/project/{world.project.pk}/do/suspend", **form)
    world.project.refresh_from_db()
    assert not world.project.is_suspended


@pytest.mark.parametrize("name", ["0penport", "\u041epenport mail", "Lighthouse ✅", "", "x" * 101, "a\tb"])
def test_a_project_can_not_be_renamed_like_the_service(as_operator: Browser, world: World, name: str) -> None:
    text = press(as_operator, f"oidc/project/{world.project.pk}/do/rename", name=name)
    assert "A name" in text or "required" in text or "at most" in text
    world.project.refresh_from_db()
    assert world.project.name == "Lighthouse"


def test_a_rename_is_in_the_projects_activity(as_operator: Browser, world: World) -> None:
    press(as_operator, f"oidc/project/{world.project.pk}/do/rename", name="Harbour")
    event = last_event()
    assert (event.action, event.before, event.after) == ("project.renamed", {"name": "Lighthouse"}, {"name": "Harbour"})
    assert event.project == world.project.public_id


def test_a_client_is_turned_off_and_on(as_operator: Browser, world: World) -> None:
    path = f"oidc/client/{world.client.pk}/do"
    press(as_operator, f"{path}/off", reason="Leaks")
    assert not Client.objects.get(pk=world.client.pk).enabled
    assert (last_event().action, last_event().target) == ("client.turned_off", world.client.client_id)
    press(as_operator, f"{path}/on")
    assert Client.objects.get(pk=world.client.pk).enabled
    assert last_event().action == "client.turned_on"


def test_a_client_page_shows_the_last_four_characters_of_secrets(as_operator: Browser, world: World) -> None:
    secret = world.client.secrets.get()
    text = as_operator.get(f"/admin/oidc/client/{world.client.pk}/change/").content.decode()
    assert f"…{secret.last_four}, created {clock.now():%Y-%m-%d}, last used {clock.now():%Y-%m-%d}" in text


def test_an_api_key_is_revoked(as_operator: Browser, operator: Account, world: World) -> None:
    key, raw = make_key(world.project, world.person)
    assert call(ME, raw).status_code == 200
    text = as_operator.get(f"/admin/api/apikey/{key.pk}/change/").content.decode()
    assert f"{settings.API_KEY_PREFIX}{key.public_id}…{key.last_four}" in text
    press(as_operator, f"api/apikey/{key.pk}/do/revoke")
    assert call(ME, raw).status_code == 401
    assert (last_event().action, last_event().actor, last_event().target) == (
        "api_key.revoked",
        operator,
        key.public_id,
    )


def test_rotating_signing_keys_twice_is_harmless(as_operator: Browser, operator: Account) -> None:
    first = signing_keys.signing_key().kid
    for _ in range(2):
        press(as_operator, "oidc/signingkey/do/publish")
    assert signing_keys.current_keyring().active is not None
    assert SigningKey.objects.get(state="active").kid == first
    following = SigningKey.objects.get(state="next").kid
    assert (last_event().action, last_event().actor, last_event().target) == (
        "signing_key.published",
        operator,
        following,
    )
    for _ in range(2):
        press(as_operator, "oidc/signingkey/do/rotate")
    assert SigningKey.objects.get(state="active").kid == following
    assert SigningKey.objects.get(state="retired").kid == first
    assert SigningKey.objects.count() == 2
    assert (last_event().action, last_event().actor) == ("signing_key.activated", operator)


def test_an_operator_can_retry_a_failed_mail(as_operator: Browser) -> None:
    now = clock.now()
    mail = Outbox.objects.create(
        to="a@example.com", subject="Hello", body="b", message_id="<1@x>", created_at=now, not_before=now,
        attempts=9, given_up_at=now, last_error="SMTPException: no",
    )  # fmt: skip
    assert not Outbox.objects.due().exists()
    press(as_operator, f"accounts/outbox/{mail.pk}/do/retry")
    assert Outbox.objects.get(pk=mail.pk).given_up_at is None
    assert Outbox.objects.waiting().exists()
    assert last_event().action == "mail.tried_again"
    Outbox.objects.filter(pk=mail.pk).update(sent_at=now)
    assert "not possible now" in press(as_operator, f"accounts/outbox/{mail.pk}/do/retry")


@pytest.mark.parametrize("model", ["console/auditevent", "console/signinevent", "api/requestlog"])
def test_rows_of_logs_are_not_deleted_from_their_list(as_superuser: Browser, world: World, model: str) -> None:
    row = as_superuser.get(f"/admin/{model}/").context["cl"].result_list[0]
    form = {"action": "delete_selected", "_selected_action": str(row.pk), "post": "yes"}
    as_superuser.post(f"/admin/{model}/", form)
    assert type(row)._default_manager.filter(pk=row.pk).exists()


def test_changes_are_stored_with_old_and_new_values(as_operator: Browser, operator: Account) -> None:
    feature = Feature.objects.create(name="storage", unit="GB")
    plan = Plan.objects.create(plan_id="plus", display_name="Plus", rank=1, apps=["notes"])
    form = {"plan_id": "x", "display_name": "Plus", "rank": "2", "is_listed": "on", "apps_known": "notes"}
    form["cache_max_age"] = "300"
    row = formset("entitlements", feature=str(feature.pk), status="granted", limit="", unit="")
    path = f"/admin/accounts/plan/{plan.pk}/change/"
    assert as_operator.post(path, form | row).status_code == 302
    event = last_event()
    assert (event.action, event.actor, event.target) == ("admin.changed", operator, f"plan:{plan.pk}")
    assert event.before == {"rank": 1}
    entitlement = plan.entitlements.get()
    assert event.after == {"rank": 2, f"planentitlement {entitlement.pk}": "storage: granted"}
    changed = formset("entitlements", id=str(entitlement.pk), feature=str(feature.pk), status="denied", limit="")
    changed |= {"entitlements-INITIAL_FORMS": "1", "entitlements-0-plan": str(plan.pk), "entitlements-0-unit": ""}
    assert as_operator.post(path, form | changed).status_code == 302
    name = f"planentitlement {entitlement.pk} status"
    assert (last_event().before, last_event().after) == ({name: "granted"}, {name: "denied"})
    assert as_operator.post(path, form | changed).status_code == 302
    assert AuditEvent.objects.filter(action="admin.changed").count() == 2, "nothing changed the third time"
    as_operator.post(f"/admin/accounts/plan/{plan.pk}/delete/", {"post": "yes"})
    assert (last_event().action, last_event().before) == ("admin.deleted", {"name": "Plus"})
    assert not Plan.objects.exists()


def test_additions_are_in_the_audit_trail(as_operator: Browser, person: Account) -> None:
    as_operator.post("/admin/accounts/feature/add/", {"name": "storage", "unit": ""})
    feature = Feature.objects.get()
    assert (last_event().action, last_event().target) == ("admin.added", f"feature:{feature.pk}")
    assert last_event().after == {"name": "storage"}
    as_operator.post("/admin/accounts/family/add/", {"owner": str(person.pk)} | formset("members", account=""))
    assert last_event().target == f"family:{Family.objects.get().pk}"


def test_a_plan_with_very_many_entitlements_can_be_changed(as_operator: Browser) -> None:
    plan = Plan.objects.create(plan_id="plus", display_name="Plus")
    for number in range(120):
        feature = Feature.objects.create(name=f"f{number:03}")
        plan.entitlements.create(feature=feature, status="granted")
    page = as_operator.get(f"/admin/accounts/plan/{plan.pk}/change/?entitlements-page=2")
    form = page.context["inline_admin_formsets"][0].formset
    shown = [row for row in form.forms if row.instance.pk]
    assert [str(row.instance.feature) for row in shown] == [f"f{number:03}" for number in range(20, 40)]
    values = {"display_name": "Plus", "rank": "0", "apps": "[]", "cache_max_age": "300", "entitlements-page": "2"}
    values |= {"entitlements-TOTAL_FORMS": "20", "entitlements-INITIAL_FORMS": "20"}
    for number, row in enumerate(shown):
        prefix = f"entitlements-{number}"
        values |= {f"{prefix}-id": str(row.instance.pk), f"{prefix}-plan": str(plan.pk), f"{prefix}-unit": ""}
        values |= {f"{prefix}-feature": str(row.instance.feature_id), f"{prefix}-limit": ""}
        values |= {f"{prefix}-status": "denied" if number == 3 else "granted"}
    assert as_operator.post(f"/admin/accounts/plan/{plan.pk}/change/", values).status_code == 302
    assert plan.entitlements.get(status="denied").feature.name == "f023"
    assert plan.entitlements.count() == 120


def test_the_audit_trail_contains_no_email_addresses_of_members(as_operator: Browser, person: Account) -> None:
    member = make_account("member@example.com")
    as_operator.post(
        "/admin/accounts/family/add/", {"owner": str(person.pk)} | formset("members", account=str(member.pk))
    )
    family = Family.objects.get()
    row = family.members.get(account=member)
    assert last_event().after == {
        "owner": f"account:{person.pk}",
        f"familymember {row.pk}": f"familymember:{row.pk} account:{member.pk}",
    }
    form = {"members-TOTAL_FORMS": "2", "members-INITIAL_FORMS": "2"}
    for number, one in enumerate(family.members.order_by("pk")):
        form |= {f"members-{number}-id": str(one.pk), f"members-{number}-family": str(family.pk)}
        form |= {f"members-{number}-account": str(one.account_id)}
        form |= {f"members-{number}-DELETE": "on"} if one == row else {}
    assert as_operator.post(f"/admin/accounts/family/{family.pk}/change/", form).status_code == 302
    assert last_event().before == {"familymember deleted": [f"familymember:- account:{member.pk}"]}
    as_operator.post(f"/admin/accounts/family/{family.pk}/delete/", {"post": "yes"})
    acme = Organization.objects.create(name="Acme")
    values = {"account": str(member.pk), "organization": str(acme.pk)}
    as_operator.post("/admin/accounts/organizationmember/add/", values)
    as_operator.post(f"/admin/accounts/organizationmember/{acme.members.get().pk}/delete/", {"post": "yes"})
    told = json.dumps(list(AuditEvent.objects.values("target", "before", "after", "details")))
    assert "Acme" in told
    assert "@example.com" not in told


@pytest.mark.parametrize("who", ["as_reviewer", "client"])
def test_other_roles_can_not_use_operator_actions(request: pytest.FixtureRequest, world: World, who: str) -> None:
    browser: Browser = request.getfixturevalue(who)
    events = AuditEvent.objects.count()
    for path in (
        f"accounts/account/{world.person.pk}/do/deactivate",
        f"oidc/project/{world.project.pk}/do/suspend",
        f"oidc/client/{world.client.pk}/do/off",
        f"api/apikey/{world.key.pk}/do/revoke",
        "oidc/signingkey/do/publish",
        "oidc/signingkey/do/rotate",
    ):
        response = browser.post(f"/admin/{path}/", {"reason": "x"})
        assert response.status_code == (403 if who == "as_reviewer" else 302), path
    assert AuditEvent.objects.count() == events


def test_a_key_that_is_published_twice_does_not_sign(operator: Account) -> None:
    """Two operators at once: the second finds the first one's key, and takes no further step."""
    first = signing_keys.signing_key().kid
    assert signing_keys.publish_next_key(operator.pk)
    assert not signing_keys.publish_next_key(operator.pk)
    assert SigningKey.objects.get(state="active").kid == first
    assert signing_keys.activate_next_key(operator.pk)
    assert not signing_keys.activate_next_key(operator.pk)
    assert SigningKey.objects.count() == 2
