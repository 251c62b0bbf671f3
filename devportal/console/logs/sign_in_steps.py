"""The steps that belong to one: of the same authorization, and of the same request. All queries are bounded."""

from django.conf import settings
from django.db.models import QuerySet

from devportal.console.models import SignInEvent
from devportal.lib import clock
from oidc.sign_in_steps import Outcome

MOST = 20  # steps that a page shows beside one
# How many of a client's entries before and after a step are looked through for others of its family: the table has no
# index by family, and the steps of one sign-in stand near each other.
NEARBY = 2000


def family_steps(event: SignInEvent) -> list[SignInEvent]:
    """Return the steps of the same token family, this one included, the oldest first; none without a family."""
    if event.family is None:
        return []
    of_client = SignInEvent.objects.filter(client=event.client_id)
    earlier = of_client.filter(pk__lt=event.pk).order_by("-pk")
    later = of_client.filter(pk__gt=event.pk).order_by("pk")
    before = _near(earlier, "pk__gte").filter(family=event.family)[: MOST // 2]
    after = _near(later, "pk__lte").filter(family=event.family)[: MOST // 2]
    return [*reversed(before), event, *after]


def _near(rows: "QuerySet[SignInEvent]", bound: str) -> "QuerySet[SignInEvent]":
    """Return the first NEARBY of the ordered `rows`, by the key of the last of them, compared by `bound`."""
    last = next(iter(rows.values_list("pk", flat=True)[NEARBY - 1 : NEARBY]), None)
    return rows if last is None else rows.filter(**{bound: last})


def request_steps(event: SignInEvent) -> list[SignInEvent]:
    """Return the other steps that the same request led to, the oldest first."""
    same = SignInEvent.objects.filter(client=event.client_id, request_id=event.request_id).exclude(pk=event.pk)
    return list(same.order_by("pk")[:MOST])


def is_left_waiting(event: SignInEvent, family: list[SignInEvent]) -> bool:
    """Return whether a code was issued and has expired since, and nothing in the log says what came of it."""
    if event.outcome != Outcome.CODE_ISSUED or event.family is None:
        return False
    age = (clock.now() - event.at).total_seconds()
    return age > settings.AUTHORIZATION_CODE_SECONDS and all(each.outcome == Outcome.CODE_ISSUED for each in family)
