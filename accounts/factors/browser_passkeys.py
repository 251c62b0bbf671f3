"""Tell the browser about the account's passkeys, and decide whether it may create one by itself.

The browser passes on to its password manager which passkeys the account has, its name and email address, and a passkey
that was removed (WebAuthn Level 3, §5.1.10, the Signal API). docs/accounts.md#passkeys-in-the-browser has the rules.
"""

import logging
from typing import Any

from allauth.account.utils import user_display
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from fido2.utils import websafe_encode

from accounts.entrance.reauthentication import asks_for_factor, factors_of_person, is_confirmed
from accounts.models import Account
from accounts.sessions import keys
from accounts.sessions.authentication import PASSWORD, account_of, current_authentication, signed_in_lately
from core import clock
from core.http import hosts

log = logging.getLogger(__name__)

# Session key: the id of the passkey that this browser used for its last sign-in, and that no account has.
_UNKNOWN = "unknown_passkey"
Type = Authenticator.Type


def note_unknown(request: HttpRequest, credential_id: bytes) -> None:
    """Store that this browser used a passkey that no account has, for the next page that it opens."""
    request.session[_UNKNOWN] = websafe_encode(credential_id)


def take_unknown(request: HttpRequest) -> dict[str, str] | None:
    """Return the argument of `signalUnknownCredential`, once; None if there is nothing to tell.

    It only ever has the id that this browser sent in this session, so nobody can have another passkey deleted.
    """
    credential_id = request.session.pop(_UNKNOWN, None) if hasattr(request, "session") else None
    return {"rpId": hosts.rp_id(request), "credentialId": credential_id} if credential_id else None


def describe(request: HttpRequest, *, always: bool = False) -> dict[str, dict[str, Any]] | None:
    """Return the arguments of `signalAllAcceptedCredentials` and `signalCurrentUserDetails` for the signed-in person.

    None for people without a passkey or security key, unless `always` is set and they had one; at a host without
    passkeys; and if a key can't be read: the browser would hide a passkey that is missing in the list.
    """
    rows = [factor for factor in factors_of_person(request) if factor.type == Type.WEBAUTHN]
    if not request.user.is_authenticated or not (rows or always) or not hosts.work_on(request):
        return None
    account = account_of(request)
    if account.passkey_handle is None:
        return None
    try:
        # In one order, so that a tab sees whether the list has changed.
        ids = sorted(websafe_encode(keys.credential_id_of(row)) for row in rows)
    except (ValidationError, ValueError, KeyError, TypeError, AttributeError):
        log.warning("A passkey of account %s can't be read, so browsers do not get the list.", request.user.pk)
        return None
    person = {"rpId": hosts.rp_id(request), "userId": account.passkey_handle}
    return {
        "accepted": person | {"allAcceptedCredentialIds": ids},
        "details": person | {"name": account.email, "displayName": user_display(account)},
    }


def may_create(request: HttpRequest) -> bool:
    """Return whether the browser may create a passkey by itself now, after a sign-in with a password.

    Only for people who already use two-step verification, but have no passkey: a first factor would also change how
    they sign in elsewhere, sign out their other browsers and come with recovery codes. Staff add their keys themselves.
    """
    account = request.user
    if not isinstance(account, Account) or account.is_staff or not hosts.work_on(request):
        return False
    seconds = settings.ACCOUNT_REAUTHENTICATION_TIMEOUT
    if not signed_in_lately(request, seconds) or not asks_for_factor(request) or not is_confirmed(request):
        return False
    oldest = clock.now().timestamp() - seconds
    used_password = any(step.kind == PASSWORD and step.at > oldest for step in current_authentication(request).steps)
    is_passkey = (factor.type == Type.WEBAUTHN and keys.signs_in_alone(factor) for factor in factors_of_person(request))
    return used_password and not any(is_passkey)
