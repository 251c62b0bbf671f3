"""Expired sessions go; live ones stay."""

from datetime import timedelta

from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.test import Client as Browser

from accounts.tasks import clear_sessions
from core import clock


def test_only_expired_rows_are_deleted(signed_in: Browser) -> None:
    signed_in.get("/account/")
    clear_sessions()
    assert UserSession.objects.count() == 1
    assert signed_in.get("/account/").status_code == 200
    Session.objects.update(expire_date=clock.now() - timedelta(seconds=1))
    assert clear_sessions() == 1
    assert not Session.objects.exists()
