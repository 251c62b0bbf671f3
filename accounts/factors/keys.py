"""Which passkeys and security keys may sign in alone: our own flag on each key, set when it is added.

The flag is stored beside the credential, never inside it, because the browser sends the credential. See
docs/security.md#keys-that-sign-in-alone.
"""

from typing import Any

from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_added
from django.core.exceptions import ValidationError
from django.dispatch import receiver
from django.http import HttpRequest

FLAG = "signs_in_alone"  # in Authenticator.data
_CHOICE = "new_key_signs_in_alone"  # on the request that adds a key


def choose(request: HttpRequest, *, signs_in_alone: bool) -> None:
    """Note what the key that this request is about to add may do."""
    setattr(request, _CHOICE, signs_in_alone)


def signs_in_alone(authenticator: Authenticator) -> bool:
    """Return whether this key may sign in without a password.

    Keys from before the flag may if they verified their user when they were added, as every passkey had to, and the
    browser did not report them as keys that sites can't discover. Browsers that report nothing made passkeys, too.
    """
    if FLAG in authenticator.data:
        return authenticator.data[FLAG] is True
    key = authenticator.wrap()
    try:
        verified = key.authenticator_data.is_user_verified()  # when it was added (WebAuthn §6.1, UV)
    except (ValidationError, ValueError, KeyError):
        return False  # a credential that can't be read signs nobody in
    return bool(verified) and key.is_passwordless is not False


@receiver(authenticator_added)
def store_choice(sender: Any, request: HttpRequest, authenticator: Authenticator, **kwargs: Any) -> None:
    """Store what was chosen on the page that added the key."""
    if authenticator.type == Authenticator.Type.WEBAUTHN and hasattr(request, _CHOICE):
        authenticator.data[FLAG] = getattr(request, _CHOICE)
        authenticator.save(update_fields=["data"])
