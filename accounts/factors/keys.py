"""Passkeys, security keys and other factors: which ones a person has, their names, and which may sign in alone."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_added
from django.core.exceptions import ValidationError
from django.dispatch import receiver
from django.http import HttpRequest
from fido2.webauthn import RegistrationResponse

from accounts.activity.places import browser_name
from accounts.models import Account

Type = Authenticator.Type


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
    """Store on the request what the key that it is about to add may do."""
    setattr(request, _CHOICE, signs_in_alone)


def signs_in_alone(authenticator: Authenticator) -> bool:
    """Return whether this key may sign in without a password.

    Keys from before this flag may if they verified their user when they were added, as every passkey had to, and the
    browser did not report them as non-discoverable. Browsers that report nothing created passkeys, too.
    """
    if FLAG in authenticator.data:
        return authenticator.data[FLAG] is True
    key = authenticator.wrap()
    try:
        verified = key.authenticator_data.is_user_verified()  # when it was added (WebAuthn §6.1, UV)
    except (ValidationError, ValueError, KeyError):
        return False  # a credential that can't be read can't sign anybody in
    return bool(verified) and key.is_passwordless is not False


@receiver(authenticator_added)
def store_choice(sender: Any, request: HttpRequest, authenticator: Authenticator, **kwargs: Any) -> None:
    """Store the choice from the page that added the key."""
    if authenticator.type == Authenticator.Type.WEBAUTHN and hasattr(request, _CHOICE):
        authenticator.data[FLAG] = getattr(request, _CHOICE)
        authenticator.save(update_fields=["data"])
