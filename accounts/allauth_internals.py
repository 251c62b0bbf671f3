"""The parts of django-allauth that are not public. No other module imports from `allauth.*.internal`.

An upgrade of the library may change them without notice; tests/accounts/test_allauth_internals.py tests each of them.
No public function or hook does the same:

- `LOGIN_SESSION_KEY`, `EMAIL_VERIFICATION_CODE_SESSION_KEY`, `PASSWORD_RESET_VERIFICATION_SESSION_KEY`: the session's
  state of a sign-in, sign-up or password reset that is not complete. Emails need the age of the code, and a state whose
  account was deleted has to go.
- `SECRET_SESSION_KEY`: the secret of an authenticator app that is being set up. The session holds it encrypted.
- `STATE_SESSION_KEY`, `serialize_request`: a form that waits for reauthentication, stored without its cookies.
- `BaseReauthenticateView`: continues with that form; the public views each ask for something else.
- `is_reauthentication_required`: the public decorator of this name can only answer with a redirect.
- `record_authentication`, `reauthenticate_by_key`: store what the person has used in this session.
- `login_stage_required`, `stage_of`: the sign-in that a page of ours belongs to.
- `auto_generate_recovery_codes`: the public views only create the codes for people who are signed in.
- `webauthn`: the challenge in the session, and how responses are parsed and keys looked up.
"""

from typing import Any

from allauth.account.internal.decorators import login_stage_required
from allauth.account.internal.flows.email_verification_by_code import EMAIL_VERIFICATION_CODE_SESSION_KEY
from allauth.account.internal.flows.login import record_authentication
from allauth.account.internal.flows.password_reset_by_code import PASSWORD_RESET_VERIFICATION_SESSION_KEY
from allauth.account.internal.flows.reauthentication import STATE_SESSION_KEY, is_reauthentication_required
from allauth.account.internal.stagekit import LOGIN_SESSION_KEY
from allauth.account.views._reauthenticate import BaseReauthenticateView
from allauth.core.internal.httpkit import serialize_request
from allauth.mfa.recovery_codes.internal.flows import auto_generate_recovery_codes
from allauth.mfa.totp.internal.auth import SECRET_SESSION_KEY
from allauth.mfa.webauthn.internal import auth as webauthn
from allauth.mfa.webauthn.internal.flows import reauthenticate as reauthenticate_by_key
from django.http import HttpRequest

__all__ = [
    "EMAIL_VERIFICATION_CODE_SESSION_KEY",
    "LOGIN_SESSION_KEY",
    "PASSWORD_RESET_VERIFICATION_SESSION_KEY",
    "SECRET_SESSION_KEY",
    "STATE_SESSION_KEY",
    "BaseReauthenticateView",
    "auto_generate_recovery_codes",
    "is_reauthentication_required",
    "login_stage_required",
    "reauthenticate_by_key",
    "record_authentication",
    "serialize_request",
    "stage_of",
    "webauthn",
]


def stage_of(request: HttpRequest) -> Any:
    """Return the stage of the sign-in that the request belongs to, in a view with `login_stage_required`."""
    return request._login_stage  # type: ignore[attr-defined]
