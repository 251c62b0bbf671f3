"""Lines of the audit log about accounts: security activities, and refused passwords, codes and keys."""

import contextlib
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from allauth.core.exceptions import ImmediateHttpResponse
from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest

from accounts.models import Account, SecurityEvent
from core import audit_log, clock
from core.email_addresses import address_to_find
from core.http.places import browser_name, user_agent
from core.limits import RateLimited
from core.limits.log_buffer import EntryBudget

ACTIVITY, REFUSAL = "activity", "refusal"
# What can be refused, and why.
REFUSED = ("password", "code", "key", "mailed_code")
WRONG, LIMITED, MAILBOX = "wrong", "limited", "mailbox_not_proved"
_budget = EntryBudget()
_Count = TypeVar("_Count", bound=Callable[..., Any])


def line_of(event: SecurityEvent, **request: Any) -> audit_log.Line:
    """Return the line of a stored security activity. The table has no id of the `request`."""
    is_own = event.by == SecurityEvent.By.PERSON
    return audit_log.Line(
        event.at,
        ACTIVITY,
        event.kind,
        actor=event.account_id if is_own else None,
        by=event.by,
        account=event.account_id,
        browser=event.browser,
        reason=str(event.details.get("reason", "")),
        details=event.details,
        personal={"email": event.account.email},
        **{"ip": event.ip or ""} | request,
    )


def note_refused(request: HttpRequest, kind: str, reason: str, who: Account | str = "") -> None:
    """Write the line of a refused sign-in, before it is known whether a transaction commits.

    `who` is the account, or the email address that was entered. REFUSALS_LOGGED_PER_MINUTE bounds each kind.
    """
    if not (audit_log.is_on() and _budget.is_left(settings.REFUSALS_LOGGED_PER_MINUTE, kind, reason)):
        return
    account = who.pk if isinstance(who, Account) else None
    email = who.email if isinstance(who, Account) else address_to_find(who) if "@" in who else ""
    if email and account is None:
        with contextlib.suppress(DatabaseError):  # the line must not depend on the database
            account = Account.objects.filter(email=email).values_list("pk", flat=True).first()
    browser = browser_name(user_agent(request))
    audit_log.write(
        audit_log.Line(
            clock.now(), REFUSAL, kind, account=account, browser=browser, reason=reason,
            personal={"email": email}, **audit_log.current_request(),
        )
    )  # fmt: skip


def notes_refusals(kind: str) -> Callable[[_Count], _Count]:
    """Decorate a function that counts a guess of (request, who): note that it was refused, or turned out wrong."""

    def decorate(count: _Count) -> _Count:
        @wraps(count)
        def counted(request: HttpRequest, who: Account | str) -> Any:
            try:
                guess = count(request, who)
            except (RateLimited, ImmediateHttpResponse) as error:
                note_refused(request, kind, LIMITED if isinstance(error, RateLimited) else MAILBOX, who)
                raise
            guess.when_wrong.append(lambda: note_refused(request, kind, WRONG, who))
            return guess

        return cast(_Count, counted)

    return decorate
