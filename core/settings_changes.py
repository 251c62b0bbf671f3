"""Caches of what shows a setting: they are cleared when a setting changes, which only happens in tests."""

from collections.abc import Callable
from typing import Any

from django.core.signals import setting_changed

# The settings that documents and pages for developers show.
_SHOWN = frozenset({"AUTH_URL", "BASE_URL", "ISSUER", "SERVICE_NAME"})


def forget_with_settings(forget: Callable[[], None]) -> None:
    """Call `forget` when a setting changes that documents show."""

    def changed(*, setting: str, **kwargs: Any) -> None:
        if setting in _SHOWN:
            forget()

    setting_changed.connect(changed, weak=False)
