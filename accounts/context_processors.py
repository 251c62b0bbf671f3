"""Context processors of the account pages."""

from django.http import HttpRequest

from accounts.browser_accounts import has_others


def other_accounts(request: HttpRequest) -> dict[str, bool]:
    """Return whether other accounts may be signed in in this browser, for links to the account chooser."""
    return {"has_other_accounts": has_others(request)}
