"""Periodic tasks of the console."""

from datetime import timedelta

from celery import shared_task
from django.conf import settings

from devportal.console.models import IdempotencyToken, SignInEvent
from devportal.lib import clock


@shared_task
def clear_sign_in_log() -> int:
    """Delete entries of the sign-in log older than SIGN_IN_LOG_DAYS; return how many were deleted."""
    gone, _ = SignInEvent.objects.filter(at__lt=clock.now() - timedelta(days=settings.SIGN_IN_LOG_DAYS)).delete()
    return gone


@shared_task
def forget_sent_forms() -> int:
    """Delete idempotency tokens of forms older than a day; return how many were deleted."""
    gone, _ = IdempotencyToken.objects.filter(at__lt=clock.now() - timedelta(days=1)).delete()
    return gone
