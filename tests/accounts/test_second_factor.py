"""An authenticator app's secret is encrypted at rest, and still good."""

from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP

from accounts.models import Account
from tests.totp import totp

SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"


def test_the_secret_is_not_stored_as_it_is(person: Account) -> None:
    TOTP.activate(person, SECRET)
    row = Authenticator.objects.get(user=person)
    assert SECRET not in str(row.data)


def test_a_code_of_the_secret_still_opens(person: Account) -> None:
    TOTP.activate(person, SECRET)
    app = Authenticator.objects.get(user=person).wrap()
    code = totp(SECRET)
    assert app.validate_code(code)
