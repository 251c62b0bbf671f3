"""The step of a sign-up that creates the passkey, after the email address was verified."""

from allauth.mfa.webauthn.stages import PasskeySignupStage
from django.http import HttpResponse

from accounts.models import Account
from accounts.sessions.browser_sessions import is_current

PATH = f"{PasskeySignupStage.__module__}.{PasskeySignupStage.__qualname__}"


class SignUpKeyStage(PasskeySignupStage):  # type: ignore[misc]  # allauth is untyped
    """The library's stage, which ends with the person's sessions: a password reset or a recovery also ends it."""

    def handle(self) -> tuple[HttpResponse | None, bool]:
        response, goes_on = super().handle()
        if response is not None:
            # A sign-up that was repeated has just replaced the password.
            self.login.user.refresh_from_db(fields=["password", "session_stamp"])
            self.state["stamp"] = self.login.user.get_session_auth_hash()
        return response, goes_on

    def lock_account(self) -> Account | None:
        """Lock and return the account; None if it was deleted or deactivated, or its sessions have ended since.

        Call it inside a transaction.
        """
        rows = Account.objects.select_for_update(no_key=True).filter(pk=self.login.user.pk, is_active=True)
        account: Account | None = rows.first()
        if account is None or not is_current(self.state.get("stamp", ""), account):
            return None
        return account
