"""Periodic tasks run late, twice at once and in vain: nothing is done twice, and no heap of them is left."""

import subprocess
import sys
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session
from django.core import mail
from django.utils.module_loading import import_string

from accounts.mail import outbox
from accounts.models import Outbox
from api import usage_counts
from api.models import RequestLog, UsageBucket, UsageTotal
from api.usage_counts import CallLabels
from core import clock
from devportal.celery import app as celery
from devportal.console.models import IdempotencyToken, SignInEvent
from oidc.models import AccessToken, Project, SigningKey, TokenFamily
from tests.at_once import together
from tests.factories import make_access_token, make_account, make_client, make_project

SCHEDULE: dict[str, dict[str, Any]] = settings.CELERY_BEAT_SCHEDULE
LONG_AGO = timedelta(days=400)


@pytest.mark.parametrize("name", SCHEDULE)
def test_a_task_without_a_worker_expires_before_the_next_run(name: str) -> None:
    entry = SCHEDULE[name]
    assert 0 < entry["options"]["expires"] < entry["schedule"]


def test_each_process_knows_all_tasks_from_its_start() -> None:
    """Tasks are declared by modules that each app imports when it is ready."""
    code = "import django; django.setup(); from devportal.celery import app; print(*app.conf.beat_schedule, *app.tasks)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    known = {name for name in done.stdout.split() if not name.startswith("celery.")}
    assert known == {name for name in celery.tasks if not name.startswith(("celery.", "tests."))}
    assert set(SCHEDULE) <= known


def test_every_task_has_a_time_limit() -> None:
    assert celery.conf.task_soft_time_limit < celery.conf.task_time_limit <= 600


# --- Two at once: two beats, or a run that takes longer than its period ---


def make_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave something for each task to do."""
    old = clock.now() - LONG_AGO
    person = make_account()
    client = make_client()
    for _ in range(50):
        make_access_token(client, person)
    AccessToken.objects.update(expires=old)
    TokenFamily.objects.update(created_at=old)
    SigningKey.objects.update(activated_at=old)
    gone = make_project(person, name="Gone")
    Project.objects.filter(pk=gone.pk).update(deleted_at=old)
    monkeypatch.setattr(outbox, "queue_task", lambda *args: None)  # left to the periodic task
    for number in range(5):
        outbox.queue_mail(f"p{number}@example.com", "reviewer_comment", {})
    for number in range(20):
        Session.objects.create(session_key=f"{number:032}", session_data="", expire_date=old)
        IdempotencyToken.objects.create(token=f"{number:022}", account=person, at=old)
        RequestLog.objects.create(project=client.project, at=old, path="/v1/me", status=200, milliseconds=1)
    for _ in range(30):
        usage_counts.record_call(CallLabels(client.project_id, "", client.client_id, "/v1/me", 200, ""), 0.01)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_each_task_may_run_twice_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    make_work(monkeypatch)
    for name, entry in SCHEDULE.items():
        run = import_string(entry["task"])
        assert together(run, run) == ["done", "done"], name
    assert sorted(to for message in mail.outbox for to in message.to) == [f"p{n}@example.com" for n in range(5)]
    assert not Outbox.objects.filter(sent_at=None).exists()
    states = Counter(SigningKey.objects.values_list("state", flat=True))
    assert states == {SigningKey.State.ACTIVE: 1, SigningKey.State.NEXT: 1}
    assert sum(UsageBucket.objects.values_list("count", flat=True)) == 30
    assert sum(UsageTotal.objects.values_list("count", flat=True)) == 30
    assert not Project.objects.filter(name="Gone").exists()
    for model in (AccessToken, TokenFamily, Session, IdempotencyToken, RequestLog, SignInEvent):
        assert not model._default_manager.exists(), model
