"""Permissions of each admin role, and the authentication backend that grants them.

They are in code instead of the database, so that upgrades change them without data migrations.
"""

from typing import Any

from django.contrib.auth.backends import BaseBackend

from accounts.models import Account
from accounts.roles import OPERATOR, REVIEWER, roles_of

_MAY: dict[str, dict[str, str]] = {
    REVIEWER: {
        "review.appreview": "view change",
        "review.reviewcase": "view change",
        "review.cannedreply": "view add change delete",
        # Read-only access to live data and to a part of the audit trail (devportal/operations/admin.py).
        "oidc.client": "view",
        "oidc.project": "view",
        "oidc.projectdomain": "view",
        "oidc.api": "view",
        "oidc.apiscope": "view",
        "console.auditevent": "view",
    },
    OPERATOR: {
        "accounts.account": "view change",
        "accounts.family": "view add change delete",
        "accounts.familymember": "view add change delete",
        "accounts.organization": "view add change delete",
        "accounts.organizationmember": "view add change delete",
        "accounts.invitation": "view change",
        "accounts.plan": "view add change delete",
        "accounts.planentitlement": "view add change delete",
        "accounts.feature": "view add change delete",
        "accounts.subscription": "view add change",
        "accounts.subscriptionevent": "view",
        "accounts.outbox": "view change",
        "oidc.project": "view change",
        "oidc.projectmember": "view",
        "oidc.client": "view change",
        "oidc.projectdomain": "view",
        "oidc.connection": "view",
        "oidc.accesstoken": "view",
        "oidc.refreshtoken": "view",
        "oidc.eventreceiver": "view change",
        "oidc.delivery": "view change",
        "oidc.signingkey": "view change",
        "oidc.api": "view add change",
        "oidc.apiscope": "view add change delete",
        "oidc.apicredential": "view change",
        "api.apikey": "view change",
        "api.requestlog": "view",
        "review.cannedreply": "view add change delete",
        "console.auditevent": "view",
        "console.signinevent": "view",
        "operations.taskrun": "view",
    },
}


def _permissions(models: dict[str, str]) -> frozenset[str]:
    return frozenset(
        f"{app}.{verb}_{name}"
        for app, name, verbs in ((*model.split("."), verbs) for model, verbs in models.items())
        for verb in verbs.split()
    )


PERMISSIONS = {role: _permissions(models) for role, models in _MAY.items()}


class RoleBackend(BaseBackend):
    """Authentication backend for permissions only; it authenticates nobody."""

    def get_all_permissions(self, user_obj: Any, obj: Any = None) -> set[str]:
        if not isinstance(user_obj, Account):
            return set()
        return {permission for role in roles_of(user_obj) for permission in PERMISSIONS[role]}

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        return isinstance(user_obj, Account) and any(perm in PERMISSIONS[role] for role in roles_of(user_obj))

    def has_module_perms(self, user_obj: Any, app_label: str) -> bool:
        return any(permission.startswith(f"{app_label}.") for permission in self.get_all_permissions(user_obj))
