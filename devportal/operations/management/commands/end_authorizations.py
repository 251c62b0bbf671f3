"""`manage.py end_authorizations`: end everything that was issued within a period."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.db.models import QuerySet

from accounts.sessions.browser_sessions import end_everyones_sessions
from api.keys import API_KEYS, live_keys_created
from api.models import ApiKey
from core.audit import Event, report
from devportal.operations.management.confirmed_command import ConfirmedCommand, parse_moment
from oidc.tokens.expiry import end_families, live_families


class Command(ConfirmedCommand):
    """The command for use after a restore or a leak (docs/secrets.md#everything-issued-is-void)."""

    help = "End all authorizations of a period: codes, access tokens and refresh tokens of every app."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--since", metavar="MOMENT", help="end what was issued from this time on, as in 2026-01-31T14:30:00Z"
        )
        parser.add_argument("--before", metavar="MOMENT", help="end what was issued before this time")
        parser.add_argument("--all", action="store_true", help="end everything, whenever it was issued")
        parser.add_argument("--api-keys", action="store_true", help="also revoke the API keys created in that period")
        parser.add_argument("--sessions", action="store_true", help="also sign everyone out, whenever they signed in")
        parser.add_argument("--why", default="", help="a note for the apps' developers (up to 40 characters)")

    def handle(self, *args: Any, **options: Any) -> None:
        since, before = parse_moment(options["since"]), parse_moment(options["before"])
        if options["all"] == bool(since or before):
            raise CommandError("Use --since, --before or both, or use --all.")
        families = live_families(since, before)
        keys = live_keys_created(since, before) if options["api_keys"] else ApiKey.objects.none()
        warning = f"{families.count()} authorizations end, and {keys.count()} API keys."
        if options["sessions"]:
            warning += " Everyone is signed out."
        if not self.is_confirmed(options, warning):
            return
        done = {
            "since": since.isoformat() if since else None,
            "before": before.isoformat() if before else None,
            "why": options["why"][:40],
            "families": end_families(families, options["why"][:40]),
            "api_keys": _revoke(keys),
            "sessions": end_everyones_sessions() if options["sessions"] else 0,
        }
        report(Event("authorizations.ended", details=done))
        self.stdout.write(
            "Ended: {families} authorizations, {api_keys} API keys, {sessions} browser sessions.".format(**done)
        )


def _revoke(keys: "QuerySet[ApiKey]") -> int:
    rows = list(keys.select_related("project"))
    for row in rows:
        API_KEYS.revoke(row)
    return len(rows)
