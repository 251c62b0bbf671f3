"""The list "Secure your account": its steps, and in the session which one is open and which ones are done."""

from dataclasses import dataclass
from typing import Any

from allauth.account.signals import password_changed, password_set
from allauth.mfa.models import Authenticator
from django.dispatch import receiver
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from accounts.models import Account
from accounts.sessions.browser_sessions import valid_sessions
from core import clock
from core.messages import Text, fill_in

KEY = "securing"
LASTS = 24 * 3600  # seconds for which a step counts as done
SIGN_OUT, PASSWORD = "sign_out", "password"


@dataclass(frozen=True)
class Step:
    """A step of the list. Its button opens `page`, the URL name of a page; without one, it signs out other browsers."""

    name: str
    title: str
    text: str
    act: str
    page: str = ""
    is_done: bool = False


# Name, title, text, button, and URL name of the page of each step.
_PAGES = {
    PASSWORD: (
        "Change your password",
        "Choose one that you use nowhere else. All other browsers then have to sign in again.",
        "Change the password",
        "account_change_password",
    ),
    "passkeys": (
        "Check your passkeys",
        "You sign in without a password. Remove any passkey that you don’t recognize.",
        "Check the passkeys",
        "mfa_list_webauthn",
    ),
    "two_step": (
        "Check two-step verification",
        "Remove any passkey or authenticator app that is not yours.",
        "Check two-step verification",
        "mfa_index",
    ),
    "two_step_off": (
        "Set up two-step verification",
        "With a passkey or an authenticator app, a stolen password is not enough to sign in.",
        "Set it up",
        "mfa_index",
    ),
    "email": (
        "Check your email address",
        "Codes and notices go to {email}. Make sure that it is yours and that nobody else reads its mail.",
        "Check the email address",
        "account_email",
    ),
    "apps": (
        "Check your apps",
        "Connected apps keep their access when you sign out browsers. Remove any app that you don’t recognize.",
        "Check the apps",
        "connected_apps",
    ),
    "activity": (
        "Check what happened",
        "The activity page lists sign-ins and changes with the browser and IP address that they came from.",
        "Check the activity",
        "account_activity",
    ),
}
_OTHERS: Text = (
    "One other browser is signed in to your account. Only this one stays signed in.",
    "{count} other browsers are signed in to your account. Only this one stays signed in.",
)
_NO_OTHERS = (
    "We don’t know of any other browser that is signed in. To be sure, you can sign out every browser except this one."
)


def steps_of(request: HttpRequest, account: Account) -> list[Step]:
    """Return the steps in their order, and which ones this person has done in this session lately."""
    others = sum(entry.session_key != request.session.session_key for entry in valid_sessions(account))
    factors = Authenticator.objects.filter(user=account).exclude(type=Authenticator.Type.RECOVERY_CODES)
    names = [
        PASSWORD if account.has_usable_password() else "passkeys",
        "two_step" if factors.exists() else "two_step_off",
        "email",
        "apps",
        "activity",
    ]
    done = _kept(request)["done"]
    signing_out = Step(
        SIGN_OUT,
        "Sign out everywhere else",
        fill_in(_OTHERS, {"count": others}) if others else _NO_OTHERS,
        "Sign out everywhere else",
        is_done=SIGN_OUT in done,
    )
    return [signing_out, *(_step(name, account, is_done=_mark(name) in done) for name in names)]


def _step(name: str, account: Account, *, is_done: bool) -> Step:
    title, text, act, page = _PAGES[name]
    return Step(name, title, fill_in(text, {"email": account.email}), act, page, is_done)


def _mark(name: str) -> str:
    """Return the name under which a step is ticked off: people who set up two-step verification have done its step."""
    return name.removesuffix("_off")


def _kept(request: HttpRequest) -> dict[str, Any]:
    """Return what the session holds for this person: the open step, the event of the list, and the times of steps."""
    kept: dict[str, Any] = request.session.get(KEY) or {}
    if kept.get("of") != request.user.pk:
        kept = {}
    now = clock.timestamp()
    done = {name: at for name, at in kept.get("done", {}).items() if now - at < LASTS}
    return {"of": request.user.pk, "open": kept.get("open", ""), "event": kept.get("event", ""), "done": done}


def open_step(request: HttpRequest, name: str, event: str) -> str | None:
    """Note that the person works on a step, and return the URL name of its page; None if there is no such step."""
    if name not in _PAGES:
        return None
    request.session[KEY] = _kept(request) | {"open": name, "event": event}
    return _PAGES[name][3]


def finish_step(request: HttpRequest, name: str) -> None:
    """Note that a step is done."""
    if name in _PAGES or name == SIGN_OUT:
        kept = _kept(request)
        request.session[KEY] = kept | {"open": "", "done": kept["done"] | {_mark(name): clock.timestamp()}}


def start_again(request: HttpRequest) -> None:
    """Forget which steps are done."""
    request.session.pop(KEY, None)


def opened(request: HttpRequest) -> dict[str, str] | None:
    """Return name, title and event of the step that the person works on; None if there is none."""
    if KEY not in request.session or not request.user.is_authenticated:
        return None
    kept = _kept(request)
    if kept["open"] not in _PAGES:
        return None
    return {"name": kept["open"], "title": _PAGES[kept["open"]][0], "event": kept["event"]}


def list_url(event: str) -> str:
    """Return the URL of the list; `event` is the token of the event that it is about, or ""."""
    return f"{reverse('account_secure')}?{urlencode({'event': event})}" if event else reverse("account_secure")


@receiver([password_changed, password_set])
def finish_password(sender: Any, request: HttpRequest, user: Account, **kwargs: Any) -> None:
    """Tick off the password if it was changed as a step of the list."""
    step = opened(request)
    if step is not None and step["name"] in (PASSWORD, "passkeys"):
        finish_step(request, PASSWORD)
        request.after_password = list_url(step["event"])  # type: ignore[attr-defined]  # for accounts/adapter.py
