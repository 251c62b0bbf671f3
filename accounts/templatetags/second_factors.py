"""What the pages say about passkeys and security keys."""

from allauth.mfa.models import Authenticator
from django import template

from accounts.factors import keys

register = template.Library()


@register.filter
def signs_in_alone(authenticator: Authenticator) -> bool:
    """Return whether this key may sign in without a password."""
    return keys.signs_in_alone(authenticator)
