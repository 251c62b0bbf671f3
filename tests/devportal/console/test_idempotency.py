"""Forms that create or change something: they do their work once, and read only their own fields."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.http import HttpRequest
from django.test import Client as Browser
from django.test import RequestFactory
from django.urls import reverse

from accounts.models import Account
from api.models import ApiKey
from devportal.console import idempotency
from devportal.console.models import AuditEvent, IdempotencyToken
from devportal.console.tasks import forget_sent_forms
from oidc.models import Client, Project, ProjectInvitation, ProjectMember
from tests.at_once import at_once
from tests.devportal.console.test_console_access import ROUTES, things_of
from tests.devportal.operations.test_audit import CHANGES
from tests.factories import make_account


def request_with(account: Account, **fields: Any) -> HttpRequest:
    request = RequestFactory().post("/", fields)
    request.user = account
    return request


def spend(account: Account, token: str, made: str = "") -> str:
    """Return what the form made: just now, or when it came first."""
    try:
        with transaction.atomic():
            form = idempotency.consume_token(request_with(account, once=token))
            idempotency.record_result(form, made)
    except idempotency.AlreadyProcessed as repeated:
        return f"again: {repeated.made}"
    return made


def test_a_repeated_token_returns_the_first_result(person: Account) -> None:
    token = idempotency.new_token()
    assert spend(person, token, "op_one") == "op_one"
    assert spend(person, token, "op_two") == "again: op_one"
    assert spend(person, idempotency.new_token(), "op_two") == "op_two"


def test_work_that_fails_leaves_the_token_unspent(person: Account) -> None:
    token = idempotency.new_token()
    with transaction.atomic():
        idempotency.consume_token(request_with(person, once=token))
        transaction.set_rollback(True)
    assert spend(person, token, "op_one") == "op_one"


def test_a_token_reveals_nothing_to_another_person(person: Account) -> None:
    token = idempotency.new_token()
    spend(person, token, "op_one")
    assert spend(make_account(), token) == "again: "


@pytest.mark.parametrize("token", ["", "x" * 21, "x" * 23, "x" * 21 + "\x00", "é" * 22])
def test_invalid_tokens_are_rejected_and_not_stored(person: Account, token: str) -> None:
    with pytest.raises(idempotency.MissingToken), transaction.atomic():
        idempotency.consume_token(request_with(person, once=token))
    assert not IdempotencyToken.objects.exists()


def test_tokens_are_forgotten_after_a_day(person: Account, later: Callable[[float], None]) -> None:
    spend(person, idempotency.new_token())
    later(timedelta(hours=23).total_seconds())
    spend(person, idempotency.new_token())
    assert forget_sent_forms() == 0
    later(timedelta(hours=2).total_seconds())
    assert forget_sent_forms() == 1


@pytest.mark.parametrize("name", [name for name, change in CHANGES.items() if idempotency.FIELD in change.form])
def test_each_form_works_once_and_only_with_its_token(
    name: str, as_owner: Browser, project: Project, owner: Account, settings: Any
) -> None:
    change, things = CHANGES[name], things_of(project, owner)
    change.prepare(things, project, owner)
    url = reverse(f"console:{name}", kwargs={argument: things[argument] for argument in ROUTES[name]})
    before = AuditEvent.objects.count()
    for token in ("", "x"):
        as_owner.post(url, change.form | {idempotency.FIELD: token})
    assert AuditEvent.objects.count() == before
    form = change.form | {idempotency.FIELD: idempotency.new_token()}
    as_owner.post(url, form)
    again = as_owner.post(url, form)
    assert again.status_code == 302
    assert AuditEvent.objects.count() == before + 1
    page = as_owner.get(again["Location"]).content.decode()
    for prefix in (settings.CLIENT_SECRET_PREFIX, settings.API_KEY_PREFIX):
        assert not re.search(rf"{prefix}\w{{20}}", page), "the second response shows no secret"


FORMS = ("client_new", "client_settings", "key_new", "members", "project_new", "project_settings")
CHOSEN = "op_client_mine"
TEXTS = "client_id public_id digest client_secret logo home_page_url algorithm approved_scopes skip_authorization"
TIMES = "expires_at ended_at revoked_at suspended_at deleted_at verified_at created_at"
PEOPLE = "owner owner_id user account account_id created_by invited_by subject"


@pytest.mark.parametrize("name", FORMS)
def test_fields_outside_the_form_are_ignored(
    name: str, as_owner: Browser, project: Project, owner: Account, outsider: Account
) -> None:
    other, change, things = Project.objects.get(name="Elsewhere"), CHANGES[name], things_of(project, owner)
    stolen: dict[str, Any] = dict.fromkeys(TEXTS.split(), CHOSEN) | dict.fromkeys(TIMES.split(), "2999-01-01")
    stolen |= dict.fromkeys(PEOPLE.split(), outsider.pk) | {"project": other.pk, "project_id": other.public_id}
    stolen |= {"type": "native", "enabled": "", "first_party": "on", "id": "1"}
    form = change.form | {idempotency.FIELD: idempotency.new_token()}
    before = AuditEvent.objects.count()
    url = reverse(f"console:{name}", kwargs={argument: things[argument] for argument in ROUTES[name]})
    as_owner.post(url, stolen | form)
    assert AuditEvent.objects.count() == before + 1
    models: list[Any] = [Client, ApiKey, Project, ProjectInvitation, ProjectMember]
    rows = str([list(model.objects.values()) for model in models])
    for value in (CHOSEN, "datetime(2999", "native"):
        assert value not in rows
    assert not Client.objects.exclude(enabled=True, first_party=False, project=project).exists()
    assert not ApiKey.objects.exclude(owner=owner, subject__account=owner, project=project).exists()
    assert not ProjectInvitation.objects.exclude(invited_by=owner, project=project).exists()
    assert list(ProjectMember.objects.filter(account=outsider)) == list(other.members.all())


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_of_ten_concurrent_uses_one_does_the_work() -> None:
    account, token = make_account(), idempotency.new_token()
    answers = at_once(10, lambda number: spend(account, token, f"op_{number}"))
    made = [answer for answer in answers if not answer.startswith("again")]
    assert len(made) == 1
    assert set(answers) == {made[0], f"again: {made[0]}"}
