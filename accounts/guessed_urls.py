"""Account pages under the URLs that people guess, such as /account/profile/ or /login."""

from django.urls import reverse

# The URL name of each page, and the words of URLs that mean it.
_WORDS = {
    "account_login": "login signin sign-in log-in",
    "account_signup": "signup sign-up register join",
    "account_logout": "logout signout sign-out log-out",
    "account_home": "account me overview home dashboard",
    "account_profile": "profile name photo avatar settings",
    "account_email": "email email-address emails address",
    "account_change_password": "password change-password passwords",
    "account_reset_password": "reset reset-password forgot-password forgot recover",
    "mfa_index": "security 2fa mfa two-factor two-step-verification recovery-codes totp authenticator",
    "mfa_list_webauthn": "passkeys passkey security-keys keys webauthn",
    "usersessions_list": "sessions devices",
    "account_activity": "activity history log",
    "connected_apps": "apps connected-apps connections permissions authorizations",
    "account_plan": "plan plans billing subscription family",
    "account_data": "data export download privacy",
    "account_delete": "delete close",
}
_PAGES = {word: name for name, words in _WORDS.items() for word in words.split()}
# Words that mean the same without /account/ in front of them.
_AT_ROOT = frozenset(
    word for name in ("account_login", "account_signup", "account_logout") for word in _WORDS[name].split()
) | {"account", "profile", "passkeys"}


def find_meant(path: str) -> str:
    """Return the path of the page that a URL without a page probably means, "" if there is none."""
    below, word = path.removeprefix("/").removesuffix("/").lower().rpartition("/")[::2]
    is_known = word in _PAGES and (below == "account" or (not below and word in _AT_ROOT))
    return reverse(_PAGES[word]) if is_known else ""
