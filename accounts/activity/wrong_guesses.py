"""Wrong passwords and codes of each account, for operators (docs/accounts.md#when-someone-cant-sign-in).

They are queued without SQL, as entries of logs are: the response takes the same time whether or not an account has the
email address. Strangers can cause them. So each process queues at most MOST_PER_MINUTE, each account keeps the newest
KEPT, and the person's own pages leave them out, where they would hide other events.
"""

import contextlib
import ipaddress
from collections import Counter
from typing import Any

from allauth.account.models import EmailAddress
from django.http import HttpRequest

from accounts.models import Account, SecurityEvent
from core import clock
from core.email_addresses import address_to_find
from core.http.client_ip import client_ip
from core.http.places import browser_name, place_of, user_agent
from core.limits import log_buffer

LOG = "wrong_guess"
KINDS = (PASSWORD, CODE) = ("wrong_password", "wrong_factor_code")
MOST_PER_MINUTE = 600
KEPT = 20
LONGEST_EMAIL = 254

budget = log_buffer.EntryBudget()


def note(request: HttpRequest, kind: str, login: str) -> None:
    """Queue a wrong guess at the account that signs in as `login`, if there is one."""
    if not budget.is_left(MOST_PER_MINUTE):
        return
    ip = client_ip(request)
    values = {"kind": kind, "ip": ip, "browser": browser_name(user_agent(request)), "place": place_of(ip)}
    email = log_buffer.storable_text(address_to_find(login), LONGEST_EMAIL)
    log_buffer.append(LOG, values | {"email": email, "at": clock.now().timestamp()})


def _write(entries: list[dict[str, Any]]) -> None:
    accounts = _accounts_of({str(entry.get("email")) for entry in entries})
    rows = [_row(entry, accounts[str(entry.get("email"))]) for entry in entries if str(entry.get("email")) in accounts]
    SecurityEvent.objects.bulk_create([row for row in rows if row is not None])
    _drop_older(set(accounts.values()))


def _accounts_of(emails: set[str]) -> dict[str, int]:
    confirmed = EmailAddress.objects.filter(email__in=emails, verified=True).values_list("email", "user_id")
    return dict(confirmed) | dict(Account.objects.filter(email__in=emails).values_list("email", "pk"))


def _row(entry: dict[str, Any], account: int) -> SecurityEvent | None:
    ip = str(entry.pop("ip", ""))
    row = log_buffer.build_row(SecurityEvent, entry | {"account_id": account})
    with contextlib.suppress(ValueError):
        if row is not None:
            row.ip = str(ipaddress.ip_address(ip))
    return row


def _drop_older(accounts: set[int]) -> None:
    """Delete all but the newest wrong guesses of these accounts."""
    kept = SecurityEvent.objects.filter(account__in=accounts, kind__in=KINDS).order_by("-at", "-pk")
    seen: Counter[int] = Counter()
    older = []
    for pk, account in kept.values_list("pk", "account_id"):
        seen[account] += 1
        if seen[account] > KEPT:
            older.append(pk)
    SecurityEvent.objects.filter(pk__in=older).delete()


log_buffer.register_writer(LOG, _write)
