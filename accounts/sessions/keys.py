"""Passkeys, security keys and other factors: which ones a person has, their names, and unreadable ones.

django-allauth stores them (`Authenticator`): the secret of an authenticator app and the seed of recovery codes, both
encrypted with KEY_ENCRYPTION_KEY. Passkeys only have public keys, and stay.
"""

import contextlib
import re
import secrets
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from allauth.account.utils import url_str_to_user_pk, user_pk_to_url_str
from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_added
from django.core.exceptions import ValidationError
from django.db import transaction
from django.dispatch import receiver
from django.http import HttpRequest
from fido2.utils import websafe_decode, websafe_encode
from fido2.webauthn import AttestationObject, AuthenticatorData, RegistrationResponse

from accounts.activity.recording import By, record
from accounts.allauth_internals import webauthn
from accounts.mail import outbox
from accounts.models import Account
from accounts.sessions.browser_sessions import end_all_sessions
from core.database.encryption import EncryptedColumn
from core.http.places import browser_name

Type = Authenticator.Type
NAME_LENGTH = 60
_HANDLE_BYTES = 64  # the longest user handle (WebAuthn Level 3, 5.4.3)
_HANDLE = re.compile("[A-Za-z0-9_-]{86}")  # the same in base64url


@dataclass(frozen=True)
class Held:
    """The factors of one person, which decide what the pages may ask for."""

    has_app: bool = False
    codes_left: int = 0
    keys: int = 0  # passkeys and security keys

    @property
    def has_any(self) -> bool:
        """Return whether signing in takes a second factor; recovery codes alone require none."""
        return self.has_app or self.keys > 0


def is_first_factor(factor: Authenticator) -> bool:
    """Return whether the account has no other second factor; recovery codes do not count."""
    others = Authenticator.objects.filter(user_id=factor.user_id).exclude(type=Type.RECOVERY_CODES)
    return not others.exclude(pk=factor.pk).exists()


def held_by(account: Account) -> Held:
    """Return a summary of a person's factors."""
    return held_among(Authenticator.objects.filter(user=account))


def held_among(factors: Iterable[Authenticator]) -> Held:
    """Return a summary of these factors of one person."""
    app, left, keys = False, 0, 0
    for row in factors:
        if row.type == Type.TOTP:
            app = True
        elif row.type == Type.RECOVERY_CODES:
            left = len(row.wrap().get_unused_codes())
        else:
            keys += 1
    return Held(app, left, keys)


# The AAGUIDs of the large passkey providers and of some families of keys (WebAuthn §6.5.1). Keys with other AAGUIDs are
# named after browser and system.
_KEEPERS = {
    "fbfc3007-154e-4ecc-8c0b-6e020557d7bd": "iCloud Keychain",
    "dd4ec289-e01d-41c9-bb89-70fa845d4bf2": "iCloud Keychain",
    "ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4": "Google Password Manager",
    "adce0002-35bc-c60a-648b-0b25f1f05503": "Chrome on a Mac",
    "08987058-cadc-4b81-b6e1-30de50dcbe96": "Windows Hello",
    "9ddd1817-af5a-4672-a2b9-3e3dd95000a9": "Windows Hello",
    "6028b017-b1d4-4c02-b4b3-afcdafc96bb2": "Windows Hello",
    "bada5566-a7aa-401f-bd96-45619a55120d": "1Password",
    "d548826e-79b4-db40-a3d8-11116f7e8349": "Bitwarden",
    "531126d6-e717-415c-9320-3d9aa6981239": "Dashlane",
    "53414d53-554e-4700-0000-000000000000": "Samsung Pass",
    "cb69481e-8ff7-4039-93ec-0a2729a154a8": "YubiKey 5",
    "ee882879-721c-4913-9775-3dfcce97072a": "YubiKey 5",
    "2fc0579f-8113-47ea-b116-bb5a8db9202a": "YubiKey 5 NFC",
}


