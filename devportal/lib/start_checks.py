"""The checks of the settings where no management command runs them: Celery's processes, and any WSGI server."""

import logging

from django.core.checks import CheckMessage, Tags, run_checks
from django.db import DatabaseError

log = logging.getLogger(__name__)


def find_dangers() -> str:
    """Run the checks of the settings: log what warns, return what must stop the start as a text, "" if nothing does."""
    messages = [message for message in run_checks(tags=[Tags.security]) if not message.is_silenced()]
    serious = [message for message in messages if message.is_serious()]
    _log([message for message in messages if message not in serious])
    return "\n".join(["The settings are dangerous:", *map(str, serious)]) if serious else ""


def log_stored_dangers() -> None:
    """Log what the settings don't fit in the database and in Redis. It stops no start: it may be fixed meanwhile."""
    try:
        _log(run_checks(tags=[Tags.database], databases=["default"]))
    except DatabaseError:
        log.warning("The database does not answer; what is stored in it is not checked.")


def _log(messages: list[CheckMessage]) -> None:
    for message in messages:
        log.log(message.level, "%s", message)
