"""`[[people]]` of a provisioning file whose email address someone has used before."""

from pathlib import Path

import pytest
from django.test import Client as Browser

from accounts.models import Account
from core import clock
from tests.accounts.entrance.test_sign_up import PASSWORD as STRANGERS_PASSWORD
from tests.accounts.entrance.test_sign_up import sign_up
from tests.devportal.operations.provisioning.test_provision import FILE, provision

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("password", ["a long password 1", ""])
def test_a_stranger_who_signed_up_before_has_no_access_to_the_declared_account(tmp_path: Path, password: str) -> None:
    stranger = Browser()
    sign_up(stranger, "dana@example.com", given_name="Mallory")
    pending = Account.objects.get()
    assert pending.has_usable_password()
    provision(tmp_path, FILE)
    pending.refresh_from_db()
    assert (pending.email_verified, pending.check_password(STRANGERS_PASSWORD)) == (False, True)
    declared = FILE.replace('given_name = "Dana"', 'email_verified = true\nroles = ["operator"]')
    provision(tmp_path, declared.replace("a long password 1", password))
    dana = Account.objects.get(email="dana@example.com")
    assert dana.pk == pending.pk
    assert dana.email_verified
    assert dana.given_name == ""
    assert not dana.check_password(STRANGERS_PASSWORD)
    assert dana.has_usable_password() == bool(password)
    stranger.get("/account/confirm-email/")
    assert stranger.get("/account/").status_code == 302
    Browser().post("/account/login/", {"login": dana.email, "password": STRANGERS_PASSWORD})
    dana.refresh_from_db()
    assert dana.last_login is None


def test_a_verified_person_keeps_their_password(tmp_path: Path) -> None:
    """Also one whom an earlier file has declared as not verified."""
    provision(tmp_path, FILE)
    dana = Account.objects.get(email="dana@example.com")
    dana.set_password("changed since")
    dana.last_login = clock.now()
    dana.save()
    for verified in ("true", "false", "true"):
        provision(tmp_path, FILE.replace('given_name = "Dana"', f"email_verified = {verified}"))
    dana.refresh_from_db()
    assert dana.check_password("changed since")
