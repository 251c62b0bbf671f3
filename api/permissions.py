"""What a caller may read at /v1: the scopes that an endpoint names."""

from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from api.authentication import Caller
from api.errors import ApiError


class HasScope(BasePermission):
    """Refuses a caller with none of the scopes that the view names, and tells them.

    An access token needs one of `required_scopes`, an API key one of `required_permissions`.
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        """Raises ApiError, because the refusal names the scopes; without a caller it is a plain no, which is a 401."""
        caller = request.auth
        if not isinstance(caller, Caller):
            return False
        names: tuple[str, ...] = view.required_permissions if caller.key else view.required_scopes
        if not caller.scopes.intersection(names):
            raise ApiError("insufficient_scope", f"This needs one of the scopes: {', '.join(names)}.", names)
        return True
