"""What docs/operations.md#backups says about restoring an older backup."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from allauth.mfa.models import Authenticator
from django.db import connection

from accounts.models import Account, AccountRecovery, Outbox
from accounts.recovery import closing, waiting
from core import clock
from oidc.models import Project
from oidc.tasks import remove_deleted_projects
from tests.accounts.factors.conftest import give_app
from tests.factories import make_account, make_project

pytestmark = pytest.mark.django_db
OPERATIONS = Path(__file__).resolve().parents[3] / "docs" / "operations.md"
LONG_AGO = timedelta(days=90)


@pytest.fixture
def account() -> Account:
    """A person whose backup is so old that everything in it that waited is due."""
    account = make_account("ada@example.com")
    give_app(account)
    before = clock.now() - LONG_AGO
    Authenticator.objects.update(created_at=before - LONG_AGO)
    AccountRecovery.objects.create(
        account=account, started_by=account, started_at=before, remind_at=None, due_at=before + timedelta(hours=72)
    )
    Project.objects.filter(pk=make_project(account).pk).update(deleted_at=before)
    closed = make_account("bob@example.com")
    Account.objects.filter(pk=closed.pk).update(is_active=False, deletion_due_at=before)
    return account


def run_tasks() -> None:
    waiting.advance()
    remove_deleted_projects()
    closing.delete_due()


def counts() -> tuple[int, int, int]:
    return Authenticator.objects.count(), Project.objects.count(), Account.objects.count()


def test_everything_that_waited_in_an_older_backup_is_completed_at_once(account: Account) -> None:
    run_tasks()
    assert counts() == (0, 0, 1)


@pytest.mark.postgres
def test_the_documented_statements_postpone_it(account: Account) -> None:
    section = OPERATIONS.read_text(encoding="utf-8").partition("## Backups")[2].partition("\n## ")[0]
    (statements,) = re.findall(r"```sql\n(.*?)```", section, re.DOTALL)
    with connection.cursor() as cursor:
        cursor.execute(statements)
    run_tasks()
    assert counts() == (1, 1, 2)
    assert AccountRecovery.objects.open().get().due_at > clock.now() + timedelta(hours=71)
    # The reminder has the code that stops the recovery.
    assert "will be removed soon" in Outbox.objects.get().subject
