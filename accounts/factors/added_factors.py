"""Records new factors: from views in the transaction that adds them, and when django-allauth reports them."""

from collections.abc import Collection

from allauth.mfa.models import Authenticator
from django.http import HttpRequest

from accounts.activity.recording import record
from accounts.factors import removal
from accounts.factors.factor_events import added_details, added_kind
from accounts.models import Account
from accounts.sessions.keys import is_first_factor

Type = Authenticator.Type


def record_added_factors(request: HttpRequest, account: Account, before: Collection[int]) -> list[Authenticator]:
    """Record the factors that are not among `before`, in the transaction that adds them, and return them.

    django-allauth reports apps and recovery codes only after the commit. If the process ended between the two, nobody
    would learn of the new factor, and nobody could undo it.
    """
    added = list(Authenticator.objects.filter(user=account).exclude(pk__in=before).order_by("pk"))
    for factor in added:
        record_factor(request, account, factor)
    return added


def record_replaced_codes(request: HttpRequest, account: Account) -> None:
    """Record new recovery codes that replaced others, in the transaction that creates them."""
    for codes in Authenticator.objects.filter(user=account, type=Type.RECOVERY_CODES):
        record_factor(request, account, codes, notify=True)


def record_factor(request: HttpRequest, account: Account, factor: Authenticator, *, notify: bool | None = None) -> None:
    """Record a new factor once for each request, unless its session has ended since.

    With `notify=None`, recovery codes send no email, nor does a factor that is created at sign-up.
    """
    recorded: set[int] = request.__dict__.setdefault("recorded_factors", set())
    if factor.pk in recorded:
        return
    recorded.add(factor.pk)
    removal.refuse_if_session_ended(request, factor)
    if notify is None:
        notify = factor.type != Type.RECOVERY_CODES and request.user.is_authenticated
    details = added_details(request, account, factor, notify=notify)
    if notify and factor.type != Type.RECOVERY_CODES and is_first_factor(factor):
        details["is_first"] = True
    record(account, added_kind(factor), request, notify=notify, **details)