def keeper_of(credential: dict[str, Any]) -> str:
    """Return the name of the provider of a new passkey, "" if it is unknown."""
    data = RegistrationResponse.from_dict(credential).response.attestation_object.auth_data.credential_data
    return _KEEPERS.get(str(data.aaguid), "") if data else ""


def credential_id_of(factor: Authenticator) -> bytes:
    """Return the id of a passkey or security key. Raises an exception of the library if it can't be read."""
    data = factor.wrap().authenticator_data.credential_data
    return bytes(data.credential_id)


def is_added(account: Account, credential: dict[str, Any]) -> bool:
    """Return whether the account has this new passkey or security key already, from another click; its row is locked.

    A challenge is stored in the session, so of two responses at once, both may be accepted.
    """
    new = RegistrationResponse.from_dict(credential).raw_id
    rows = Authenticator.objects.filter(user=account, type=Authenticator.Type.WEBAUTHN)
    return any(credential_id_of(row) == new for row in rows)


def make_user_handle(account: Account) -> bytes:
    """Return the user handle for new passkeys of the account, which is stored when the first one is created."""
    if account.passkey_handle is None:
        new = websafe_encode(secrets.token_bytes(_HANDLE_BYTES))
        Account.objects.filter(pk=account.pk, passkey_handle=None).update(passkey_handle=new)
        account.refresh_from_db(fields=["passkey_handle"])
    assert account.passkey_handle is not None
    return websafe_decode(account.passkey_handle)


def with_account(answer: Any) -> Any:
    """Return the response to a sign-in with the user handle that the library reads; no signature includes it."""
    try:
        handle = answer["response"]["userHandle"]
        account = Account.objects.filter(passkey_handle=handle).first() if _HANDLE.fullmatch(handle) else None
    except (KeyError, TypeError):
        return answer
    if account is None:
        return answer
    handle = websafe_encode(user_pk_to_url_str(account).encode())
    return {**answer, "response": {**answer["response"], "userHandle": handle}}


def unknown_id(answer: Any) -> bytes | None:
    """Return the id in a well-formed response to a sign-in if no account has this passkey; otherwise None.

    The browser may delete such a passkey, so its user handle has to be one of this service.
    """
    try:
        used = webauthn.parse_authentication_response(answer)
        handle = websafe_decode(answer["response"]["userHandle"])
        pk: Any = None if len(handle) == _HANDLE_BYTES else url_str_to_user_pk(handle.decode())
    except (ValidationError, KeyError, TypeError, AttributeError, ValueError):
        return None
    account = Account.objects.filter(pk=pk).first()  # None if it was deleted
    if account is not None and webauthn.get_authenticator_by_credential_id(account, used.raw_id) is not None:
        return None
    return bytes(used.raw_id)


def with_presence(credential: dict[str, Any]) -> dict[str, Any]:
    """Return the response of a new passkey as if its device had tested that someone is present.

    A browser that creates a passkey by itself does not test it (WebAuthn Level 3, §5.1.3, conditional mediation), but
    the library requires it, and checks everything else. Each use of the passkey tests presence and verifies the user.
    """
    made = RegistrationResponse.from_dict(credential).response.attestation_object
    old = made.auth_data
    data = AuthenticatorData.create(
        old.rp_id_hash, old.flags | AuthenticatorData.FLAG.UP, old.counter, old.credential_data or b"", old.extensions
    )
    changed = websafe_encode(bytes(AttestationObject.create(made.fmt, data, made.att_stmt)))
    return {**credential, "response": {**credential["response"], "attestationObject": changed}}


def names_of(account: Account) -> set[str]:
    """Return the names of a person's passkeys and security keys."""
    rows = Authenticator.objects.filter(user=account, type=Authenticator.Type.WEBAUTHN)
    return {row.wrap().name for row in rows}


def device_name(agent: str, taken: Collection[str]) -> str:
    """Return an unused name for a passkey that is created in this browser (its User-Agent)."""
    return untaken(browser_name(agent), taken)


