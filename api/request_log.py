"""The request log: one row per call, queued and stored with the usage counts (api/usage_counts.py)."""

import contextlib
import functools
import ipaddress
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from api import errors
from api.models import ApiKey, RequestLog
from core import clock
from core.database import partitions
from core.limits import log_buffer
from oidc.models import Client, Project

LOG = "request"
_LONGEST = {"method": 8, "path": 100}  # bytes
_ROWS_A_STATEMENT = 500
# Entries a minute and process about credentials that only name their owner: for one key or client, and for all.
# Anyone who knows such a name can cause them.
UNPROVEN_PER_MINUTE = 30
_MOST_UNPROVEN = 600
unproven_budget = log_buffer.EntryBudget()
# Entries a minute about credentials that nobody has, for each process that stores entries.
UNKNOWN_PER_MINUTE = 60
unknown_budget = log_buffer.EntryBudget()
# The same for calls that no limit stops: beyond a limit, or with a credential that has ended.
REFUSED_PER_MINUTE = 600
refused_budget = log_buffer.EntryBudget()
_BY_DAY = partitions.DailyTable(RequestLog._meta.db_table, "at")
_VERSION_OR_WORDS = re.compile(r"v\d{1,2}|[A-Za-z][A-Za-z_.-]{0,23}")


def mask_subject(sub: str) -> str:
    """Return a `sub` masked for the log: its first and last four characters; nothing of a short one."""
    return f"{sub[:4]}…{sub[-4:]}" if len(sub) >= 16 else "…" if sub else ""


@functools.lru_cache(maxsize=256)
def redact_path(path: str) -> str:
    """Return an unknown path for the log: parts that could be a credential or an id become `…`."""
    parts = path.split("/", 10)[:10]
    return "/".join(part if not part or _VERSION_OR_WORDS.fullmatch(part) else "…" for part in parts)


def record_request(**values: Any) -> None:
    """Queue the entry of a finished call: the fields of RequestLog except `at`, and for a key also `address`.

    `project_id` is None if the credential is unknown, or only names a key or client. The project is found when the
    entry is stored, so that such a call runs no SQL and takes the same time whether or not the name exists.
    """
    if not _is_within_budget(**values):
        return
    cut = {name: log_buffer.storable_text(values[name], longest) for name, longest in _LONGEST.items()}
    is_counted = values["project_id"] is not None
    log_buffer.append(LOG, values | cut | {"at": clock.now().timestamp(), "is_counted": is_counted})


def _is_within_budget(*, project_id: int | None, credential: str, client: str, code: str, **others: Any) -> bool:
    """Count an entry that anyone could cause without end, and return whether it is stored."""
    if project_id is None:
        is_left = unproven_budget.is_left(_MOST_UNPROVEN)
        return is_left and unproven_budget.is_left(UNPROVEN_PER_MINUTE, credential, client)
    if code == "rate_limited" or code in errors.DEAD_CREDENTIAL:
        return refused_budget.is_left(REFUSED_PER_MINUTE, credential, client)
    return True


def addresses_of_keys(entries: Iterable[str]) -> dict[str, str]:
    """Return the IP address that each key was last accepted from, by public id, from queued entries."""
    found: dict[str, str] = {}
    for values in log_buffer.read_entries(LOG, entries):
        key, address = values.get("credential"), values.get("address")
        if isinstance(key, str) and isinstance(address, str) and values.get("code") not in errors.DEAD_CREDENTIAL:
            with contextlib.suppress(ValueError):
                found[key] = str(ipaddress.ip_address(address))
    return found


def _write(entries: list[dict[str, Any]]) -> None:
    """Store entries; those of deleted projects are dropped, and those of unknown credentials above their limit."""
    rows = [row for entry in _with_project(entries) if (row := log_buffer.build_row(RequestLog, entry)) is not None]
    known = set(Project.objects.filter(pk__in={row.project_id for row in rows}).values_list("pk", flat=True))
    stored = [row for row in rows if row.project_id in known or _is_of_nobody(row)]
    RequestLog.objects.bulk_create(stored, batch_size=_ROWS_A_STATEMENT)


def _is_of_nobody(row: RequestLog) -> bool:
    """Return whether nobody has the credential, and the entry is stored for the operators' search by request id."""
    return row.project_id is None and unknown_budget.is_left(UNKNOWN_PER_MINUTE)


def _with_project(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries with their projects; entries of unknown credentials have none."""
    named = [entry for entry in entries if entry.get("project_id", "") is None]
    if not named:
        return entries
    keys = ApiKey.objects.filter(public_id__in={_name(entry, "credential") for entry in named})
    clients = Client.objects.filter(client_id__in={_name(entry, "client") for entry in named})
    of_keys = dict(keys.values_list("public_id", "project_id"))
    of_clients = dict(clients.values_list("client_id", "project_id"))
    for entry in named:
        project = of_keys.get(_name(entry, "credential")) or of_clients.get(_name(entry, "client"))
        entry.pop("project_id") if project is None else entry.update(project_id=project)
    return entries


def _name(entry: dict[str, Any], column: str) -> str:
    return log_buffer.storable_text(str(entry.get(column)), log_buffer.MAX_TEXT_BYTES)


def clear_before(before: datetime) -> int:
    """Delete the days (UTC) that end before `before`; return the approximate number of deleted rows."""
    return partitions.clear_before(RequestLog, _BY_DAY, before)


log_buffer.register_writer(LOG, _write)
