"""How many people have a plan."""

from accounts.models import FamilyMember, OrganizationMember, Plan, Subscription
from accounts.plans.catalogue import FREE_ID
from accounts.plans.lifecycle import LIVE_STATES

MOST_COUNTED = 10_000


def count_people(plan: Plan) -> int:
    """Return how many people have a live subscription of this plan, their own or a group's; at most MOST_COUNTED + 1.

    It does not matter whether another plan of theirs has a higher rank.
    """
    live = Subscription.objects.filter(plan=plan, state__in=LIVE_STATES).order_by()
    own = live.filter(account__isnull=False).values_list("account", flat=True)
    groups = [
        members.objects.filter(**{f"{group}__subscription__in": live}).order_by().values_list("account", flat=True)
        for members, group in ((FamilyMember, "family"), (OrganizationMember, "organization"))
    ]
    return len(own.union(*groups)[: MOST_COUNTED + 1])


def people_in_words(plan: Plan) -> str:
    """Return how many people a change to this plan affects."""
    count = count_people(plan)
    number = f"more than {MOST_COUNTED:,}" if count > MOST_COUNTED else f"{count:,}"
    words = f"{number} {'person' if count == 1 else 'people'}"
    return f"{words}, and everyone without a subscription" if plan.plan_id == FREE_ID else words
