"""`manage.py load_prerelease`: load the data of a development state before 0.1.0."""

import json
import tempfile
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.core.serializers.base import DeserializationError
from django.db import transaction

from accounts.activity.kinds import METHODS
from accounts.models import Account
from core.database import encryption
from oidc.models import SigningKey
from oidc.reasons import Reason
from oidc.signing_keys import clear_keyring

# Not loaded: rows that a new database creates, data that expires within a day, and logs and counts kept for weeks.
LEFT_OUT = frozenset(
    (
        "admin.logentry", "auth.permission", "contenttypes.contenttype", "sessions.session", "usersessions.usersession",
        "api.requestlog", "api.usagebatch", "api.usagebucket",
        "console.idempotencytoken", "console.signinevent", "operations.taskrun",
    )
)  # fmt: skip


def _without_permissions(fields: dict[str, Any]) -> None:
    """Remove stored permissions: devportal/operations/permissions.py defines those of each role."""
    fields["permissions"] = []


def _without_own_permissions(fields: dict[str, Any]) -> None:
    fields["user_permissions"] = []


def _with_a_past_project(fields: dict[str, Any]) -> None:
    """Use negative keys for deleted projects, because new projects may get the keys that these had."""
    fields["project_key"] = -fields["project_key"]


def _renamed(**columns: str) -> Callable[[dict[str, Any]], None]:
    """Return a function that renames columns: each former name with its present one."""

    def change(fields: dict[str, Any]) -> None:
        for former, present in columns.items():
            fields[present] = fields.pop(former)

    return change


# Former names of a kind in the timeline, and of actions in the audit trail.
_RENAMED_STEPS = {
    "first_key": "first_approval",
    "review.first_key": "review.first_approval",
    "desk.note_written": "review.note_written",
}


def _with_renamed_steps(name: str) -> Callable[[dict[str, Any]], None]:
    """Return a function that replaces former names in a column of the timeline or the audit trail."""

    def change(fields: dict[str, Any]) -> None:
        fields[name] = _RENAMED_STEPS.get(fields[name], fields[name])

    return change


def _with_methods(fields: dict[str, Any]) -> None:
    """Replace the texts for how a person signed in with codes."""
    if (how := fields["details"].pop("how", None)) is not None:
        methods = [code for code, words in METHODS.items() if words in how]
        fields["details"]["methods"] = methods or ["sign_up"]


def _without_result(name: str) -> Callable[[dict[str, Any]], None]:
    """Return a function that removes the result of a check, which the service repeats."""

    def change(fields: dict[str, Any]) -> None:
        del fields[name]

    return change


# The texts that were stored as the reason why a token family ended.
_REVOCATIONS = {
    "access removed": Reason.ENDED_ACCESS_REMOVED,
    "account ended": Reason.ENDED_ACCOUNT_CLOSED,
    "answered again": Reason.ENDED_CONSENT_SENT_TWICE,
    "client type changed": Reason.ENDED_CLIENT_TYPE_CHANGED,
    "code replayed": Reason.ENDED_CODE_REPLAYED,
    "ended by the operator": Reason.ENDED_BY_OPERATOR,
    "playground ended": Reason.ENDED_PLAYGROUND,
    "project deleted": Reason.ENDED_PROJECT_DELETED,
    "refresh token reused": Reason.ENDED_REFRESH_TOKEN_REUSED,
    "revoked by the app": Reason.ENDED_REVOKED_BY_APP,
}


def _with_renamed_family_columns(fields: dict[str, Any]) -> None:
    """Rename a column, and replace the text of the reason with its code. Any other text becomes the note."""
    fields["authentication_claims"] = fields.pop("told_authentication")
    why = fields.pop("revoked_why")
    if fields["revoked_at"] is not None:
        fields["revocation_reason"] = _REVOCATIONS.get(why, Reason.ENDED_BY_OPERATOR)
        fields["revocation_note"] = "" if why in _REVOCATIONS else why


# Models that moved to another app.
MOVED = {
    "console.appreview": "review.appreview",
    "console.reviewentry": "review.reviewentry",
    "console.reviewrevision": "review.reviewrevision",
    "console.reviewcase": "review.reviewcase",
    "console.desknote": "review.internalnote",
    "console.cannedreply": "review.cannedreply",
    "console.reviewersettings": "review.reviewersettings",
    "console.appreport": "review.appreport",
    "console.taskrun": "operations.taskrun",
}

# How the fields of a model's rows change from the last development state to this version.
CHANGES: dict[str, Callable[[dict[str, Any]], None]] = {
    "accounts.account": _without_own_permissions,
    "accounts.securityevent": _with_methods,
    "auth.group": _without_permissions,
    "review.appreview": _renamed(
        first_key="first_approval",
        first_key_at="first_approval_at",
        first_key_by="first_approval_by",
        late_told_at="late_notified_at",
    ),
    "review.reviewcase": _renamed(late_told_at="late_notified_at"),
    "console.auditevent": _with_renamed_steps("action"),
    "review.reviewentry": _with_renamed_steps("kind"),
    "review.reviewrevision": _without_result("page_checks"),
    "oidc.memberofremovedproject": _with_a_past_project,
    "oidc.projectdomain": _without_result("problem"),
    "oidc.tokenfamily": _with_renamed_family_columns,
}


class Command(BaseCommand):
    """One step of a one-time migration (docs/upgrades.md#from-a-development-state)."""

    help = "Load what dumpdata of the last development state wrote (--format jsonl) into a new, migrated database."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="the dump, with a JSON object on each line")

    def handle(self, *args: Any, **options: Any) -> None:
        if Account.objects.exists():
            raise CommandError("This database has accounts. Load into a new one, right after manage.py migrate.")
        with tempfile.TemporaryDirectory() as folder:
            changed = Path(folder) / "changed.jsonl"
            try:
                count = _convert(options["file"], changed)
                _load(changed)
            except OSError as error:
                raise CommandError(f"{options['file']} can't be read: {error.strerror}.") from error
            except (ValueError, LookupError, TypeError, AttributeError, DeserializationError) as error:
                text = "is not what dumpdata of the last development state writes with --format jsonl"
                raise CommandError(f"{options['file']} {text}: {error}") from error
        clear_keyring()
        self.stdout.write(f"Loaded {count} rows.")


def _convert(dump: Path, changed: Path) -> int:
    """Write the rows to load to `changed`, and return their number."""
    with dump.open(encoding="utf-8") as lines, changed.open("w", encoding="utf-8") as file:
        return sum(file.write(f"{row}\n") > 0 for row in _changed(lines))


@transaction.atomic
def _load(changed: Path) -> None:
    SigningKey.objects.all().delete()  # the key that manage.py migrate created
    call_command("loaddata", str(changed), verbosity=0)
    _check_encryption()


def _changed(lines: Iterable[str]) -> Iterator[str]:
    """Yield the rows to load, converted for this version."""
    for line in lines:
        row = json.loads(line)
        row["model"] = MOVED.get(row["model"], row["model"])
        if row["model"] in LEFT_OUT:
            continue
        if change := CHANGES.get(row["model"]):
            change(row["fields"])
        yield json.dumps(row)


def _check_encryption() -> None:
    """Raise CommandError if KEY_ENCRYPTION_KEY can't read everything that was loaded."""
    unreadable = [column.name for column in encryption.registered() if any(True for _ in column.unreadable())]
    if unreadable:
        raise CommandError(
            f"KEY_ENCRYPTION_KEY can't read {', '.join(unreadable)}, so nothing was loaded. Set the value with which "
            "they were encrypted."
        )
