"""Clears caches of pages and documents when a setting that they show changes. Only tests change settings."""

from collections.abc import Callable
from typing import Any

from django.core.signals import setting_changed

# The settings that documents and pages for developers show.
_SHOWN = frozenset({"AUTH_URL", "BASE_URL", "ISSUER", "SERVICE_NAME"})


def forget_with_settings(forget: Callable[[], None]) -> None:
    """Call `forget` whenever one of the shown settings changes."""

    def changed(*, setting: str, **kwargs: Any) -> None:
        if setting in _SHOWN:
            forget()

    setting_changed.connect(changed, weak=False)
