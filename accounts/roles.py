"""Roles in the admin: reviewer and operator. A role is a Django group; a superuser has both.

The permissions of each role are in devportal/operations/permissions.py, which knows all models.
"""

from collections.abc import Iterable

from django.contrib.auth.models import Group
from django.db import transaction
from django.dispatch import Signal

from accounts.models import Account

# Sent with `account` after its roles were set.
roles_changed = Signal()

REVIEWER, OPERATOR = "reviewer", "operator"
ROLES = (REVIEWER, OPERATOR)


def roles_of(account: Account) -> frozenset[str]:
    """Return the roles of an account; cached on the instance."""
    if not (account.is_active and account.is_staff):
        return frozenset()
    if account.is_superuser:
        return frozenset(ROLES)
    known: frozenset[str] | None = getattr(account, "_roles", None)
    if known is None:
        known = frozenset(account.groups.filter(name__in=ROLES).values_list("name", flat=True))
        account._roles = known  # type: ignore[attr-defined]
    return known


def is_reviewer(account: Account) -> bool:
    return REVIEWER in roles_of(account)


def is_operator(account: Account) -> bool:
    return OPERATOR in roles_of(account)


def may_administer(actor: Account, account: Account) -> bool:
    """Return whether `actor` may change, export, deactivate or delete `account`: only if it has no more permissions.

    A deactivated account counts with the permissions that it would have when activated. One's own is always allowed.
    """
    if actor.is_superuser or account.pk == actor.pk:
        return True
    opened = Account.objects.filter(pk=account.pk).first()
    if opened is None or opened.is_superuser:
        return False
    opened.is_active = True
    return opened.get_all_permissions() <= actor.get_all_permissions()


@transaction.atomic
def set_roles(account: Account, roles: Iterable[str]) -> None:
    """Set the account's roles to exactly these; without a role it can't open the admin."""
    wanted = set(roles)
    account.groups.remove(*Group.objects.filter(name__in=ROLES))
    account.groups.add(*(Group.objects.get_or_create(name=role)[0] for role in sorted(wanted)))
    account.is_staff, account.is_superuser = bool(wanted), False
    account.save(update_fields=["is_staff", "is_superuser"])
    account.__dict__.pop("_roles", None)
    roles_changed.send(sender=Account, account=account)