def untaken(name: str, taken: Collection[str]) -> str:
    """Return the name, numbered from 2 if it is taken."""
    number = next(number for number in range(1, len(taken) + 2) if _numbered(name, number) not in taken)
    return _numbered(name, number)


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name} ({number})"


# The flag is stored next to the credential, never inside it, because the browser sends the credential. See
# docs/security.md#keys-that-sign-in-alone.

FLAG = "signs_in_alone"  # in Authenticator.data
_CHOICE = "new_key_signs_in_alone"  # on the request that adds a key


def choose(request: HttpRequest, *, signs_in_alone: bool) -> None:
    """Store on the request whether the key that it is about to add may sign in alone."""
    setattr(request, _CHOICE, signs_in_alone)


def signs_in_alone(authenticator: Authenticator) -> bool:
    """Return whether this key may sign in without a password."""
    return authenticator.data.get(FLAG) is True


def may_sign_in(authenticator: Authenticator) -> bool:
    """Return whether this key may sign its person in now, without a password.

    The account is read before the key is read again. If the owner takes the account back in between, and so removes or
    holds the key, the session that follows has ended with all others.
    """
    assert authenticator.user is not None
    row = Authenticator.objects.filter(pk=authenticator.pk).first()
    return row is not None and signs_in_alone(row)


@receiver(authenticator_added)
def store_choice(sender: Any, request: HttpRequest, authenticator: Authenticator, **kwargs: Any) -> None:
    """Store the choice from the page that added the key."""
    if authenticator.type == Authenticator.Type.WEBAUTHN and hasattr(request, _CHOICE):
        authenticator.data[FLAG] = getattr(request, _CHOICE)
        authenticator.save(update_fields=["data"])


# Everything that allauth encrypts in `data`: secrets of authenticator apps, recovery codes, and migrated codes.
UNREADABLE_COLUMN = EncryptedColumn(Authenticator, "data", ("secret", "seed", "migrated_codes"))


def people_with_unreadable_factors() -> list[int]:
    """Return the keys of the accounts that have a factor which can't be read."""
    lost = list(UNREADABLE_COLUMN.unreadable())
    found: set[int] = set()
    for start in range(0, len(lost), 1000):
        found |= set(Authenticator.objects.filter(pk__in=lost[start : start + 1000]).values_list("user_id", flat=True))
    return sorted(found)


@transaction.atomic
def remove_unreadable_factors(account_pk: int) -> bool:
    """Remove a person's unreadable factors and notify them by mail; return whether their password ended too.

    Without any second factor, the account would be protected by less than its owner chose. So the password is removed,
    and all sessions end: the person signs in with a code sent to their email address, and chooses a new password. If a
    passkey is left, protection is not weaker, and nothing else changes.
    """
    account = Account.objects.select_for_update(no_key=True).filter(pk=account_pk).first()
    if account is None:  # it was deleted meanwhile
        return False
    rows = list(Authenticator.objects.select_for_update().filter(user=account))
    lost = [row for row in rows if not UNREADABLE_COLUMN.is_readable(row.data)]
    if not lost:
        return False
    left = {row.type for row in rows if row not in lost}
    had_app = any(row.type == Type.TOTP for row in lost)
    Authenticator.objects.filter(pk__in=[row.pk for row in lost]).delete()
    if not left - {Type.RECOVERY_CODES}:
        Authenticator.objects.filter(user=account).delete()  # recovery codes alone are of no use
    ends_password = had_app and not left - {Type.RECOVERY_CODES}
    if ends_password:
        account.set_unusable_password()
        Account.objects.filter(pk=account.pk).update(password=account.password)
        end_all_sessions(account)
    # A separate mail explains more than a notice: what else ended, and how to go on.
    record(account, "second_factors_lost", by=By.SERVICE, notify=False)
    if account.is_active:
        with contextlib.suppress(ValidationError):  # no mail server accepts this email address
            outbox.queue_mail(account.email, "second_factor_lost", {"had_app": had_app, "ends_password": ends_password})
    return ends_password
