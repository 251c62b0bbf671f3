"""System check of the settings for leaked credentials (docs/settings.md#checks-at-the-start)."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register

from api.leak_report_keys import is_url, read_public_keys
from api.leaked_credentials import FLAG, REVOKE


@register(Tags.security)
def check_leaked_credentials(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Return `devportal.E042`: an unknown way to treat leaked credentials, or keys that can't be read."""
    found: list[CheckMessage] = []
    if settings.LEAKED_CREDENTIALS not in (REVOKE, FLAG):
        text = "LEAKED_CREDENTIALS must be revoke or flag."
        found.append(Error(text, hint="Set LEAKED_CREDENTIALS.", id="devportal.E042"))
    try:
        if not is_url(settings.LEAK_REPORT_KEYS):
            read_public_keys(settings.LEAK_REPORT_KEYS)
    except ValueError as error:
        hint = "Set it to the URL of the document that GitHub publishes."
        found.append(Error(f"LEAK_REPORT_KEYS {error}.", hint=hint, id="devportal.E042"))
    return found
