"""Periodic tasks of notices."""

from core.tasks import periodic_task
from devportal.console.notices import checks, error_rates, mailing, records


@periodic_task(60)
def send_notices() -> int:
    """Mail waiting notices, at most once an hour for each person and project; return the number of emails."""
    return mailing.send_notices()


@periodic_task(3600)
def notice_expiry() -> int:
    """Raise notices about secrets and API keys that expire soon; return their number."""
    return checks.check_expiry()


@periodic_task(3600)
def notice_unused() -> int:
    """Raise notices about secrets and API keys that nobody uses; return their number."""
    return checks.check_unused()


@periodic_task(600)
def notice_errors_and_people() -> int:
    """Raise notices about error rates and the limit of people; return their number."""
    return error_rates.check_error_rates() + checks.check_people()


@periodic_task(3600)
def clear_notices() -> int:
    """Delete old notices and their causes; return the approximate number of deleted rows."""
    return records.clear_old()
