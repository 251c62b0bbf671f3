"""Counts sign-ins of people (docs/monitoring.md#metrics)."""

from typing import Any

from django.contrib.auth.signals import user_logged_in, user_login_failed
from django.dispatch import receiver

from devportal.lib.telemetry import metrics


@receiver(user_logged_in)
def count_sign_in(sender: Any, **kwargs: Any) -> None:
    """Count a person who is signed in now, second factor included."""
    metrics.signed_in("succeeded")


@receiver(user_login_failed)
def count_failed_sign_in(sender: Any, **kwargs: Any) -> None:
    """Count a password that was wrong, or is for nobody."""
    metrics.signed_in("wrong_password")
